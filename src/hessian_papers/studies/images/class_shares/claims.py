"""The statements of anon2026data on the sharpness and the largest class (figures 1c and 2).

An image set is no draw of image sets: each is a case. Replicates of a case have subsets and initial
weights of their own, and are what its interval is made of. Where a share has a single network there
is no interval, and the number is shown without a verdict.
"""

from collections.abc import Iterable

import xarray as xr

from hessian_papers.ledger.bounds import at_most, needs, within
from hessian_papers.ledger.conditions import AFTER_TRAINING, ANY_STATE, Condition
from hessian_papers.ledger.statements import Statements
from hessian_papers.ledger.words import reading_of
from hessian_papers.studies.images.class_shares import texts
from hessian_papers.studies.images.class_shares.derived import (
    by,
    by_replicate,
    error,
    fitted,
    gauss_newton_error,
    last_defect,
    of_case,
    of_own_size,
    ratios_by_size,
    trained,
    trends,
)
from hessian_papers.studies.images.derived import quotient, worst

BALANCED = "whitened-balanced-linear"
RAW, KAIMING, TANH = "raw-balanced-linear", "whitened-kaiming-linear", "whitened-balanced-tanh"


def _require_fitted(data: xr.Dataset) -> None:
    needs(
        fitted(data).any(),
        "this configuration has no networks whose inputs fit all labels; the statement is about "
        "zero loss",
    )


# Training comes near zero loss where, and only where, the inputs fit all labels.
AT_ZERO_LOSS = Condition("after training to zero loss", _require_fitted)
WHITE_AND_BALANCED = Condition("whitened inputs, balanced layers")

statements = Statements().having(state=AFTER_TRAINING)
figure_1c = statements.about("anon2026data", "Figure 1c")
figure_2 = statements.about("anon2026data", "Figure 2")
at_zero_loss = figure_1c.having(state=AT_ZERO_LOSS, assumes=WHITE_AND_BALANCED)
on_raw = figure_2.having(otherwise=texts.RAW_INPUTS)
replicated = statements.about("anon2026data", "Figure 2 (middle), several networks a share")
from_kaiming = replicated.having(otherwise=texts.KEEPS_ITS_LAYERS)
with_tanh = figure_2.having(otherwise=texts.SATURATION)


def _each_set(data: xr.Dataset) -> Iterable[dict[str, str]]:
    return [{"source": source} for source in by(data, "source")]


def _networks(data: xr.Dataset, case: str, source: str) -> xr.Dataset:
    """The trained networks of a case on subsets of the study's own size of one image set."""
    own = of_case(of_own_size(data), case)
    return trained(own.sel(network=own["source"] == source))


# Eq. (14), and what becomes of it where labels cannot be fitted.


@at_zero_loss.everywhere("eq. (14)", texts.EXACT, id="sharpness-from-labels-of-trained-networks")
def zero_loss(data: xr.Dataset) -> xr.DataArray:
    r"""Trained to zero loss, balanced networks have the sharpness
    $L σ_x^{2/L} α_{\max}^{1-1/L}$, from the labels alone.

    Statistic: largest relative deviation over all networks whose least-squares loss is zero, mean
    over replicates. Interval: Student's t.
    """
    return by_replicate(data, error(data, "labels").where(fitted(data)), of_each="max")


@at_zero_loss.everywhere(
    "section 4, below eq. (14)",
    within(2e-3, f"independent is exact in the paper, but {texts.TRAINED}"),
    id="sharpness-is-independent-of-samples",
    each=_each_set,
)
def independent_of_samples(data: xr.Dataset, source: str) -> xr.DataArray:
    """At zero loss the sharpness at a balanced solution is independent of the number of samples n.
    Cohen et al.'s Figure 18 suggests that it increases with n.

    Statistic: largest relative change between two n of sharpness over eq. (14), mean over the
    smallest shares that all n have. Interval: Student's t over replicates.

    Remark: The sentence is about labels that are fitted. With more samples than the rank of the
    inputs they are not, and the sharpness then falls with n.
    """
    own = trained(data.sel(network=(data["source"] == source) & fitted(data)))
    ratios = ratios_by_size(own)
    return ratios.max("samples") / ratios.min("samples") - 1


