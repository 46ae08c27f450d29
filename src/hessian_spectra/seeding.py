"""Random-number generators, one per purpose, always on the CPU."""

import hashlib
from numbers import Integral

import torch

from hessian_spectra.validation import require


def generator(seed: int, purpose: str) -> torch.Generator:
    """A CPU generator for one purpose (``"weights"``, ``"data"``, ``"order"``, ``"probes"``, ...).

    Draws for one purpose never shift those for another: drawing twice as many data points leaves
    the weights as they were. The stream depends on ``seed`` and ``purpose`` only, so a GPU run that
    moves the draws to its device works with the same numbers.

    Args:
        seed: the experiment's seed, any integer.
        purpose: what the numbers are for.

    Returns:
        A freshly seeded ``torch.Generator``.

    Raises:
        ValueError: the seed is no whole number.

    Example:
        >>> a = torch.randn(2, generator=generator(0, "weights"))
        >>> b = torch.randn(2, generator=generator(0, "weights"))
        >>> c = torch.randn(2, generator=generator(0, "data"))
        >>> bool((a == b).all()), bool((a == c).any())
        (True, False)
    """
    expected = "a whole number, which of a torch.Generator is its initial_seed()"
    require(isinstance(seed, Integral), "seed", expected, seed)
    digest = hashlib.sha256(f"{seed}/{purpose}".encode()).digest()
    # 63 bits: manual_seed takes a signed 64-bit integer.
    return torch.Generator().manual_seed(int.from_bytes(digest[:8], "big") >> 1)
