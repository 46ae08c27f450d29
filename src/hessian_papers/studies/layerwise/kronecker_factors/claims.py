"""Which Kronecker factors come near the Hessian: statements beyond wu2022dissecting."""

from collections.abc import Callable

import numpy as np
import xarray as xr

from hessian_papers.ledger.bounds import at_least, at_most, needs
from hessian_papers.ledger.statements import Labels, Statements
from hessian_papers.studies.layerwise.kronecker_factors.derived import (
    PRINTED,
    known,
    layer_of,
    layers_of_kind,
    middle_damping,
    trained,
)
from hessian_papers.studies.layerwise.layers import layer_names

NEARER = at_least(0.0, "both are as near if this is 0")
BETTER = at_least(0.0, "both steps are as good if this is 0")
# The largest mean loss, in nats, at which networks fit their images.
FITTED = 0.05

statements = Statements().having(
    book="beyond",
    otherwise="It holds in some layers and networks, not in these; widths and data are small.",
)


def _of_kind(*, convolution: bool) -> Callable[[xr.Dataset], list[Labels]]:
    """The layers of all networks that are convolutions, or that are not."""
    return lambda data: [
        {"network": network, "layer": layer}
        for network in data["network"].values.tolist()
        for layer in layers_of_kind(data, network, convolution=convolution)
    ]


convolutions = _of_kind(convolution=True)
connected = _of_kind(convolution=False)


def _all(data: xr.Dataset) -> list[Labels]:
    return [*convolutions(data), *connected(data)]


def _last(data: xr.Dataset) -> list[Labels]:
    networks = data["network"].values.tolist()
    return [{"network": name, "layer": layer_names(data, name)[-1]} for name in networks]


def _gain(layer: xr.Dataset, form: str) -> xr.DataArray:
    """``ln`` of the printed product's error over that of another, mean over epochs of training."""
    errors = trained(layer)["spectral"]
    ratio = errors.sel(form=PRINTED) / errors.sel(form=form)
    return known(xr.apply_ufunc(np.log, ratio).mean("epoch", skipna=False))


def _fitted(layer: xr.Dataset) -> xr.Dataset:
    """The layer of networks at the last epoch.

    Raises:
        NothingToMeasure: their loss is not small there.
    """
    last = layer.isel(epoch=-1)
    loss = float(last["loss"].mean())
    needs(not loss > FITTED, f"the loss is {loss:.2g} at the last epoch, above {FITTED:g} (ours)")
    return last


@statements.typically(
    "section 3 and (33), beyond the paper",
    NEARER,
    id="weighted-factors-are-nearer-in-convolutions",
    each=convolutions,
)
def weighted_convolutions(data: xr.Dataset, network: str, layer: str) -> xr.DataArray:
    """In convolutions, factors in which each input counts by its own curvature, as Shampoo's do,
    are nearer to the Hessian than KFAC's.

    Statistic: natural logarithm of the ratio of spectral errors, mean over the epochs of training
    and over seeds; interval: Student's t.
    """
    return _gain(layer_of(data, network, layer), "weighted")


@statements.typically(
    "section 3 and (33), beyond the paper",
    NEARER,
    id="cross-terms-matter-in-convolutions",
    each=convolutions,
)
def cross_terms(data: xr.Dataset, network: str, layer: str) -> xr.DataArray:
    """In convolutions, factors of the sums over positions are nearer to the Hessian than KFAC's,
    which leave out what two positions have in common.

    Statistic: natural logarithm of the ratio of spectral errors, mean over the epochs of training
    and over seeds; interval: Student's t.
    """
    return _gain(layer_of(data, network, layer), "reduce")


@statements.typically(
    "section 3, beyond the paper",
    NEARER,
    id="weighted-factors-are-nearer-in-connected-layers",
    each=connected,
)
def weighted_connected(data: xr.Dataset, network: str, layer: str) -> xr.DataArray:
    """In fully connected layers, factors in which each input counts by its own curvature are nearer
    to the Hessian than KFAC's.

    Statistic: natural logarithm of the ratio of spectral errors, mean over the epochs of training
    and over seeds; interval: Student's t.
    """
    return _gain(layer_of(data, network, layer), "weighted")


@statements.typically(
    "section 3, beyond the paper",
    at_least(0.0, "independence is as good at both ends if this is 0"),
    id="independence-ends-with-the-loss",
    each=_last,
)
def independence_ends(data: xr.Dataset, network: str, layer: str) -> xr.DataArray:
    """In the last layer the independence of inputs and curvature ends with the loss: KFAC's product
    errs more once the images are fitted than at initialisation.

    Statistic: spectral error over the Hessian's norm at the last epoch, minus that at the first,
    mean over seeds; interval: Student's t.
    """
    own = layer_of(data, network, layer)
    needs(own.sizes["epoch"] >= 2, "this configuration keeps the weights of a single epoch")
    last = _fitted(own)
    return known((last["spectral"] - own["spectral"].isel(epoch=0)).sel(form=PRINTED))


@statements.exists(
    "section 3, beyond the paper",
    at_least(1.0, "the error of the zero matrix"),
    id="printed-product-can-be-worse-than-zero",
    each=_last,
)
def worse_than_zero(data: xr.Dataset, network: str, layer: str) -> xr.DataArray:
    """Once the images are fitted, KFAC's product of the last layer can be farther from the Hessian
    than zero is.

    Statistic: spectral error over the Hessian's norm at the last epoch, mean over seeds; interval:
    Student's t.
    """
    return known(_fitted(layer_of(data, network, layer))["spectral"].sel(form=PRINTED))


@statements.typically(
    "section 3, beyond the paper",
    at_most(1.0, "the error of the zero matrix"),
    id="weighted-factors-stay-better-than-zero",
    each=_all,
)
def weighted_stays(data: xr.Dataset, network: str, layer: str) -> xr.DataArray:
    """With factors weighted by curvature the product stays nearer to the Hessian than zero is, also
    once the images are fitted.

    Statistic: spectral error over the Hessian's norm at the last epoch, mean over seeds; interval:
    Student's t.
    """
    return known(_fitted(layer_of(data, network, layer))["spectral"].sel(form="weighted"))


def _steps(data: xr.Dataset) -> list[Labels]:
    return [
        {"better": better, "worse": worse, **case}
        for better, worse in (("weighted", PRINTED), ("expand, corrected", PRINTED),
                              ("weighted, corrected", "expand, corrected"))
        for case in _all(data)
    ]  # fmt: skip


@statements.typically(
    "section 3, beyond the paper",
    BETTER,
    id="weighted-factors-make-better-steps",
    each=_steps,
    name="{better}-steps-beat-{worse}-{network}-{layer}",
)
def better_steps(
    data: xr.Dataset, better: str, worse: str, network: str, layer: str
) -> xr.DataArray:
    """Factors weighted by curvature make better steps than KFAC's, and so do corrected eigenvalues.

    Statistic: decrease of the damped quadratic model along the step of one, at its best length,
    minus that of the other. Both are over the decrease of the exact step, at the middle damping.
    Mean over the epochs of training and over seeds; interval: Student's t.
    """
    own = trained(layer_of(data, network, layer)).sel(damping=middle_damping(data))
    decrease = own["decrease"]
    difference = decrease.sel(form=better) - decrease.sel(form=worse)
    return known(difference.mean("epoch", skipna=False))
