"""Arguments of the closed forms: read, checked and brought to comparable size."""

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from torch import Tensor

ArrayLike = Tensor | np.ndarray | np.generic | Sequence[Any] | float | int


def read(
    shapes: Mapping[str, Sequence[str]],
    infinite: Mapping[str, float] = MappingProxyType({}),
    /,
    **values: ArrayLike,
) -> tuple[Tensor, ...]:
    """The arguments as detached float64 tensors on one device, in the order given.

    Args:
        shapes: for each argument its dimensions as letters, ``"nD"`` for ``(n, D)`` and ``""`` for
            a scalar, or as names, ``("d_1", "d_0")``; the same letter or name means the same size
            everywhere; ``"?"`` takes any shape, and a first ``"..."`` any batch dimensions.
        infinite: the infinity that an argument may hold, for those that may.
        **values: float32 or float64 tensors or arrays, Python numbers or sequences of them.

    Raises:
        ValueError: an argument is empty, of another type, not finite, of the wrong shape, or on
            another device than the others.
    """
    devices = {v.device for v in values.values() if isinstance(v, Tensor)}
    if len(devices) > 1:
        raise ValueError(
            f"expected all arguments on one device, got {sorted(str(d) for d in devices)}"
        )
    device = devices.pop() if devices else torch.device("cpu")
    tensors = {name: _tensor(name, value, device) for name, value in values.items()}
    sizes: dict[str, tuple[int, str]] = {}
    for name, tensor in tensors.items():
        _check_shape(name, tensor, shapes[name], sizes)
    for name, tensor in tensors.items():
        good = torch.isfinite(tensor)
        if name in infinite:
            good |= tensor == infinite[name]
        if not bool(good.all()):
            bad = int((~good).sum())
            raise ValueError(f"{name}: expected finite numbers, got {bad} NaN or infinite entries")
    return tuple(tensors.values())


def broadcast(
    infinite: Mapping[str, float] = MappingProxyType({}), /, **values: ArrayLike
) -> list[Tensor]:
    """Numbers or arrays of them as float64 tensors of one common shape.

    Raises:
        ValueError: as for :func:`read`, or the shapes do not broadcast.
    """
    shapes = dict.fromkeys(values, "?")
    tensors = read(shapes, infinite, **values)
    try:
        return list(torch.broadcast_tensors(*tensors))
    except RuntimeError:
        rows = {name: tuple(t.shape) for name, t in zip(values, tensors, strict=True)}
        raise ValueError(f"expected shapes that broadcast together, got {rows}") from None


def require_all(name: str, values: Tensor, good: Tensor, expected: str) -> None:
    """Refuse numbers of which some are not ``good``; the message names the first.

    Raises:
        ValueError: some are not.
    """
    if not bool(good.all()):
        raise ValueError(f"{name}: expected {expected}, got {float(values[~good][0])}")


def is_double(*values: ArrayLike) -> bool:
    """Whether no argument has been rounded to less than float64 before it came here."""
    return all(
        str(v.dtype).endswith("float64") for v in values if isinstance(v, Tensor | np.ndarray)
    )


def _tensor(name: str, value: ArrayLike, device: torch.device) -> Tensor:
    try:
        if isinstance(value, Tensor):
            tensor = value
        elif isinstance(value, np.ndarray):
            # A copy: torch takes no negative strides and warns of read-only memory.
            tensor = torch.from_numpy(np.array(value, order="C"))
        else:
            # Python integers are exact in float64; integer tensors are more likely a mistake.
            tensor = torch.as_tensor(value, dtype=torch.float64, device=device)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(
            f"{name}: expected an array of numbers, got {type(value).__name__} ({error})"
        ) from None
    if tensor.dtype not in (torch.float32, torch.float64):
        raise ValueError(
            f"{name}: expected float32 or float64, got {tensor.dtype}; convert with .double()"
        )
    return tensor.detach().to(device=device, dtype=torch.float64)


