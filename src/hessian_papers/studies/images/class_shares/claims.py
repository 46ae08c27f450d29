"""The statements of anon2026data on the sharpness and the largest class (figures 1c and 2)."""

import numpy as np
import xarray as xr

from hessian_papers.ledger.bounds import Estimate, at_least, at_most, mean_of, needs, within
from hessian_papers.ledger.statements import Statements
from hessian_papers.ledger.words import reading_of
from hessian_papers.studies.images.class_shares import texts
from hessian_papers.studies.images.class_shares.derived import (
    by,
    by_subset,
    curves,
    error,
    exponent,
    fitted,
    gauss_newton_error,
    last_defect,
    of_case,
    of_own_size,
    ratios_by_size,
    trained,
    trends,
    trends_of_replicates,
)
from hessian_papers.studies.images.derived import least, quotient, worst

# A swap of two shares in a single training may be chance.
FEWEST = 5
BALANCED = "whitened-balanced-linear"
RAW, KAIMING, TANH = "raw-balanced-linear", "whitened-kaiming-linear", "whitened-balanced-tanh"

statements = Statements()
figure_1c = statements.about("anon2026data", "Figure 1c")
figure_2 = statements.about("anon2026data", "Figure 2")
on_raw = figure_2.having(otherwise=texts.RAW_INPUTS)
from_kaiming = figure_2.having(otherwise=texts.KEEPS_ITS_LAYERS)
with_tanh = figure_2.having(otherwise=texts.SATURATION)


# Eq. (14), and what becomes of it where labels cannot be fitted.


@figure_1c.everywhere("eq. (14)", texts.EXACT, id="sharpness-from-labels-of-trained-networks")
def zero_loss(data: xr.Dataset) -> float:
    r"""Trained on inputs that fit all labels, balanced networks have the sharpness
    $L σ_x^{2/L} α_{\max}^{1-1/L}$, from the labels alone.

    Statistic: largest relative deviation over all networks whose least-squares loss is zero.
    """
    return worst(error(data, "labels").where(fitted(data)))


@figure_1c.everywhere(
    "eq. (14), Figure 1 (right)",
    within(2e-3, texts.TRAINED, source="eq. (9b) at the least-squares solution"),
    id="sharpness-from-what-the-inputs-explain",
)
def least_squares(data: xr.Dataset, printed: bool = False) -> float:
    r"""Trained balanced networks have the sharpness
    $L σ_x^2 (σ_{\max}(Y X^⊤)/(n σ_x^2))^{2(1-1/L)}$, whether or not the inputs fit the labels.

    Statistic: largest relative deviation over all networks.

    In print: $L σ_x^{2/L} α_{\max}^{1-1/L}$ for trained networks at $n = 5000$ ($σ_{\max}(Y)$
    alone)

    Remark: At the end of the epochs a leading mode of the labels had not been learnt yet.
    """
    return worst(error(data, "labels" if printed else "fit"))


@figure_1c.beyond.everywhere(
    "eq. (9b), (14)",
    within(
        0.5,
        "halfway between two orders",
        source="ours: at a solution eigenvalue (i, j) changes by "
        r"$(2/L) Σ_l l δ \log(σ_{li}/σ_{lj})$ of itself, which is 0 for $i = j$; only a "
        "tie lets another pair be the largest",
    ),
    id="order-of-imbalance",
)
def order_of_imbalance(data: xr.Dataset) -> float:
    """A defect of balancedness counts to first order where equal class shares tie the labels'
    singular values, else to second order. This explains the remaining deviation at share 0.1.

    Statistic: ln of the relative deviation from eq. (14) over ln of the defect of balancedness,
    minus 1 for equal shares and minus 2 otherwise. Largest magnitude over the networks whose inputs
    fit all labels.

    Remark: Networks whose training stopped short of the solution deviate for that reason too.
    """
    deviation, defect = error(data, "labels"), last_defect(data)
    known = fitted(data) & (deviation > 0) & (defect > 0)
    logs = (xr.apply_ufunc(np.log, values.where(known)) for values in (deviation, defect))
    tied = xr.apply_ufunc(np.isclose, data["share"] * data["classes"], 1)
    return worst(abs(quotient(*logs) - xr.where(tied, 1, 2)))


@figure_1c.everywhere(
    "Figure 1 (right)",
    reading_of("to the eye"),
    id="trained-networks-lie-on-the-curve",
    otherwise=texts.NOT_FITTED,
)
def on_the_curve(data: xr.Dataset) -> float:
    """Trained balanced networks lie on the curve of eq. (14), to the eye.

    Statistic: largest relative deviation, on subsets of the study's own size.
    """
    return worst(error(of_own_size(data), "labels"))


@figure_1c.typically(
    "section 4; Figure 1 (right)", texts.EVERY_STEP, id="sharper-with-one-large-class"
)
def increasing(data: xr.Dataset) -> float:
    """The model learns a sharper solution if one class has a larger share.

    Statistic: rank correlation of share and sharpness, mean over replicates, for each image set;
    the worst set counts.

    Remark: The part of the labels that the inputs cannot fit outweighs a step in the share.
    """
    return least(trends(data, BALANCED))


