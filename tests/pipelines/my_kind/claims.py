"""A statement about the eigenvalues of a symmetric 2 x 2 matrix."""

import xarray as xr

from hessian_papers.ledger.bounds import within
from hessian_papers.ledger.statements import Statements

statements = Statements()


@statements.identity("{artifact}", within(1e-10, "float64 leaves about 1e-15"))
def both_eigenvalues(data: xr.Dataset) -> float:
    """Both eigenvalues of the closed form are those of the matrix"""
    errors = abs(data["exact"] - data["numerical"])
    return float(errors.max() / abs(data["numerical"]).max())
