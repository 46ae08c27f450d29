"""What anon2026data says of the sharpness and the share of the largest class (figures 1c and 2)."""

from collections.abc import Callable
from functools import partial
from typing import Any

from hessian_spectra.ledger.vocabulary import Claim
from hessian_spectra.studies.images.class_shares import reading as measures

TEST = "tests/claims/test_class_shares_claims.py::"
PAPER = "anon2026data"
BALANCED = "whitened-balanced-linear"
RAW, KAIMING, TANH = "raw-balanced-linear", "whitened-kaiming-linear", "whitened-balanced-tanh"

OF_EACH = "of each image set; the worst set counts"
TRAINED = (
    "training stops by the halving rule or after its epochs, and its steps leave layers balanced "
    "to about 1e-3 only; that counts to first order where equal shares make singular values tie, "
    "else to second"
)
EVERY_STEP = "1 is an increase at every step; the paper's plots show nothing less"
NOT_FITTED = (
    "A linear map fits labels only as far as the inputs span them. Where more samples than inputs "
    "leave a loss, the balanced solution has σ_max(Y Xᵀ)/(√n σ_x) in place of σ_max(Y), and is "
    "flatter by as much. With equal shares that is little: the sum of all classes' labels, which "
    "is constant and easily fitted, is then a leading direction. Just above, where the largest "
    "class has to be told from the others, it is most, and less again as that class is nearly all."
)
KEEPS_ITS_LAYERS = (
    "Gradient flow conserves W_l W_lᵀ − W_{l+1}ᵀ W_{l+1}, so that layers drawn independently stay "
    "unaligned. Their product solves the same least-squares problem, but to the largest "
    "eigenvalue each layer also brings singular values that it was drawn with. That adds most "
    "where the labels ask for little, at small shares, and flattens the increase; eq. (6) with the "
    "trained weights bounds the result."
)
SATURATION = (
    "Tanh bends what a linear layer would pass on: derivatives are at most 1, which lowers the "
    "curvature of large signals, at large shares; where the labels ask for little, what lowers "
    "the loss beyond a linear fit raises it. Layers do not stay balanced either."
)
RAW_INPUTS = (
    "With raw inputs the scale of the curvature is the largest second moment of the inputs, that "
    "along their mean image, and directions of small moments are hardly learnt in the paper's "
    "10,000 epochs: the network is on its way, not at a solution. The sharpness then depends on "
    "the image set and on how far training came more than on the labels. On CIFAR-10 it comes to "
    "2/0.01 = 200, the edge of stability, where the loss stops improving steadily and the halving "
    "rule ends the training."
)


def _claim(
    study: str, name: str, statement: str, measure: Callable[..., float], **of: Any
) -> Claim:
    return Claim(
        id=f"{study}/{name}", paper=PAPER, study=study, statement=statement, measure=measure, **of
    )


def _formulas(study: str) -> list[Claim]:
    """Eq. (14), and what becomes of it where labels cannot be fitted."""
    return [
        _claim(
            study,
            "zero-loss",
            "Trained on inputs that fit all labels, balanced networks have the sharpness "
            "L σ_x^{2/L} α_max^{1−1/L}, from the labels alone. Statistic: largest relative "
            "deviation of all networks whose least-squares loss is zero",
            measures.of_fitted,
            kind="value",
            location="eq. (14)",
            test=f"{TEST}test_deviations_from_the_formulas",
            tolerance=2e-3,
            reason=TRAINED,
        ),
        _claim(
            study,
            "least-squares",
            "Trained balanced networks have the sharpness "
            "L σ_x² (σ_max(Y Xᵀ)/(n σ_x²))^{2(1−1/L)}, whether or not the inputs fit the labels. "
            "Statistic: largest relative deviation of all networks",
            partial(measures.of_all, formula="fit"),
            kind="value",
            location="eq. (14), Figure 1 (right)",
            test=f"{TEST}test_deviations_from_the_formulas",
            source="eq. (9b) at the least-squares solution",
            tolerance=2e-3,
            reason=TRAINED,
            printed="L σ_x^{2/L} α_max^{1−1/L} for trained networks at n = 5000 (σ_max(Y) alone)",
            measure_printed=partial(measures.of_all, formula="labels"),
            explanation="At the end of the epochs a leading mode of the labels was not learnt yet.",
        ),
        _claim(
            study,
            "on-the-curve",
            "Trained balanced networks lie on the curve of eq. (14), to the eye. Statistic: "
            "largest relative deviation on subsets of the study's own size",
            measures.of_main,
            kind="value",
            location="Figure 1 (right)",
            test=f"{TEST}test_deviations_from_the_formulas",
            tolerance=0.05,
            reason="a twentieth is what the eye would notice in the figure",
            explanation=NOT_FITTED,
        ),
        _claim(
            study,
            "increasing",
            "The model learns a sharper solution if one class has a larger share. Statistic: rank "
            f"correlation of share and mean sharpness over replicates {OF_EACH}",
            partial(measures.trend, case=BALANCED),
            kind="trend",
            location="section 4; Figure 1 (right)",
            test=f"{TEST}test_trends_are_found_and_missed",
            expected=1.0,
            relation=">=",
            reason=EVERY_STEP,
            explanation="What the inputs cannot fit of the labels outweighs a step of the share.",
        ),
    ]


