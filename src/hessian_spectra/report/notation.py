"""The papers' symbols beside ours, as data.

The cells use the marks of :func:`hessian_spectra.report.html.formula`: ``_{}`` and ``^{}`` for
indices, ``~{}`` for a bar, ``!{}`` for bold, a backtick with braces for code. An empty cell means
that the paper does not use the quantity.
"""

from typing import NamedTuple


class Symbol(NamedTuple):
    """One quantity, as we and the papers write it."""

    meaning: str
    ours: str
    closed: str
    poster: str
    cracking: str


class Ambiguity(NamedTuple):
    """One symbol that stands for several things."""

    symbol: str
    meanings: tuple[str, ...]
    ours: str


# Group title -> its quantities.
SYMBOLS: dict[str, tuple[Symbol, ...]] = {
    "Data and loss": (
        Symbol("inputs", "`{x}", "x_{i}", "x_{i}", "x_{i}; a sequence: !{x}"),
        Symbol("targets", "`{y}", "y_{i}", "y_{i}", "y_{i}; a sequence: !{y}"),
        Symbol("number of samples", "n: the length of `{x}", "n", "n", "n"),
        Symbol("number of inputs", "D: columns of `{x}", "d and D (section 3)", "", "D, index d"),
        Symbol("number of outputs", "K: columns of `{y}", "", "", "K, index k"),
        Symbol(
            "length of a sequence",
            "`{length}: columns of `{x}",
            "",
            "",
            "n in section 3.3, L in appendix B.5",
        ),
        Symbol("number of sequences", "`{batch}: rows of `{x}", "", "", "“batch”, in D.1.1"),
        Symbol(
            "second moment of the inputs, not centred",
            "`{second_moment} = mean(x²)",
            "σ²",
            "σ²",
            "σ_{x}²; σ² in appendix B.4.2",
        ),
        Symbol("second moment of input d", "diagonal of Σ", "", "", "σ_{d}²"),
        Symbol("second moments between inputs", "Σ = mean(!{x}!{x}^{⊤})", "", "", "σ_{ij}"),
        Symbol(
            "covariance of inputs and targets, not centred",
            "mean(y x)",
            "~{yx}",
            "~{yx}",
            "~{yx}; ~{y_{k}x} for output k",
        ),
        Symbol("mean of the inputs", "mean(x)", "μ (appendix)", "", "μ (appendix)"),
        Symbol("residual", "f(x) − y", "δ_{i}", "δ_{i}", "δ_{i}; a sequence: δ_{!{x},!{y}}"),
        Symbol(
            "covariance of residuals and inputs, not centred",
            "`{residual_covariance} = mean(x (f(x) − y))",
            "~{δx}; ~{xδ}_{+} in section 2",
            "~{xδ} and ~{δx}",
            "~{δx}; ~{xδ}_{+} in section 3.2; ~{δx_{d}}, ~{δ_{k}x}",
        ),
        Symbol(
            "its square: the bar is taken first",
            "`{residual_covariance}**2",
            "~{δx}², in section 3 printed ~{δx²}",
            "",
            "~{δx}², in appendix B.3 printed ~{δx²}",
        ),
        Symbol("mean residual", "mean(f(x) − y)", "~{δ} (section 3)", "", "~{δ} (appendix B.3)"),
        Symbol(
            "solution of the linear regression",
            "θ* = mean(y x) / mean(x²)",
            "θ*",
            "",
            "θ* (appendix C)",
        ),
        Symbol(
            "loss", "1/(2n) Σ (f − y)²", "ℓ; L in !{H}_{L}", "L in !{H}_{L}", "ℓ; L in !{H}_{L}"
        ),
    ),
    "Networks": (
        Symbol("first layer, scalar input", "`{v}", "!{v}", "!{v}", "!{v}"),
        Symbol("second layer", "`{w}", "!{w}", "!{w}", "!{w}"),
        Symbol("number of hidden units", "m, `{width}", "m", "m", "m"),
        Symbol(
            "parameters in their order",
            "(v, w)",
            "θ = (!{v}^{⊤}, !{w}^{⊤})^{⊤}",
            "",
            "θ = (!{v}^{⊤}, !{w}^{⊤})^{⊤}",
        ),
        Symbol("first layer, several inputs", "`{V}, (m, D)", "", "", "!{V}"),
        Symbol("biases of the first layer", "`{b}", "!{b}", "", "!{b}"),
        Symbol("hidden units with v_{j} > 0", "`{positive_units}", "q", "", "q"),
        Symbol(
            "samples with x > 0, with x ≤ 0",
            "counts of a cell",
            "n_{+}, n_{−}",
            "n_{+}, n_{−}",
            "n_{+}, n_{−}",
        ),
        Symbol(
            "weights of a ReLU cell",
            "rows of cell `{+} or `{-}",
            "!{w}_{±}, !{v}_{±}",
            "",
            "!{w}_{±}, !{v}_{±}",
        ),
        Symbol(
            "second moment in a ReLU cell",
            "mean over all samples, (n_{±}/n) σ_{±}²",
            "σ_{±}²",
            "",
            "σ_{x±}²",
        ),
    ),
    "Self-attention": (
        Symbol("value weight", "`{w_value}", "", "", "w_{V}"),
        Symbol("query weights", "`{w_query}", "", "", "!{w}_{Q}"),
        Symbol("key weights", "`{w_key}", "", "", "!{w}_{K}"),
        Symbol("number of query (and key) weights", "d: length of `{w_key}", "", "", "d_{K}"),
        Symbol(
            "attention matrix",
            "softmax(x_{i} x_{j} ⟨w_{Q}, w_{K}⟩ / √d)",
            "",
            "",
            "!{A}(!{x})",
        ),
        Symbol("attention-weighted mean of the tokens", "m_{1} = A x", "", "", "!{m}_{1}"),
        Symbol("second central moment under the attention", "m_{2}", "", "", "!{m}_{2}"),
        Symbol("third central moment under the attention", "m_{3}", "", "", "!{m}_{3}"),
        Symbol("entry of the value weight", "α = ‖m_{1}‖² / length", "", "", "α"),
        Symbol(
            "value weight against queries and keys",
            "β = (w_{V} m_{1} + δ)^{⊤}(x ⊙ m_{2}) / (length √d)",
            "",
            "",
            "β",
        ),
        Symbol(
            "bulk eigenvalue, queries against keys",
            "γ = w_{V} δ^{⊤}(x ⊙ m_{2}) / (length √d)",
            "",
            "",
            "γ",
        ),
        Symbol(
            "weight of the query-key block",
            "ζ = (w_{V}² ‖x ⊙ m_{2}‖² + w_{V} δ^{⊤}(x ⊙ x ⊙ m_{3})) / (length d)",
            "",
            "",
            "ζ",
        ),
        Symbol(
            "half-width of the interval of the three outliers",
            "ξ = 2 √(−p/3), with squared norms",
            "",
            "",
            "ξ (printed with norms that are not squared)",
        ),
    ),
    "Spectrum": (
        Symbol("Hessian of the loss", "H", "!{H}_{L}", "!{H}_{L}", "!{H}_{L}"),
        Symbol(
            "bulk eigenvalues",
            '`{spectrum.select("bulk")}',
            "λ_{bulk}",
            "λ_{bulk}",
            "λ_{bulk}, λ^{±}_{bulk}",
        ),
        Symbol(
            "outlier eigenvalues",
            '`{spectrum.select("outlier")}',
            "λ_{outlier 1,2}; λ_{1,2}",
            "λ_{outlier}",
            "λ_{outlier 1,2}, λ^{±}_{outlier 1,2}; three in self-attention; λ_{1,2} in appendix C",
        ),
        Symbol(
            "the outlier pair as a function",
            "`{closed_form.outlier_pair}",
            "",
            "",
            "Λ_{1,2}(‖!{w}‖², ‖!{v}‖², ⟨!{w}, !{v}⟩, σ_{x}², ~{δx})",
        ),
        Symbol(
            "largest eigenvalue, sharpness",
            "`{spectrum.eigenvalues[-1]}",
            "top eigenvalue, sharpness",
            "λ_{max}(!{H}), sharpness",
            "λ_{max}, sharpness: the largest in magnitude",
        ),
        Symbol(
            "smallest eigenvalue",
            "`{spectrum.eigenvalues[0]}",
            "λ_{min}: the most negative",
            "",
            "λ_{min}: in appendix B.1 the most negative, in Remark 3.1 the smallest in magnitude",
        ),
        Symbol(
            "depressed cubic t³ + pt + q of three outliers: bias, self-attention",
            "eigenvalues of a 3 × 3 matrix instead",
            "p, q, t_{k}; |t_{k}| ≤ t′",
            "",
            "p, q, t_{k}, |t_{k}| ≤ t′ (appendix B.3); p, q, λ̃_{k}, |λ̃_{k}| ≤ ξ (appendix B.5)",
        ),
        Symbol("number of parameters", "p", "p (appendix)", "", "p"),
        Symbol("trace", "tr H", "Tr(!{H}_{L})", "", "tr(!{H}_{L})"),
        Symbol(
            "outlier eigenvectors",
            "columns of `{spectrum.eigenvectors()}, normalised",
            "!{z}_{outlier}",
            "!{z}_{outlier}",
            "!{z}_{outlier}",
        ),
        Symbol(
            "bulk eigenvectors",
            "columns of `{spectrum.eigenvectors()}, normalised",
            "!{z}_{bulk}, halves ẑ_{bulk}",
            "",
            "!{z}_{bulk}, halves ẑ_{bulk}",
        ),
        Symbol("condition number", "|λ_{max}| / |λ_{min}|", "", "", "κ(!{H}_{L})"),
        Symbol("threshold of stability", "2 / learning rate", "", "2/η", "2/η"),
    ),
}

