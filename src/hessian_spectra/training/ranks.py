"""Several processes that train one network together, as ``torchrun`` starts them."""

import atexit
import os
from collections.abc import Iterable

import torch
from torch import Tensor, distributed


def rank_and_count() -> tuple[int, int]:
    """The number of this process, and how many there are: 0 and 1 without ``torch.distributed``.

    Example:
        >>> rank_and_count()
        (0, 1)
    """
    if distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank(), distributed.get_world_size()
    return 0, 1


def join() -> torch.device:
    """The device of this process, which joins the others for good if ``torchrun`` has started it.

    That is a GPU if torch sees one, of several the one that has the number of the process on its
    machine; else the CPU.

    Example:
        >>> join().type in ("cpu", "cuda")
        True
    """
    device = torch.device("cpu")
    if torch.cuda.is_available():
        device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0)))
        torch.cuda.set_device(device)
    # torchrun says in its variables how the processes find each other.
    if distributed.is_torchelastic_launched() and not distributed.is_initialized():
        distributed.init_process_group("nccl" if device.type == "cuda" else "gloo")
        # Not before: a second group would meet what the first left at the place of rendezvous.
        atexit.register(distributed.destroy_process_group)
    return device


def add_up(tensors: Iterable[Tensor], device: torch.device | None = None) -> None:
    """Replace tensors of one type by their sums over all processes, by one ``all_reduce``.

    Args:
        tensors: the same shapes in all processes.
        device: where they are added up, if not where they are.
    """
    own = list(tensors)
    if rank_and_count()[1] == 1:
        return
    together = torch.cat([tensor.reshape(-1) for tensor in own]).to(device)
    distributed.all_reduce(together)
    shares = together.split([tensor.numel() for tensor in own])
    for tensor, share in zip(own, shares, strict=True):
        tensor.copy_(share.view_as(tensor))
