"""Spectra in a study's data set: those of a closed form, and the numerical ones beside them.

The variables ``exact`` and ``numerical`` hold eigenvalues along the dimension ``rank``, ascending;
``kind`` and ``cell`` say what each eigenvalue of the closed form is. Numerics know no kinds: which
eigenvalue is which follows from the closed form's order.
"""

import xarray as xr

from hessian_papers.labelled import Variable, Variables, of_kind
from hessian_spectra.agreement import spectrum_error
from hessian_spectra.files import Arrays


def variables(dims: str) -> Variables:
    """The declarations of spectra.

    Args:
        dims: the dimensions along which there are spectra, apart by spaces.

    Example:
        >>> variables("network")["exact"].dims
        'network rank'
    """
    return {
        "exact": Variable(f"{dims} rank", "eigenvalues by the closed form, ascending"),
        "numerical": Variable(f"{dims} rank", "eigenvalues of the loss's Hessian, ascending"),
        "kind": Variable(f"{dims} rank", "what the eigenvalue is, such as bulk or outlier"),
        "cell": Variable(f"{dims} rank", "the part of the network that it belongs to"),
    }


def of_closed_form(arrays: Arrays) -> Arrays:
    """The variables ``exact``, ``kind`` and ``cell`` of what :meth:`Spectrum.arrays` gives."""
    return {"exact": arrays["eigenvalues"], "kind": arrays["kind"], "cell": arrays["cell"]}


def spectra(data: xr.Dataset, **labels: str | int | float) -> xr.Dataset:
    """The spectra at some labels, without the ranks that others have more of."""
    chosen = data.sel(labels)
    others = [dim for dim in chosen.kind.dims if dim != "rank"]
    return chosen.isel(rank=(chosen.kind != "").any(others))


def group(
    data: xr.Dataset, kind: str, cell: str | None = None, *, of: str | xr.DataArray = "exact"
) -> xr.DataArray:
    """The eigenvalues of one kind (and one cell), ascending along ``rank``.

    Args:
        data: spectra.
        kind: for example ``outlier`` or ``bulk``.
        cell: the part of the network.
        of: ``exact``, ``numerical``, or other values along ``rank``.

    Raises:
        ValueError: the spectra have different numbers of them.
    """
    masks = [data.kind == kind] + ([] if cell is None else [data.cell == cell])
    return of_kind(data[of] if isinstance(of, str) else of, "rank", *masks)


def ranks(data: xr.Dataset, kind: str, cell: str | None = None) -> xr.DataArray:
    """Which of the ascending eigenvalues, from 1 on, are of a kind (and a cell)."""
    numbers = xr.ones_like(data.exact, dtype=int).cumsum("rank")
    return group(data, kind, cell, of=numbers)


def error(data: xr.Dataset) -> xr.DataArray:
    """The error of each whole spectrum, relative to its largest eigenvalue."""
    return xr.apply_ufunc(
        spectrum_error, data.exact, data.numerical, input_core_dims=[["rank"]] * 2
    )
