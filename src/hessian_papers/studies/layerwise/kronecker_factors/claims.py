"""Which Kronecker factors come near the Hessian: statements beyond wu2022dissecting."""

from collections.abc import Callable

import numpy as np
import xarray as xr

from hessian_papers.ledger.bounds import at_least, at_most, needs
from hessian_papers.ledger.conditions import ANY_STATE, THROUGHOUT_TRAINING
from hessian_papers.ledger.statements import Labels, Statements
from hessian_papers.ledger.words import reading_of
from hessian_papers.studies.layerwise.kronecker_factors.derived import (
    PRINTED,
    known,
    layer_of,
    layers_of_kind,
    middle_damping,
    trained,
)
from hessian_papers.studies.layerwise.layers import in_the_paper
from hessian_papers.studies.layerwise.standing import NEAR_A_MINIMUM

NEARER = at_least(0.0, "both are as near if this is 0")
PLACE = "section 3, beyond the paper"

statements = Statements().having(
    book="beyond",
    otherwise="It differs between layers and networks; widths and data are small.",
    state=THROUGHOUT_TRAINING,
)
at_a_minimum = statements.having(state=NEAR_A_MINIMUM)


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


def _gain(layer: xr.Dataset, form: str) -> xr.DataArray:
    """``ln`` of the printed product's error over that of another, mean over epochs of training."""
    errors = trained(layer)["spectral"]
    ratio = errors.sel(form=PRINTED) / errors.sel(form=form)
    return known(xr.apply_ufunc(np.log, ratio).mean("epoch", skipna=False))


def _growth(layer: xr.Dataset, name: str, form: str) -> xr.DataArray:
    """A number of one form at the last epoch, minus that at initialisation."""
    known_start = layer.sizes["epoch"] >= 2 and int(layer["epoch"][0]) == 0
    needs(known_start, "this configuration keeps no weights from before training")
    values = layer[name].sel(form=form)
    return known(values.isel(epoch=-1) - values.isel(epoch=0))


def _shared_space(layer: xr.Dataset) -> xr.Dataset:
    """The layer with ``shared``, the overlap of as many top eigenvectors as were compared."""
    return layer.assign(shared=layer["overlap"].isel(rank=-1))


def _in_print(*, convolution: bool) -> Callable[[xr.Dataset], list[Labels]]:
    """The layers of the paper's networks of a kind, at both ends of the training."""
    return lambda data: [
        {**case, "state": state}
        for case in _of_kind(convolution=convolution)(data)
        if in_the_paper(case["network"])
        for state in ("initialisation", "the end of training")
    ]


def conjecture(data: xr.Dataset, network: str, layer: str, state: str) -> xr.DataArray:
    """The Hessian of a layer is approximately the Kronecker product of two expectations.

    Statistic: spectral norm of the difference over that of the Hessian, mean over seeds; interval:
    Student's t.
    """
    own = layer_of(data, network, layer)["spectral"].sel(form=PRINTED)
    return known(own.isel(epoch=0 if state == "initialisation" else -1))


for _convolution, _id, _place in (
    (False, "", "section 3, decoupling conjecture, equation (3)"),
    (True, "-of-convolutions", "appendix A.2, equations (31) to (35)"),
):
    statements.left_open(
        _place,
        reading_of("approximately"),
        id=f"kronecker-form-is-near-the-hessian{_id}",
        each=_in_print(convolution=_convolution),
        book="readings",
        state=ANY_STATE,
    )(conjecture)


@at_a_minimum.everywhere(
    "section 5.1, beyond the paper",
    at_least(0.0, "as much is shared at both ends if this is 0"),
    id="product-loses-the-top-eigenspace-by-the-minimum",
    each=_all,
)
def loses_the_top_space(data: xr.Dataset, network: str, layer: str) -> xr.DataArray:
    """In every layer the product shares less of the Hessian's top eigenspace at a minimum than at
    initialisation.

    Statistic: overlap of the top 9 spaces at initialisation minus that at the last epoch, mean over
    seeds; interval: Student's t.
    """
    return -_growth(_shared_space(layer_of(data, network, layer)), "shared", PRINTED)


