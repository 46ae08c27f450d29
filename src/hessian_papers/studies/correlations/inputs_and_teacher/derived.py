"""The lead of the alignment, which figure and claims take from the correlations."""

import numpy as np
import xarray as xr

from hessian_papers.ledger.bounds import needs
from hessian_papers.studies.correlations.norm_correlation.regions import SIMILAR
from hessian_papers.studies.correlations.teachers import largest

ALIGNMENT, WHITE = "alignment", "white"


def drawn_inputs(data: xr.Dataset) -> list[str]:
    """The inputs that are drawn, those of fewest samples first."""
    return [name for name in data["inputs"].values.tolist() if name != WHITE]


def said(inputs: str) -> str:
    """The inputs as figures and claims say them."""
    return "white inputs" if inputs == WHITE else f"$n/D$ = {inputs}"


def usual_scale(data: xr.Dataset) -> float:
    """The scale of the teacher nearest to 1, which the other studies have."""
    scales = data["scale"].values
    return float(scales[np.abs(scales - 1.0).argmin()])


def alike(data: xr.Dataset) -> xr.DataArray:
    """Where the entries of both matrices are of similar magnitude."""
    return abs(np.log(data["magnitude_ratio"])) <= np.log(SIMILAR)


def lead(data: xr.Dataset) -> xr.DataArray:
    """The r of the best alignment less that of the best norm, for each teacher.

    Which one is best is the same for all teachers, as in :func:`largest`.
    """
    r = data["correlation"]
    norms = r.drop_sel(factor=ALIGNMENT).stack(each=["factor", "norm"], create_index=False)
    return largest(r.sel(factor=ALIGNMENT, drop=True), "norm") - largest(norms, "each")


def matrix_lead(data: xr.Dataset) -> xr.DataArray:
    """The r of the first matrix's squared spectral norm less that of the second's, by teacher."""
    r = data["correlation"].sel(norm="spectral", drop=True)
    first, second = (r.sel(factor=name, drop=True) for name in ("first matrix", "second matrix"))
    return first - second


def lead_where_alike(data: xr.Dataset) -> xr.DataArray:
    """The :func:`lead` for each teacher, its mean over parametrisations of :func:`alike` matrices.

    Raises:
        NothingToMeasure: no matrices are alike.
    """
    similar = alike(data)
    needs(similar.any(), f"this configuration has no matrices within a factor of {SIMILAR}")
    return lead(data).where(similar).mean("parametrisation")