# Whether the number of samples matters.


@figure_1c.everywhere(
    "section 4, below eq. (14)",
    within(2e-3, f"independent is exact in the paper, but {texts.TRAINED}"),
    id="sharpness-is-independent-of-samples",
    otherwise=f"{texts.NOT_FITTED} Independent of n it is as long as n is at most the rank of the "
    "inputs; beyond, more samples leave more of the labels unexplained.",
)
def independent_of_samples(data: xr.Dataset) -> float:
    """The sharpness at a balanced solution is independent of the number of samples n.

    Statistic: largest relative change between two n of sharpness over eq. (14), for each image set;
    the worst set counts. Mean over the smallest shares that all n have.
    """
    return worst(means.max() / means.min() - 1 for means in ratios_by_size(data))


@figure_1c.everywhere(
    "section 4, below eq. (14)", texts.EXACT, id="sharpness-does-not-rise-with-samples"
)
def no_rise_with_samples(data: xr.Dataset) -> float:
    """The sharpness does not increase with n, against Cohen et al.'s Figure 18.

    Statistic: largest relative rise of that ratio from one n to the next larger one, over all image
    sets.

    Remark: Subsets of different sizes differ by chance in what their inputs fit.
    """
    return worst(np.concatenate([means[1:] / means[:-1] - 1 for means in ratios_by_size(data)]))


# What of the theory's assumptions holds after training.


