"""What singh2026cracking states about self-attention."""

from hessian_spectra.studies.identities.identities.statements_text import CRACKING, Statement

ATTENTION = {
    "attention-spectrum": Statement(
        "The spectrum is ±γ, each d_K − 1 times, and three outliers; for a batch α, β, γ, ζ are "
        "the means over the sequences.",
        {CRACKING: "Theorem 3.5"},
    ),
    "attention-basis": Statement(
        "The eigenvectors are known as well: those of a 3 × 3 matrix, and for the bulk vectors "
        "orthogonal to w_K ± w_Q.",
        {CRACKING: "Theorem 3.5, beyond its statement"},
        remark="Our addition: the paper gives eigenvalues.",
    ),
    "attention-viete": Statement(
        "The outliers are T/3 + 2√(−p/3) cos(⅓ arccos((3q/2p)√(−3/p)) − 2πk/3), k = 0, 1, 2.",
        {CRACKING: "appendix B.5"},
        remark="With q corrected, and cos where the copy at hand has “cos ζ”.",
    ),
    "attention-cubic": Statement(
        "The outliers are the roots of the displayed third-order polynomial.",
        {CRACKING: "appendix B.5"},
    ),
    "attention-trace": Statement(
        "tr(H) = α + ζ(‖w_K‖² + ‖w_Q‖²), the sum of the three outliers.",
        {CRACKING: "eq. (121)"},
    ),
    "attention-query-key": Statement(
        "The block of queries and keys is a two-layer linear network's: its bulk is ±γ, too.",
        {CRACKING: "Remark B.2"},
    ),
    "attention-without-gamma": Statement(
        "For γ = 0 two outliers solve a quadratic; the third and the bulk are 0.",
        {CRACKING: "Remark B.3"},
    ),
    "attention-outlier-bounds": Statement(
        "T/3 + ξ/2 ≤ largest outlier ≤ T/3 + ξ.",
        {CRACKING: "Remark B.4, eq. (121)"},
        remark="With squared norms in ξ.",
    ),
    "attention-smallest": Statement(
        "|λ_min| ≤ |γ| for d_K ≥ 2: the bulk bounds the smallest absolute eigenvalue.",
        {CRACKING: "section 3.3"},
    ),
    "attention-strong-condition": Statement(
        "κ(H) ≥ (2|T| + 3ξ)/(6|γ|) for d_K ≥ 2 and γ ≠ 0.",
        {CRACKING: "Remark 3.1, stronger"},
        remark="Our addition.",
    ),
    "attention-dominant": Statement(
        "For ζ ≥ 0 the largest eigenvalue is an outlier: it is at least |γ|.",
        {CRACKING: "Remark B.4, beyond its statement"},
        remark="Our addition.",
    ),
    "rowwise-spectrum": Statement(
        "The theorem holds for other twice differentiable activations applied to each row (here "
        "tanh of each score).",
        {CRACKING: "below Theorem 3.5"},
    ),
    "attention-half-width": Statement(
        "The outliers lie within T/3 ± ξ with (ζ‖w_K‖² + ζ‖w_Q‖² + α)² in ξ.",
        {CRACKING: "Theorem 3.5, in three displays"},
        printed="(ζ‖w_K‖ + ζ‖w_Q‖ + α)² in ξ",
        remark="The printed root can even be of a negative number (counted as ξ = 0).",
    ),
    "attention-q": Statement(
        "q = −(2T³ + 9T[(β² − αζ)N + 2γζk + γ²] + 27[2γ(β² − αζ)k − αγ²])/27.",
        {CRACKING: "appendix B.5"},
        printed="without the first brackets: 9T multiplies (β² − αζ)N alone",
    ),
    "attention-display": Statement(
        "The first displayed Hessian is in the order (w_V, w_Q, w_K), in rows and columns.",
        {CRACKING: "appendix B.5, first display"},
        printed="columns labelled ∂w_V, ∂w_K, ∂w_Q",
    ),
    "attention-largest": Statement(
        "λ_max(H) = max(largest outlier, |γ|): the bounds hold with |γ| taken into account.",
        {CRACKING: "Remark B.4"},
        printed="λ_max ≤ T/3 + ξ for the largest Hessian eigenvalue",
        remark="For ζ < 0 the bulk can be larger than all outliers.",
    ),
    "attention-condition": Statement(
        "κ(H) ≥ (2T + 3ξ)/(6|γ|) with squared norms in ξ, for d_K ≥ 2 and γ ≠ 0.",
        {CRACKING: "Remark 3.1"},
        printed="the same with the printed ξ",
        remark=(
            "For weights below 1 norms exceed their squares, and the printed bound is too large."
        ),
    ),
    "attention-monotone": Statement(
        "At fixed ⟨w_K, w_Q⟩ and ζ > 0 the bound of Remark 3.1 grows with ‖w_K‖² + ‖w_Q‖².",
        {CRACKING: "below Remark 3.1"},
        printed="it is monotonic in the magnitude of w_K and w_Q",
        remark="For ζ < 0 it can fall.",
        source="the bound itself, as one weight vector is stretched",
    ),
}
