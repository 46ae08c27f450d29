"""The memory that a product may take: what a setting says, or most of what its device has free."""

import os
from typing import Annotated

import psutil
import torch

from hessian_papers.constraints import Constraint

# What is left of the free memory is for weights, optimiser and basis, and for what a kernel needs.
SHARE = 0.8

Megabytes = Annotated[
    int | None, Constraint("at least 1, or null", lambda value: value is None or value >= 1)
]


def free_memory(device: torch.device) -> int:
    """The bytes that are free on a device; of the CPU's the share of one of torchrun's processes.

    Example:
        >>> 0 < free_memory(torch.device("cpu")) < 2**50
        True
    """
    if device.type == "cuda":
        # What torch has taken and does not use is there to be used again.
        unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return torch.cuda.mem_get_info(device)[0] + unused
    processes = int(os.environ.get("LOCAL_WORLD_SIZE", 1))
    return int(psutil.virtual_memory().available) // processes


def product_memory(setting: int | None, device: torch.device, operators: int = 1) -> int:
    """The bytes that a product may take.

    Args:
        setting: megabytes, or ``None`` for most of what is free on the device at this moment.
        device: where it is computed.
        operators: how many of them keep their graphs at once, which share what is free.

    Example:
        >>> product_memory(3, torch.device("cpu"))
        3145728
    """
    if setting is not None:
        return setting << 20
    return int(SHARE * free_memory(device)) // operators
