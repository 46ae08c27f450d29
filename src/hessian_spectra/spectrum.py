"""The result of every spectrum computation: eigenvalues with what is known about them."""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

# Eigenvectors of more bytes than this are not built in order to be pickled.
_PICKLED_BYTES = 256 << 20


@dataclass(frozen=True, eq=False)
class KnownVectors:
    """An eigenbasis ``(p, k)`` that is there already."""

    vectors: Tensor

    def __call__(self) -> Tensor:
        """The vectors."""
        return self.vectors


@dataclass(frozen=True, eq=False)
class _LeftBehind:
    """An eigenbasis that was too large to be pickled."""

    method: str

    def __call__(self) -> Tensor:
        """Say so."""
        raise ValueError(
            f"eigenvectors of {self.method} were not pickled with the spectrum, because they take "
            f"more than {_PICKLED_BYTES >> 20} MiB; compute the spectrum anew, or pickle them"
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Spectrum:
    """Eigenvalues of a symmetric matrix, grouped by eigenspace.

    A closed form knows few distinct eigenvalues with high multiplicities, so a spectrum is kept as
    ``g`` groups; the ``k`` eigenvalues and the eigenvectors are built when they are asked for.
    ``k`` equals the matrix's size ``p`` for a complete spectrum and is smaller for the top
    eigenpairs that an iterative method found.

    Args:
        values: ``(g,)`` one eigenvalue per group, in any order; ``(..., g)`` for a batch of
            spectra with the same multiplicities, of which ``eigenvalues`` alone is made.
        multiplicities: ``(g,)`` how often each occurs; a group may be empty.
        kinds: what each group is: ``"outlier"``, ``"bulk"``, ``"zero"``, or ``"numeric"`` where no
            theory tells.
        cells: the part of the network that each group belongs to (``"+"`` and ``"-"`` for the two
            ReLU cells, ``"0"``, ``"1"``, ... for coordinates or heads), or ``""``.
        method: the theorem or the algorithm that made it, such as ``"closed form, Theorem 3.1"``.
        eigenbasis: builds the orthonormal eigenvectors ``(p, k)``, group after group, the columns
            of a group side by side; ``None`` if they are not known.
        residuals: ``(g,)`` for numerical spectra ``‖H z − λ z‖ / |λ_max|``, else ``None``.
        converged: ``(g,)`` whether each residual is below the tolerance asked for; ``None`` for a
            closed form.

    It can be pickled, and the eigenvectors go with it. Where a formula would build more than
    256 MiB of them, they stay behind, and :meth:`eigenvectors` of what is unpickled says so.

    Example:
        >>> s = Spectrum(values=torch.tensor([3.0, -1.0], dtype=torch.float64),
        ...              multiplicities=(1, 2), kinds=("outlier", "bulk"), method="example")
        >>> s.eigenvalues
        tensor([-1., -1.,  3.], dtype=torch.float64)
        >>> s.select("outlier")
        tensor([3.], dtype=torch.float64)
    """

    values: Tensor
    multiplicities: Sequence[int]
    kinds: Sequence[str]
    method: str
    cells: Sequence[str] | None = None
    eigenbasis: Callable[[], Tensor] | None = None
    residuals: Tensor | None = None
    converged: Tensor | None = None

    def __post_init__(self) -> None:
        lengths = {
            "values": self.values.shape[-1],
            "multiplicities": len(self.multiplicities),
            "kinds": len(self.kinds),
        }
        for name in ("cells", "residuals", "converged"):
            if getattr(self, name) is not None:
                lengths[name] = len(getattr(self, name))
        if len(set(lengths.values())) != 1:
            raise ValueError(f"expected one entry per group in each field, got {lengths}")
        if min(self.multiplicities, default=0) < 0:
            raise ValueError(f"expected no negative multiplicity, got {list(self.multiplicities)}")

    def __getstate__(self) -> dict[str, Any]:
        state = {field.name: getattr(self, field.name) for field in fields(self)}
        if self.eigenbasis is not None and not isinstance(
            self.eigenbasis, KnownVectors | _LeftBehind
        ):
            # A complete spectrum, which has as many eigenvectors as they have entries.
            size = sum(self.multiplicities) ** 2 * self.values.element_size()
            small = size <= _PICKLED_BYTES
            state["eigenbasis"] = (
                KnownVectors(self.eigenbasis()) if small else _LeftBehind(self.method)
            )
        return state

    def __deepcopy__(self, memo: dict[Any, Any]) -> "Spectrum":
        # Functions copy as themselves, so that no eigenvector is built for it.
        parts = {field.name: getattr(self, field.name) for field in fields(self)}
        return Spectrum(**{name: copy.deepcopy(part, memo) for name, part in parts.items()})

    @cached_property
    def _sorted_groups(self) -> Tensor:
        """The groups by ascending eigenvalue, ``(g,)``."""
        return torch.argsort(self.values, stable=True)

    @cached_property
    def _counts(self) -> Tensor:
        """The multiplicities in ascending order of the groups' eigenvalues, ``(g,)``."""
        counts = torch.tensor(self.multiplicities, device=self.values.device, dtype=torch.int64)
        return counts[self._sorted_groups]

    @cached_property
    def _group_of(self) -> Tensor:
        """The group of each eigenvalue in ascending order, ``(k,)``."""
        if self.values.ndim > 1:
            batch = tuple(self.values.shape[:-1])
            raise ValueError(f"expected a single spectrum, got a batch {batch}")
        return self._sorted_groups.repeat_interleave(self._counts)

    @cached_property
    def eigenvalues(self) -> Tensor:
        """All ``k`` eigenvalues, ascending; of a batch ``(..., k)``, along the last axis."""
        if self.values.ndim > 1:
            counts = torch.tensor(self.multiplicities, device=self.values.device)
            return self.values.repeat_interleave(counts, dim=-1).sort(dim=-1).values
        return self.values[self._sorted_groups].repeat_interleave(self._counts)

    @property
    def labels(self) -> list[str]:
        """The kind of each of the ``k`` eigenvalues, followed by its cell where there is one."""
        cells = self.cells or [""] * len(self.kinds)
        names = [f"{kind} {cell}".strip() for kind, cell in zip(self.kinds, cells, strict=True)]
        return [names[group] for group in self._group_of.tolist()]

    def arrays(self, prefix: str = "") -> dict[str, np.ndarray]:
        """The eigenvalues as arrays for a file, with the kind and the cell of each.

        ``<prefix>eigenvalues``, ``<prefix>kind`` and ``<prefix>cell``, each ``(k,)``.

        Args:
            prefix: of the arrays' names.
        """
        cells = self.cells or [""] * len(self.kinds)
        groups = self._group_of.tolist()
        return {
            f"{prefix}eigenvalues": self.eigenvalues.detach().cpu().numpy(),
            f"{prefix}kind": np.array([self.kinds[group] for group in groups], dtype=np.str_),
            f"{prefix}cell": np.array([cells[group] for group in groups], dtype=np.str_),
        }

    def select(self, kind: str, cell: str | None = None) -> Tensor:
        """The eigenvalues of one kind (and one cell), with multiplicity, ascending."""
        cells = self.cells or [""] * len(self.kinds)
        wanted = torch.tensor(
            [
                k == kind and (cell is None or c == cell)
                for k, c in zip(self.kinds, cells, strict=True)
            ],
            device=self.values.device,
            dtype=torch.bool,
        )
        if self.values.ndim > 1:
            counts = torch.tensor(self.multiplicities, device=self.values.device) * wanted
            return self.values.repeat_interleave(counts, dim=-1).sort(dim=-1).values
        return self.eigenvalues[wanted[self._group_of]]

    def eigenvectors(self) -> Tensor:
        """An orthonormal basis ``(p, k)``; column ``i`` belongs to ``eigenvalues[i]``.

        It is built at the first call and kept.

        Raises:
            ValueError: eigenvectors are not known for this spectrum.
        """
        return self._eigenvectors

    @cached_property
    def _eigenvectors(self) -> Tensor:
        if self.eigenbasis is None:
            raise ValueError(f"eigenvectors are not available from {self.method}")
        blocks = self.eigenbasis().split(list(self.multiplicities), dim=1)
        return torch.cat([blocks[group] for group in self._sorted_groups.tolist()], dim=1)