@figure_1c.beyond.everywhere(
    "eq. (14), Figure 1 (right)",
    within(2e-3, texts.TRAINED, source="eq. (9b) at the least-squares solution"),
    id="sharpness-from-what-the-inputs-explain",
    assumes=WHITE_AND_BALANCED,
)
def least_squares(data: xr.Dataset) -> xr.DataArray:
    r"""Trained balanced networks have the sharpness
    $L σ_x^2 (σ_{\max}(Y X^⊤)/(n σ_x^2))^{2(1-1/L)}$, whether or not the inputs fit the labels.

    Statistic: largest relative deviation over all networks, mean over replicates. Interval:
    Student's t.

    Remark: At the end of the epochs a leading mode of the labels had not been learnt yet.
    """
    return by_replicate(data, error(data, "fit"), of_each="max")


@figure_1c.shown(
    "Figure 1 (right)",
    reading_of("to the eye"),
    id="trained-networks-lie-on-the-curve",
    otherwise=texts.NOT_FITTED,
)
def on_the_curve(data: xr.Dataset) -> xr.DataArray:
    """The figure shows trained balanced networks beside the curve of eq. (14). Its subsets have
    more samples than inputs, so that their labels are not fitted and the loss is not zero.

    Statistic: mean relative deviation over image sets and shares, on subsets of the study's own
    size. Interval: Student's t over replicates.
    """
    own = of_own_size(data)
    return by_replicate(own, error(own, "labels"))


@figure_1c.typically(
    "section 4; Figure 1 (right)",
    texts.EVERY_STEP,
    id="sharper-with-one-large-class",
    each=_each_set,
)
def increasing(data: xr.Dataset, source: str) -> xr.DataArray:
    """The model learns a sharper solution if one class has a larger share.

    Statistic: rank correlation of share and sharpness. Interval: Student's t over replicates.

    Remark: The part of the labels that the inputs cannot fit outweighs a step in the share.
    """
    return trends(_networks(data, BALANCED, source))


# What of the theory's assumptions holds after training.


@figure_1c.beyond.everywhere(
    "eq. (3), Assumption 1",
    within(
        1e-3, f"at the least-squares solution the two are equal whatever the loss; {texts.TRAINED}"
    ),
    id="gauss-newton-part-after-training",
    otherwise=texts.SECOND_DERIVATIVES,
)
@figure_2.beyond.everywhere(
    "eq. (3), Assumption 1",
    within(0.02, "what Tanh adds through its own second derivatives and the remaining loss"),
    id="gauss-newton-part-after-training",
    otherwise=texts.SECOND_DERIVATIVES,
)
def gauss_newton(data: xr.Dataset) -> float:
    """After training the largest eigenvalue of the Hessian is that of its Gauss-Newton
    approximation, although the loss is not near zero.

    Statistic: largest relative difference over all networks.
    """
    return worst(gauss_newton_error(data))


@(figure_1c | figure_2).typically(
    "section 3, below Assumption 3",
    within(0.01, "exact for gradient flow; steps of a finite rate, 0.01, leave about as much"),
    id="balanced-layers-stay-balanced",
    otherwise="Steps near the edge of stability are far from gradient flow.",
)
def stay_balanced(data: xr.Dataset) -> xr.DataArray:
    """Linear networks with balanced layers remain balanced through training.

    Statistic: $‖W_l W_l^⊤ - W_{l+1}^⊤ W_{l+1}‖_F$ at the end of training over the largest
    $‖W_l‖_F^2$, for the pair of layers where it is largest; mean over networks. Interval: Student's
    t over replicates.
    """
    balanced = data.sel(network=data["case"].str.endswith("-balanced-linear"))
    return by_replicate(balanced, last_defect(balanced))


@(figure_2 | replicated).identity(
    "Equation 6",
    within(1e-8, "an iterative eigenvalue never exceeds the true one, up to rounding"),
    id="layers-bound",
    state=ANY_STATE,
)
def kaiming_bound(data: xr.Dataset) -> float:
    r"""The largest eigenvalue of the Gauss-Newton matrix is at most eq. (6) at trained weights.

    Statistic: largest relative excess.
    """
    return worst((data["ggn"] / data["bound"] - 1).clip(min=0))


# Without whitened inputs.