def _sizes(study: str) -> list[Claim]:
    """Whether the number of samples matters."""
    test = f"{TEST}test_the_number_of_samples"
    return [
        _claim(
            study,
            "independent-of-samples",
            "The sharpness at a balanced solution is independent of the number of samples n. "
            "Statistic: largest relative change between two n of sharpness over eq. (14), mean "
            f"over the smallest shares that all n have, {OF_EACH}",
            measures.change_with_size,
            kind="value",
            location="section 4, below eq. (14)",
            test=test,
            tolerance=2e-3,
            reason=f"independent is exact in the paper, but {TRAINED}",
            explanation=NOT_FITTED
            + " Independent of n it is as long as n is at most the rank of the inputs; beyond, "
            "more samples leave more of the labels unexplained.",
        ),
        _claim(
            study,
            "no-rise-with-samples",
            "The sharpness does not increase with n, against Cohen et al.'s Figure 18. Statistic: "
            "largest relative rise of the same from one n to the next larger one, "
            "of all image sets",
            measures.rise_with_size,
            kind="trend",
            location="section 4, below eq. (14)",
            test=test,
            tolerance=2e-3,
            reason=TRAINED,
            explanation="Subsets of different sizes differ in what their inputs fit by chance.",
        ),
    ]


def _assumptions(study: str, gauss_newton: float, reason: str) -> list[Claim]:
    """What of the theory's assumptions holds after training."""
    return [
        _claim(
            study,
            "gauss-newton",
            "After training the largest eigenvalue of the Hessian is that of its Gauss-Newton "
            "approximation, although the loss is not near zero. Statistic: largest relative "
            "difference of all networks",
            measures.gauss_newton,
            kind="value",
            location="eq. (3), Assumption 1",
            test=f"{TEST}test_assumptions",
            tolerance=gauss_newton,
            reason=reason,
            explanation="A residual that the inputs could still explain adds to the Hessian.",
        ),
        _claim(
            study,
            "stay-balanced",
            "Linear networks with balanced layers remain balanced through training. Statistic: "
            "largest ‖W_l W_lᵀ − W_{l+1}ᵀ W_{l+1}‖_F at its end, over the largest ‖W_l‖_F²",
            measures.unbalance,
            kind="value",
            location="section 3, below Assumption 3",
            test=f"{TEST}test_assumptions",
            tolerance=0.01,
            reason="exact for gradient flow; steps of a finite rate, 0.01, leave about as much",
            explanation="Steps near the edge of stability are far from gradient flow.",
        ),
    ]


def _raw(study: str) -> list[Claim]:
    location, test = "section 5; Figure 2 (left)", f"{TEST}test_raw_inputs"
    return [
        _claim(
            study,
            "raw-breaks-down",
            "Without whitened inputs the theory breaks down immediately. Statistic: largest "
            f"relative deviation from eq. (14) {OF_EACH}",
            partial(measures.least_of_sources, case=RAW),
            kind="value",
            location=location,
            test=test,
            expected=1.0,
            relation=">=",
            reason="we take a factor of 2 for a breakdown; the paper gives no number",
            explanation="Moments of the inputs near 1 would hide that they are not whitened.",
        ),
        _claim(
            study,
            "raw-inconsistent",
            "Without whitened inputs the sharpness has inconsistent variations with the share. "
            f"Statistic: rank correlation of share and mean sharpness {OF_EACH}",
            partial(measures.trend, case=RAW),
            kind="trend",
            location=location,
            test=test,
            expected=0.9,
            relation="<=",
            reason="the shares are so few that any step down leaves less",
            explanation=RAW_INPUTS,
        ),
        _claim(
            study,
            "raw-share-matters-less",
            "Without whitened inputs the sharpness depends on the share less than eq. (14) says. "
            "Statistic: range of the log of the mean sharpness over the shares, relative to that "
            f"of eq. (14), {OF_EACH}",
            partial(measures.variation, case=RAW),
            kind="value",
            location=location,
            test=test,
            expected=0.75,
            relation="<=",
            reason="clearly less than eq. (14) says; the paper gives no number",
            explanation=RAW_INPUTS,
        ),
        _claim(
            study,
            "raw-first-layer",
            "Without whitened inputs the geometry of the inputs has a strong influence: most of "
            "the sharpness is μ σ_max²(W_L ... W_2), the first layer's, with μ the largest second "
            "moment of the inputs. Statistic: its part in the sharpness, the smallest",
            partial(measures.first_layer_part, case=RAW),
            kind="value",
            location="section 4, section 5; Figure 2 (left)",
            test=test,
            source="ours: what the sharpness depends on, if not on the labels alone",
            expected=0.5,
            relation=">=",
            reason="most is more than half; with whitened inputs each of the L layers has 1/L",
            explanation="Inputs with a small mean have no moment that stands out.",
        ),
        _claim(
            study,
            "raw-still-learning",
            "Without whitened inputs the paper's training ends far from a solution, which the "
            "theory is about. Statistic: what is left of the loss above that of least squares, "
            "relative to Kaiming networks on the same subsets with whitened inputs; the smallest",
            partial(measures.excess_loss, case=RAW, other=KAIMING),
            kind="value",
            location=location,
            test=test,
            source="ours: why the theory breaks down",
            expected=10.0,
            relation=">=",
            reason="an order of magnitude",
            explanation="At large shares networks on whitened inputs have not converged either "
            "when the epochs end: labels of the small classes ask for small singular values, which "
            "four layers learn slowly.",
        ),
    ]