AMBIGUITIES: tuple[Ambiguity, ...] = (
    Ambiguity(
        "n",
        (
            "the number of samples (all papers)",
            "the length of a sequence (singh2026cracking, section 3.3)",
        ),
        "n for samples only; `{length} for sequences",
    ),
    Ambiguity(
        "L",
        (
            "the loss, in !{H}_{L}",
            "the length of a sequence (singh2026cracking, appendix B.5)",
        ),
        "`{length} for sequences; H without an index",
    ),
    Ambiguity(
        "σ",
        (
            "the standard deviation of the inputs, not centred (singh2024closed, poster)",
            "the activation function in f(x) = ⟨!{w}, σ(!{v}x)⟩ (poster)",
        ),
        "`{second_moment} is the square of the first; the activation is always named",
    ),
    Ambiguity(
        "m",
        (
            "the number of hidden units",
            "in bold and with an index, !{m}_{1}, !{m}_{2}, !{m}_{3}: moments under the attention",
        ),
        "m for hidden units only",
    ),
    Ambiguity(
        "K",
        (
            "the number of outputs",
            "as an index, the key weights: !{w}_{K}, d_{K} (singh2026cracking)",
        ),
        "`{w_key} for the key weights",
    ),
    Ambiguity(
        "V",
        (
            "the first layer for several inputs",
            "as an index, the value weight: w_{V} (singh2026cracking)",
        ),
        "`{w_value} for the value weight",
    ),
    Ambiguity(
        "!{w}, !{v}",
        (
            "the two layers",
            "auxiliary vectors of the proof in appendix B.5: !{w} := λ!{w}_{Q} + t!{w}_{K}, "
            "where t is printed for γ",
        ),
        "the two layers only",
    ),
    Ambiguity(
        "!{z}",
        (
            "an eigenvector",
            "an auxiliary vector of the proof of Theorem 3.1, λ!{w} + ~{δx}!{v}",
            "!{z}_{1}, !{z}_{2}: derivatives of the softmax (singh2026cracking, appendix B.5)",
        ),
        "eigenvectors are columns of `{eigenvectors()}",
    ),
    Ambiguity(
        "q",
        (
            "the number of hidden units with v_{j} > 0",
            "the constant term of a depressed cubic (bias and self-attention)",
        ),
        "`{positive_units} for the first",
    ),
    Ambiguity(
        "p",
        (
            "the number of parameters",
            "the linear coefficient of a depressed cubic (bias and self-attention)",
        ),
        "p for parameters only",
    ),
    Ambiguity(
        "κ",
        (
            "the condition number (singh2026cracking, Remark 3.1)",
            "the width of the Lanczos kernel (Figure 6)",
        ),
        "written out",
    ),
    Ambiguity(
        "D",
        (
            "the number of inputs",
            "a block of a matrix, in bold, or a coefficient, among A to E in proofs",
        ),
        "D for inputs only",
    ),
    Ambiguity(
        "α",
        (
            "the first entry of the self-attention Hessian (section 3.3)",
            "in bold, the regression coefficients !{α}^{⊤}!{x} (appendix B.4.1)",
            "a free scale of eigenvectors (singh2024closed, appendix C)",
        ),
        "as in section 3.3",
    ),
    Ambiguity(
        "λ_{min}",
        (
            "the most negative eigenvalue (eq. 34)",
            "the eigenvalue that is smallest in magnitude (Remark 3.1)",
        ),
        "`{eigenvalues[0]} is the most negative",
    ),
)