@at_a_minimum.exists(
    "section 5.1, beyond the paper",
    at_most(0.5, "half of the space is missed", source="ours"),
    id="product-can-miss-the-top-eigenspace-at-a-minimum",
    each=connected,
)
def misses_the_top_space(data: xr.Dataset, network: str, layer: str) -> xr.DataArray:
    """At a minimum the product of a fully connected layer can miss more than half of the Hessian's
    top eigenspace.

    Statistic: overlap of the top 9 spaces at the last epoch, mean over seeds; interval: Student's
    t.

    Remark: LeNet5 is at a minimum of 4000 photographs, the others of few digits.
    """
    last = _shared_space(layer_of(data, network, layer)).isel(epoch=-1)
    return known(last["shared"].sel(form=PRINTED))


@statements.typically(
    "section 3 and (33), beyond the paper",
    NEARER,
    id="weighted-factors-are-nearer-in-convolutions",
    each=convolutions,
)
def weighted_convolutions(data: xr.Dataset, network: str, layer: str) -> xr.DataArray:
    """In convolutions, factors in which each input counts by its own curvature are nearer to the
    Hessian than KFAC's.

    Statistic: natural logarithm of the ratio of spectral errors, mean over the epochs of training
    and over seeds; interval: Student's t.

    Remark: Their product is one step of the power iteration to the nearest Kronecker product, and
    the square of Shampoo's approximation (Morwani et al., 2025). Lin et al. (2025) have other
    factors that fit the curvature.
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
    PLACE, NEARER, id="weighted-factors-are-nearer-in-connected-layers", each=connected
)
def weighted_connected(data: xr.Dataset, network: str, layer: str) -> xr.DataArray:
    """In fully connected layers, factors in which each input counts by its own curvature are nearer
    to the Hessian than KFAC's.

    Statistic: natural logarithm of the ratio of spectral errors, mean over the epochs of training
    and over seeds; interval: Student's t.
    """
    return _gain(layer_of(data, network, layer), "weighted")


@at_a_minimum.typically(
    PLACE,
    at_least(0.0, "independence is as good at both ends if this is 0"),
    id="independence-ends-with-the-loss",
    each=_all,
)
def independence_ends(data: xr.Dataset, network: str, layer: str) -> xr.DataArray:
    """In all layers the independence of inputs and curvature ends with the loss. Even the nearest
    Kronecker product errs more at a minimum than at initialisation.

    Statistic: spectral error of the product that is nearest in the Frobenius norm, over the
    Hessian's norm, at the last epoch minus that at initialisation; mean over seeds; interval:
    Student's t.
    """
    return _growth(layer_of(data, network, layer), "spectral", "nearest")


@at_a_minimum.typically(
    PLACE,
    at_least(0.0, "the error of KFAC's product grows as much as the nearest one's if this is 0"),
    id="error-of-kfac-grows-beyond-that-of-the-nearest-product",
    each=connected,
)
def kfac_beyond_the_nearest(data: xr.Dataset, network: str, layer: str) -> xr.DataArray:
    """In fully connected layers the error of KFAC's product grows more with the end of the loss
    than that of the nearest Kronecker product.

    Statistic: growth of the spectral error of KFAC's product, from initialisation to the last
    epoch, minus that of the nearest product; mean over seeds; interval: Student's t.
    """
    own = layer_of(data, network, layer)
    return _growth(own, "spectral", PRINTED) - _growth(own, "spectral", "nearest")


@at_a_minimum.exists(
    PLACE,
    at_least(1.0, "the error of the zero matrix"),
    id="printed-product-can-be-worse-than-zero",
    each=connected,
)
def worse_than_zero(data: xr.Dataset, network: str, layer: str) -> xr.DataArray:
    """At a minimum KFAC's product of a fully connected layer can be farther from the Hessian than
    zero is.

    Statistic: spectral error over the Hessian's norm at the last epoch, mean over seeds; interval:
    Student's t.
    """
    last = layer_of(data, network, layer).isel(epoch=-1)
    return known(last["spectral"].sel(form=PRINTED))


@statements.typically(
    PLACE,
    at_least(0.0, "both steps are as good if this is 0"),
    id="weighted-factors-make-better-steps",
    each=_all,
)
def better_steps(data: xr.Dataset, network: str, layer: str) -> xr.DataArray:
    """Factors in which each input counts by its own curvature make better steps than KFAC's.

    Statistic: decrease of the damped quadratic model along the step of one, at its best length,
    minus that of the other. Both are over the decrease of the exact step, at the middle damping.
    Mean over the epochs of training and over seeds; interval: Student's t.
    """
    own = trained(layer_of(data, network, layer)).sel(damping=middle_damping(data))
    decrease = own["decrease"]
    difference = decrease.sel(form="weighted") - decrease.sel(form=PRINTED)
    return known(difference.mean("epoch", skipna=False))