@figure_1c.everywhere(
    "eq. (3), Assumption 1",
    within(
        1e-3, f"at the least-squares solution the two are equal whatever the loss; {texts.TRAINED}"
    ),
    id="gauss-newton-part-after-training",
    otherwise=texts.SECOND_DERIVATIVES,
)
@figure_2.everywhere(
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
def stay_balanced(data: xr.Dataset) -> float:
    """Linear networks with balanced layers remain balanced through training.

    Statistic: largest $‖W_l W_l^⊤ - W_{l+1}^⊤ W_{l+1}‖_F$ at the end of training, over the largest
    $‖W_l‖_F^2$.
    """
    return worst(last_defect(data.sel(network=data["case"].str.endswith("-balanced-linear"))))


# Without whitened inputs.


@figure_2.typically(texts.OF_RAW, reading_of("breaks down"), id="theory-breaks-down-on-raw-inputs")
def raw_breaks_down(data: xr.Dataset) -> float:
    """Without whitened inputs the theory breaks down immediately.

    Statistic: largest relative deviation from eq. (14), for each image set; the set where it is
    smallest counts.

    Remark: If the inputs' second moments are near 1, one cannot see that they are not whitened.
    """
    image_sets = by(trained(of_case(data, RAW)), "source").values()
    return least(worst(error(images, "labels")) for images in image_sets)


@on_raw.typically(
    texts.OF_RAW,
    at_most(0.9, "with so few shares, any step down leaves less"),
    id="inconsistent-variations-on-raw-inputs",
)
def raw_inconsistent(data: xr.Dataset) -> Estimate:
    """Without whitened inputs the sharpness varies inconsistently with the share.

    Statistic: rank correlation of share and sharpness, with one training a share, for the image set
    where it is largest. Mean over at least five replicates; interval: Student's t.
    """
    own = trained(of_case(of_own_size(data), RAW))
    each = [trends_of_replicates(images) for images in by(own, "source").values()]
    few = f"this configuration has fewer than {FEWEST} replicates of two shares or more"
    needs(min(map(len, each)) >= FEWEST, few)
    return max(map(mean_of, each))


@on_raw.beyond.typically(
    texts.OF_RAW,
    at_most(0.75, "clearly less than eq. (14) says; the paper gives no number"),
    id="share-matters-less-on-raw-inputs",
)
def raw_share_matters_less(data: xr.Dataset) -> float:
    """Without whitened inputs the sharpness depends less on the share than eq. (14) says.

    Statistic: range over the shares of the logarithm of the mean sharpness, relative to that of eq.
    (14), for each image set; the worst set counts.
    """
    return worst(
        np.ptp(np.log(curve["sharpness"].values)) / np.ptp(np.log(curve["labels"].values))
        for curve in curves(data, RAW)
    )


@figure_2.beyond.typically(
    "section 4, section 5; Figure 2 (left)", texts.MOST, id="first-layer-has-most-of-the-sharpness"
)
def raw_first_layer(data: xr.Dataset) -> float:
    r"""Without whitened inputs the geometry of the inputs has a strong influence. Most of the
    sharpness is the first layer's, $μ σ_{\max}^2(W_L … W_2)$, with μ the largest second moment of
    the inputs.

    Statistic: its smallest fraction of the sharpness.

    Remark: Inputs with a small mean have no dominant second moment.
    """
    raw = of_case(data, RAW)
    return least(quotient(raw["first_layer"], raw["ggn"]))


@figure_2.beyond.typically(
    texts.OF_RAW,
    at_least(10.0, "an order of magnitude", source="ours: why the theory breaks down"),
    id="raw-inputs-are-still-being-learnt",
)
def raw_still_learning(data: xr.Dataset) -> float:
    """Without whitened inputs the paper's training ends far from a solution, where the theory
    applies.

    Statistic: remaining loss above that of least squares, relative to Kaiming networks on the same
    subsets with whitened inputs; the smallest ratio.

    Remark: At large shares training on whitened inputs has not converged either when the epochs
    end. Four layers learn the small singular values of the small classes slowly.
    """
    raw, whitened = by_subset(data, RAW, KAIMING)
    return least(quotient(raw["loss"] - raw["floor"], whitened["loss"] - whitened["floor"]))


# From Kaiming's initialisation.


@from_kaiming.typically(texts.OF_KAIMING, texts.EVERY_STEP, id="kaiming-sharpness-increases")
def kaiming_increasing(data: xr.Dataset) -> float:
    """From Kaiming's initialisation the final sharpness increases with the share.

    Statistic: rank correlation of share and mean sharpness, for each image set; the worst set
    counts.
    """
    return least(trends(data, KAIMING))


@from_kaiming.typically(
    texts.OF_KAIMING, reading_of("intact"), id="kaiming-predictions-stay-intact"
)
def kaiming_values(data: xr.Dataset) -> float:
    """From Kaiming's initialisation the theoretical predictions stay intact.

    Statistic: largest relative deviation from eq. (14).
    """
    return worst(error(of_case(data, KAIMING), "labels"))


@figure_2.beyond.typically(
    texts.OF_KAIMING,
    at_least(
        0.5,
        "gradient flow conserves the difference itself; the norms it is divided by grow "
        "with the labels",
        source="ours: the origin of the excess over eq. (14)",
    ),
    id="kaiming-layers-stay-unbalanced",
)
def kaiming_unbalanced(data: xr.Dataset) -> float:
    """Kaiming's layers are as unbalanced after training as before.

    Statistic: smallest ratio, after over before training, of the defect
    $‖W_l W_l^⊤ - W_{l+1}^⊤ W_{l+1}‖_F$ relative to $‖W_l‖_F^2$.

    Remark: If the norms grow much, the same difference becomes relatively small.
    """
    defect = trained(of_case(data, KAIMING))["defect"]
    return least(quotient(defect.sel(time="end"), defect.sel(time="start")))


@figure_2.identity(
    "eq. (6)",
    within(1e-8, "an iterative eigenvalue never exceeds the true one, up to rounding"),
    id="largest-eigenvalue-is-at-most-equation-6",
)
def kaiming_bound(data: xr.Dataset) -> float:
    r"""The largest eigenvalue of the Gauss-Newton matrix is at most eq. (6),
    $σ_x^2 Σ_l σ_{\max}^2(P_l) σ_{\max}^2(S_l)$, at the trained weights.

    Statistic: largest relative excess.
    """
    return worst((data["ggn"] / data["bound"] - 1).clip(min=0))


# With Tanh layers.


@with_tanh.typically(texts.OF_TANH, texts.EVERY_STEP, id="tanh-sharpness-increases")
def tanh_increasing(data: xr.Dataset) -> float:
    """With Tanh layers the sharpness increases with the share, qualitatively as in linear networks.

    Statistic: rank correlation of share and mean sharpness, for each image set; the worst set
    counts.
    """
    return least(trends(data, TANH))


@with_tanh.typically(texts.OF_TANH, reading_of("slightly"), id="tanh-is-slightly-different")
def tanh_values(data: xr.Dataset) -> float:
    """With Tanh layers the sharpness is slightly different from the theory.

    Statistic: largest relative deviation from eq. (14).
    """
    return worst(error(of_case(data, TANH), "labels"))


@with_tanh.beyond.typically(
    texts.OF_TANH, reading_of("slightly"), id="tanh-against-the-least-squares-solution"
)
def tanh_values_of_least_squares(data: xr.Dataset) -> float:
    r"""With Tanh layers the sharpness is slightly different from eq. (14) at the least-squares
    solution of the same subset, with $σ_{\max}(Y X^⊤)/(\sqrt n σ_x)$ in place of $σ_{\max}(Y)$.

    Statistic: largest relative deviation.
    """
    tanh, linear = by_subset(data, TANH, KAIMING)
    return worst(abs(quotient(tanh["sharpness"], linear["fit"]) - 1))


@with_tanh.typically(texts.OF_TANH, reading_of("similar"), id="tanh-has-a-similar-power")
def tanh_exponent(data: xr.Dataset) -> float:
    """With Tanh layers the sharpness follows a power of the share similar to eq. (14)'s,
    $α^{1-1/L}$.

    Statistic: relative deviation of the exponent, fitted by least squares to the logarithms for
    each image set; the worst set counts.
    """
    return worst(
        abs(exponent(curve["sharpness"]) / exponent(curve["labels"]) - 1)
        for curve in curves(data, TANH)
    )
