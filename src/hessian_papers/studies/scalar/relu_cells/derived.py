"""Quantities of the scalar ReLU network by cell that both figure and claims derive."""

import xarray as xr

CELLS = ("+", "-")


def lives_in(mass: xr.DataArray, cell: str) -> xr.DataArray:
    """The numerical eigenvectors that have most of their squared norm in a cell.

    Args:
        mass: the share that they have in the positive cell.
        cell: ``+`` or ``-``.
    """
    return (mass > 0.5) == (cell == "+")


def mass_elsewhere(data: xr.Dataset) -> xr.DataArray:
    """The share of each eigenvector's squared norm outside the cell it belongs to.

    The cell is the closed form's, so that a wrong colour in the figure would show here.
    """
    return xr.where(data["cell"] == "+", 1 - data["mass"], data["mass"])
