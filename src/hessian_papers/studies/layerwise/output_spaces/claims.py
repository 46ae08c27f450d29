"""Statements of appendix G.1 of wu2022dissecting on output Hessians, and what is nearer."""

from collections.abc import Iterator

import numpy as np
import xarray as xr

from hessian_papers.ledger.bounds import NothingToMeasure, at_least, at_most, equal_to
from hessian_papers.ledger.statements import Cases, Labels, Statements
from hessian_papers.ledger.verdicts import printed, shown, typically
from hessian_papers.studies.layerwise.layers import (
    before_training,
    hidden_layers,
    layer_names,
    own_layers,
    with_hidden_layers,
)

OPEN = "the paper leaves open how near; half is our choice, after a first look at small networks"
HALVED = (
    "How often a ReLU is active depends on its weights, and the ReLUs of one path are not "
    "independent. So $S / 2^{L-p}$ is not $E[G]$, and deviates more the more layers follow."
)

# Overlaps of Table 8 with true labels, of fc1, fc2 and fc3, by data and network.
TABLE_8 = {
    "MNIST": {"F-1500^3": (0.602, 0.967, 0.982), "LeNet5": (0.890, 0.931, 0.999)},
    "CIFAR-10": {"F-1500^3": (0.880, 0.943, 0.993), "LeNet5": (0.951, 0.972, 0.999)},
}
NETWORKS = frozenset(name for row in TABLE_8.values() for name in row)
# Of the last layer, where all of it is exact.
EXACT = {"printed_error": 0.0, "jacobian_error": 0.0, "rows": 1.0, "jacobian": 1.0}

statements = Statements().having(otherwise=HALVED)


def hidden(data: xr.Dataset, name: str) -> xr.DataArray:
    """The values of all layers of a network but the last, of which everything is exact.

    Raises:
        NothingToMeasure: it is not known of all of them.
    """
    values = hidden_layers(data)[name]
    if not np.isfinite(values).all():
        raise NothingToMeasure(f"{data['network'].item()} has layers of fewer outputs than classes")
    return values


def better_reading(data: xr.Dataset) -> str:
    """The reading of "without their sum" that is nearer, over all layers but the last."""
    return max(("rows", "complement"), key=lambda name: float(hidden(data, name).mean()))


def smallest(values: xr.DataArray) -> xr.DataArray:
    """Values along ``seed`` in the layer where their mean is smallest."""
    return values.sel(layer=values.mean("seed").idxmin())


def largest(values: xr.DataArray) -> xr.DataArray:
    """Values along ``seed`` in the layer where their mean is largest."""
    return values.sel(layer=values.mean("seed").idxmax())


@statements.statement(
    "appendix G.1, Table 8",
    typically,
    at_least(0.602, "the smallest overlap with true labels in Table 8", source="Table 8"),
    id="rows-of-the-product-span-the-top-space",
    over={"network": with_hidden_layers},
    elsewhere=lambda case: case["network"] not in NETWORKS,
)
def rows_of_the_product(data: xr.Dataset) -> xr.DataArray:
    """After training the top $c - 1$ eigenvectors of $E[M]$ nearly span the rows of S without their
    sum. S is the product of the weights after the layer.

    Statistic: overlap of the two spaces by the better of two readings, in the layer (excluding the
    last) where it is smallest, mean over networks; interval: Student's t.
    """
    trained = data.isel(epoch=-1)
    return smallest(hidden(trained, better_reading(trained)))


def _rows(data: str) -> Cases:
    def rows(measured: xr.Dataset) -> Iterator[Labels]:
        for network in with_hidden_layers(measured):
            overlaps = TABLE_8[data].get(network, ())
            for layer, overlap in zip(layer_names(measured, network), overlaps, strict=False):
                yield {"data": data, "network": network, "layer": layer, "overlap": overlap}

    return rows


def row_of_the_table(data: xr.Dataset, /, network: str, layer: str, **row: object) -> xr.DataArray:
    """After training the overlap of the rows of S without their sum and of the top $c - 1$
    eigenvectors of $E[M]$ is that of Table 8.

    Statistic: the overlap, by the better of two readings, mean over networks; interval: Student's
    t.
    """
    trained = data.sel(network=network).isel(epoch=-1)
    return own_layers(trained)[better_reading(trained)].sel(layer=layer)


for _artifact, _data in (("Table 8", "MNIST"), ("Table 8 (LeNet5)", "CIFAR-10")):
    statements.about("wu2022dissecting", _artifact).statement(
        "appendix G.1, Table 8",
        printed,
        lambda row: equal_to(
            row["overlap"], "a twentieth of the full overlap", tolerance=0.05, source="Table 8"
        ),
        id="table-8",
        each=_rows(_data),
        name="table-8-{data}-{network}-{layer}",
    )(row_of_the_table)


@statements.statement(
    "appendix G.1, beyond the paper",
    typically,
    at_least(0.0, "no worse", source="ours"),
    id="mean-jacobian-is-nearer",
    over={"network": with_hidden_layers},
    book="beyond",
)
def the_mean_jacobian_is_nearer(data: xr.Dataset) -> xr.DataArray:
    """After training the span of $E[G]^⊤a$, $Σa = 0$, is nearer to those eigenvectors. $E[G]$, the
    mean Jacobian of the scores with respect to the layer's outputs, replaces S.

    Statistic: its overlap minus that of the rows of S, in the layer (excluding the last) where it
    is smallest, mean over networks; interval: Student's t.
    """
    trained = data.isel(epoch=-1)
    return smallest(hidden(trained, "jacobian") - hidden(trained, better_reading(trained)))


@statements.statement(
    "equation (272)",
    shown,
    at_most(0.5, OPEN, source="ours"),
    id="form-of-the-output-hessian-at-initialisation",
    over={"network": with_hidden_layers},
    book="observations",
)
def form_in_print(data: xr.Dataset) -> xr.DataArray:
    """At initialisation $E[M]$ could be $S^⊤ A S / 4^{L-p}$: each ReLU after the layer halves every
    path, independently of the others.

    Statistic: Frobenius norm of the difference over that of $E[M]$, in the layer (excluding the
    last) where it is largest, mean over networks; interval: Student's t.
    """
    return largest(hidden(before_training(data), "printed_error"))


@statements.statement(
    "equation (272), beyond the paper",
    typically,
    at_most(0.5, OPEN, source="ours"),
    id="mean-jacobian-gives-the-output-hessian-at-initialisation",
    over={"network": with_hidden_layers},
    book="beyond",
)
def form_at_initialisation(data: xr.Dataset) -> xr.DataArray:
    """At initialisation $E[M]$ is nearly $E[G]^⊤ E[A] E[G]$, of rank $c - 1$.

    Statistic: $‖E[G]^⊤ E[A] E[G] - E[M]‖ / ‖E[M]‖$ in the Frobenius norm, in the layer (excluding
    the last) where it is largest, mean over networks; interval: Student's t.
    """
    return largest(hidden(before_training(data), "jacobian_error"))


@statements.identity(
    "appendix G.1, Table 8",
    equal_to(0.0, "round-off in float32", tolerance=1e-4, source="ours"),
    id="exact-in-the-last-layer",
    otherwise="",
)
def exact_in_the_last_layer(data: xr.Dataset) -> float:
    """In the last layer S is the identity: $E[M]$ is $E[A]$, and the overlap is 1. Table 8 has
    0.999 there for LeNet5.

    Statistic: largest deviation over all networks and epochs.
    """
    last = data.isel(layer=(data["layer_name"] != "").sum("layer") - 1)
    return float(np.max([abs(last[name] - exact).values for name, exact in EXACT.items()]))