@figure_2.typically(
    texts.OF_RAW,
    reading_of("breaks down"),
    id="theory-breaks-down-on-raw-inputs",
    each=_each_set,
)
def raw_breaks_down(data: xr.Dataset, source: str) -> xr.DataArray:
    """Without whitened inputs the theory breaks down immediately.

    Statistic: relative deviation from eq. (14), mean over the shares. Interval: Student's t over
    replicates.

    Remark: What breaks down is eq. (14), which has white inputs. With the second moments in it the
    formula holds, see {study of Figure 2 (left), beyond its assumption}. If these are near 1, one
    cannot see that the inputs are not whitened.
    """
    raw = _raw(data, source)
    return by_replicate(raw, error(raw, "labels"))


def _raw(data: xr.Dataset, source: str) -> xr.Dataset:
    """The networks on raw inputs of one image set; of one replicate there is no interval."""
    raw = _networks(data, RAW, source)
    needs(len(by(raw, "replicate")) > 1, "this configuration has no networks of two replicates")
    return raw


@on_raw.typically(
    texts.OF_RAW,
    at_most(0.9, "1 is an increase at every step; with so few shares any step down leaves less"),
    id="inconsistent-variations-on-raw-inputs",
    each=_each_set,
)
def raw_inconsistent(data: xr.Dataset, source: str) -> xr.DataArray:
    """Without whitened inputs the sharpness varies inconsistently with the share.

    Statistic: rank correlation of share and sharpness, with one training a share. Interval:
    Student's t over replicates.
    """
    return trends(_raw(data, source))


@figure_2.beyond.typically(
    "section 4, section 5; Figure 2 (left)",
    texts.MOST,
    id="first-layer-has-most-of-the-sharpness",
    each=_each_set,
)
def raw_first_layer(data: xr.Dataset, source: str) -> xr.DataArray:
    r"""Without whitened inputs the geometry of the inputs has a strong influence. Most of the
    sharpness is the first layer's, $μ σ_{\max}^2(W_L … W_2)$, with μ the largest second moment of
    the inputs.

    Statistic: its fraction of the sharpness, mean over the shares. Interval: Student's t over
    replicates.

    Remark: Inputs with a small mean have no dominant second moment.
    """
    raw = _raw(data, source)
    return by_replicate(raw, quotient(raw["first_layer"], raw["ggn"]))


# From Kaiming's initialisation.


@from_kaiming.typically(
    texts.OF_KAIMING, texts.EVERY_STEP, id="kaiming-sharpness-increases", each=_each_set
)
def kaiming_increasing(data: xr.Dataset, source: str) -> xr.DataArray:
    """From Kaiming's initialisation the final sharpness increases with the share.

    Statistic: rank correlation of share and sharpness. Interval: Student's t over replicates.
    """
    return trends(_networks(data, KAIMING, source))


@from_kaiming.typically(
    texts.OF_KAIMING, reading_of("intact"), id="kaiming-predictions-stay-intact"
)
def kaiming_values(data: xr.Dataset) -> xr.DataArray:
    """From Kaiming's initialisation the theoretical predictions stay intact.

    Statistic: relative deviation from eq. (14), median over image sets and shares. It is largest at
    equal shares, which the median leaves out. Interval: Student's t over replicates.
    """
    own = of_case(data, KAIMING)
    return by_replicate(own, error(own, "labels"), "median")


# With Tanh layers: one network a share.


@with_tanh.shown(texts.OF_TANH, texts.EVERY_STEP, id="tanh-sharpness-increases", each=_each_set)
def tanh_increasing(data: xr.Dataset, source: str) -> float:
    """With Tanh layers the sharpness increases with the share, qualitatively as in linear networks.

    Statistic: rank correlation of share and sharpness, of one network a share.
    """
    return float(trends(_networks(data, TANH, source)).mean())


@with_tanh.shown(texts.OF_TANH, reading_of("slightly"), id="tanh-is-slightly-different")
def tanh_values(data: xr.Dataset) -> float:
    """With Tanh layers the sharpness is slightly different from the theory.

    Statistic: median relative deviation from eq. (14) over image sets and shares, of one network a
    share.
    """
    return float(error(trained(of_case(data, TANH)), "labels").median())