def _kaiming(study: str) -> list[Claim]:
    location = "section 5; Figure 2 (middle)"
    return [
        _claim(
            study,
            "kaiming-increasing",
            "From Kaiming's initialisation the final sharpness increases with the share. "
            f"Statistic: rank correlation of share and mean sharpness {OF_EACH}",
            partial(measures.trend, case=KAIMING),
            kind="trend",
            location=location,
            test=f"{TEST}test_trends_are_found_and_missed",
            expected=1.0,
            relation=">=",
            reason=EVERY_STEP,
            explanation=KEEPS_ITS_LAYERS,
        ),
        _claim(
            study,
            "kaiming-values",
            "From Kaiming's initialisation the theoretical predictions stay intact. Statistic: "
            "largest relative deviation from eq. (14)",
            partial(measures.of_case, case=KAIMING),
            kind="value",
            location=location,
            test=f"{TEST}test_deviations_from_the_formulas",
            tolerance=0.1,
            reason="a tenth would be called intact; the paper gives no number",
            explanation=KEEPS_ITS_LAYERS,
        ),
        _claim(
            study,
            "kaiming-unbalanced",
            "Kaiming's layers are as unbalanced after training as before. Statistic: smallest "
            "ratio of the two defects ‖W_l W_lᵀ − W_{l+1}ᵀ W_{l+1}‖_F, relative to ‖W_l‖_F²",
            partial(measures.kept_unbalance, case=KAIMING),
            kind="value",
            location=location,
            test=f"{TEST}test_assumptions",
            source="ours: what the excess over eq. (14) comes from",
            expected=0.5,
            relation=">=",
            reason="gradient flow conserves the difference itself; norms that it is relative to "
            "grow with the labels",
            explanation="Norms that grow much make the same difference relatively small.",
        ),
        _claim(
            study,
            "kaiming-bound",
            "The largest eigenvalue of the Gauss-Newton matrix is at most eq. (6), "
            "σ_x² Σ_l σ_max²(P_l) σ_max²(S_l), at the trained weights. Statistic: largest "
            "relative excess",
            measures.bound_violation,
            kind="identity",
            location="eq. (6)",
            test=f"{TEST}test_assumptions",
            tolerance=1e-8,
            reason="an iterative eigenvalue never exceeds the true one, but for rounding",
        ),
    ]


def _tanh(study: str) -> list[Claim]:
    location = "section 5; Figure 2 (right)"
    return [
        _claim(
            study,
            "tanh-increasing",
            "With Tanh layers the sharpness increases with the share, qualitatively as in linear "
            f"networks. Statistic: rank correlation of share and mean sharpness {OF_EACH}",
            partial(measures.trend, case=TANH),
            kind="trend",
            location=location,
            test=f"{TEST}test_trends_are_found_and_missed",
            expected=1.0,
            relation=">=",
            reason=EVERY_STEP,
            explanation=SATURATION,
        ),
        _claim(
            study,
            "tanh-values",
            "With Tanh layers the sharpness is slightly different from the theory. Statistic: "
            "largest relative deviation from eq. (14)",
            partial(measures.of_case, case=TANH),
            kind="value",
            location=location,
            test=f"{TEST}test_deviations_from_the_formulas",
            tolerance=0.2,
            reason="a fifth would be called slight; the paper gives no number",
            explanation=SATURATION,
        ),
        _claim(
            study,
            "tanh-exponent",
            "With Tanh layers the sharpness follows a power of the share similar to eq. (14)'s, "
            "α^{1−1/L}. Statistic: relative deviation of the exponent, fitted by least squares to "
            f"the logarithms {OF_EACH}",
            partial(measures.exponent_gap, case=TANH),
            kind="value",
            location=location,
            test=f"{TEST}test_exponents",
            tolerance=0.25,
            reason="a quarter would be called similar; the paper gives no number",
            explanation=SATURATION,
        ),
    ]


def claims(study: str) -> list[Claim]:
    """The claims that a study of this kind measures; none for one that is no figure of the paper.

    Example:
        >>> claims("a-study-of-my-own")
        []
    """
    if study == "data-fig1c":
        reason = "at the least-squares solution the two are equal whatever the loss; " + TRAINED
        return _formulas(study) + _sizes(study) + _assumptions(study, 1e-3, reason)
    if study == "data-fig2":
        reason = "what Tanh adds through its own second derivatives and the loss that is left"
        return _assumptions(study, 0.02, reason) + _raw(study) + _kaiming(study) + _tanh(study)
    return []