def _check_shape(
    name: str, tensor: Tensor, letters: Sequence[str], sizes: dict[str, tuple[int, str]]
) -> None:
    """Compare a tensor's shape with the letters; a letter's first owner fixes its size."""
    shape = tuple(tensor.shape)
    if letters == "?":
        letters = "?" * len(shape)
    expected = f"({', '.join(letters)}{',' if len(letters) == 1 else ''})"
    if letters and letters[0] == "...":
        letters = ["?"] * (len(shape) - len(letters) + 1) + list(letters[1:])
    if len(shape) != len(letters):
        raise ValueError(f"{name}: expected shape {expected}, got {shape}")
    if tensor.numel() == 0:
        raise ValueError(
            f"{name}: expected at least one entry along each of {expected}, got {shape}"
        )
    for letter, size in zip(letters, shape, strict=True):
        if letter == "?":
            continue
        known, owner = sizes.setdefault(letter, (size, name))
        if size != known:
            raise ValueError(
                f"{name}: expected shape {expected} with {letter} = {known} as in {owner}, "
                f"got {shape}"
            )


def exponent(*tensors: Tensor) -> int | None:
    """The smallest ``e`` with ``|entry| < 2**e`` for all entries; ``None`` if all of them are 0."""
    largest = max(float(t.abs().max()) for t in tensors)
    return math.frexp(largest)[1] if largest > 0.0 else None


def times_power_of_two(tensor: Tensor, power: int) -> Tensor:
    """``tensor * 2**power`` without an overflow in between; exact unless the result underflows."""
    # Two factors, because 2**power itself may not be a float64 although the product is one. Past
    # 2 * 1022 every product of a float64 is zero or infinite.
    half = max(-1022, min(1022, power // 2))
    rest = max(-1022, min(1022, power - half))
    return tensor * 2.0**half * 2.0**rest


def normalise(
    parameters: Sequence[Tensor], inputs: Tensor, targets: Tensor
) -> tuple[list[Tensor], Tensor, Tensor, int]:
    """Bring a two-layer network and its data to entries of at most 1.

    For ``f = ⟨w, v⟩ x`` and its relatives, ``H(w, v, x, y) = a² b² H(w/a, v/a, x/b, y/(a² b))``.
    With powers of two for ``a`` and ``b`` this is exact, so that no square overflows or underflows
    unless the Hessian itself does.

    Returns:
        The scaled parameters, inputs and targets, and the ``e`` with ``H = 2**e H_scaled``.
    """
    of_inputs = exponent(inputs) or 0
    of_parameters = exponent(*parameters)
    of_targets = exponent(targets)
    candidates = [] if of_parameters is None else [of_parameters]
    if of_targets is not None:
        # Large targets with small weights: the residual, not the weights, sets the scale.
        candidates.append(math.ceil((of_targets - of_inputs) / 2))
    a, b = max(candidates, default=0), of_inputs
    return (
        [times_power_of_two(parameter, -a) for parameter in parameters],
        times_power_of_two(inputs, -b),
        times_power_of_two(targets, -2 * a - b),
        2 * (a + b),
    )


def norm(vector: Tensor) -> Tensor:
    """Euclidean norm along the last dimension, safe for entries whose squares are not floats."""
    largest = vector.abs().amax(-1, keepdim=True)
    safe = torch.where(largest > 0, largest, 1.0)
    return torch.linalg.vector_norm(vector / safe, dim=-1) * largest.squeeze(-1)


def finite(values: Tensor) -> Tensor:
    """The eigenvalues, unless they are too large for float64.

    Raises:
        ValueError: some are not finite.
    """
    if not bool(torch.isfinite(values).all()):
        raise ValueError(
            "expected a Hessian within the range of float64, got eigenvalues beyond 1e308: "
            "rescale the data or the weights"
        )
    # Adding 0 turns -0 into 0.
    return values + 0.0
