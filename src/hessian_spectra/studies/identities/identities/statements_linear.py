"""What the papers state about the two-layer linear and ReLU networks."""

from hessian_spectra.studies.identities.identities.statements_text import (
    CLOSED,
    CRACKING,
    POSTER,
    Statement,
)

_OCR = "Possibly a flaw of the copy at hand and not of the paper."

LINEAR = {
    "linear-spectrum": Statement(
        "The 2m eigenvalues of f = ⟨w, v⟩x are ±δx, each m − 1 times, and the two outliers "
        "Λ_{1,2}; any m ≥ 1, any weights and data.",
        {CRACKING: "Theorem 3.1", CLOSED: "Theorem 1", POSTER: "key result, linear network"},
    ),
    "linear-root": Statement(
        "The outliers are T/2 ± ½√(T² + 4(δx² + 2σ²δx⟨w, v⟩)) with T = σ²(‖w‖² + ‖v‖²).",
        {CRACKING: "eq. (1), (33)", CLOSED: "eq. (1), (33)"},
    ),
    "linear-squares": Statement(
        "The root is that of the sum of squares (σ²‖w‖² − σ²‖v‖²)² + 4σ⁴(‖w‖²‖v‖² − ⟨w, v⟩²) + "
        "4(2⟨w, v⟩σ² − yx)².",
        {CRACKING: "eq. (2)"},
    ),
    "linear-trace-form": Statement(
        "The outliers are tr/2 ± √(tr²/4 − λ_1λ_2).",
        {CRACKING: "eq. (122)", CLOSED: "eq. (2)"},
    ),
    "linear-trace": Statement(
        "The outliers sum to the trace, tr(H) = σ²(‖w‖² + ‖v‖²).",
        {CRACKING: "section 4.1, appendix C", CLOSED: "section 1"},
    ),
    "linear-product": Statement(
        "−λ_1λ_2 = (⟨w, v⟩σ² − yx)(3⟨w, v⟩σ² − yx).",
        {CRACKING: "appendix B.1, C", CLOSED: "section 1, appendix A"},
    ),
    "linear-order": Statement(
        "The small outlier never leaves the bulk's range and the large one never enters it: "
        "−|δx| ≤ λ_2 ≤ |δx| ≤ λ_1.",
        {CRACKING: "Theorem 3.1, footnote a"},
        remark="The paper says that it can; by Weyl's inequality it always does.",
    ),
    "linear-gradient": Statement(
        "∇_w ℓ = δx v and ∇_v ℓ = δx w.",
        {CRACKING: "eq. (5), (6)", CLOSED: "eq. (7), (8)"},
    ),
    "linear-hessian": Statement(
        "The Hessian's blocks are σ²vvᵀ, σ²wwᵀ and δx I + σ²vwᵀ.",
        {CRACKING: "eq. (7) to (9)", CLOSED: "eq. (9) to (11)"},
    ),
    "linear-hessian-gradient": Statement(
        "H∇ℓ = (δx T w + δx² v; δx T v + δx² w) with T the trace.",
        {CRACKING: "eq. (12)"},
    ),
    "linear-determinant": Statement(
        "|H − λI| = (λ² − δx²)^{m−1} (λ² − Tλ − (δx² + 2σ²δx⟨w, v⟩)).",
        {CRACKING: "eq. (13) to (32)", CLOSED: "eq. (13) to (32)"},
    ),
    "linear-basis": Statement(
        "The eigenvectors of both theorems, made an orthonormal basis of the whole space, are "
        "eigenvectors of the Hessian, in all edge cases.",
        {CRACKING: "Theorems 3.2, 3.3", CLOSED: "Theorems 2, 3"},
    ),
    "linear-outlier-vector": Statement(
        "z = λ(w; v) + δx(v; w) is an eigenvector for the outlier λ wherever it is not zero.",
        {
            CRACKING: "Theorem 3.2",
            CLOSED: "Theorem 2, eq. (3)",
            POSTER: "eigenvector structure",
        },
    ),
    "linear-gradient-vector": Statement(
        "Where the gradient does not vanish, z = (λ/δx)∇ℓ + δx θ.",
        {CRACKING: "below Theorem 3.2", CLOSED: "below Theorem 2"},
    ),
    "linear-orthogonal-iterates": Statement(
        "The parameters and the gradient are orthogonal to the bulk eigenspace.",
        {CRACKING: "Corollary 3.1"},
    ),
    "linear-constant-bulk": Statement(
        "A step of gradient descent, of any length, leaves the bulk eigenspace as it is.",
        {CRACKING: "Corollary 3.1"},
    ),
    "linear-loss-bound": Statement(
        "|δx| ≤ √(2ℓ)σ, hence λ_min ≥ −√(2ℓ)σ.",
        {CRACKING: "eq. (34)", CLOSED: "eq. (34)"},
    ),
    "linear-rank-one": Statement(
        "At the solution, δx = 0, the Hessian has rank one and λ_1 = tr(H), whatever the loss.",
        {CRACKING: "appendix C", CLOSED: "section 1"},
    ),
    "linear-poster": Statement(
        "The last square under the root is 4(2⟨w, v⟩σ² − yx)².",
        {POSTER: "key result, linear network"},
        printed="4(2⟨w, v⟩ − yx)²",
        remark="The two agree for σ² = 1 only.",
    ),
    "linear-bulk-sign": Statement(
        "z_bulk = (ẑ; sẑ) with s = λ_bulk/δx, and ẑ orthogonal to w + sv.",
        {CRACKING: "Theorem 3.3", CLOSED: "Theorem 3"},
        printed="s = sgn(λ_bulk)",
        remark="The print is right for δx > 0; the proof has the right sign.",
    ),
    "linear-zero-vector": Statement(
        "Where z = 0 (δx = 0; w = ±v; coincident outliers) the eigenvector is another one: a null "
        "vector, or (a; ∓a).",
        {CRACKING: "Theorem 3.2", CLOSED: "Theorem 2"},
        printed="z = λ(w; v) + δx(v; w) for both outliers, without exception",
    ),
    "linear-orthonormal": Statement(
        "The two outlier eigenvectors are orthogonal.",
        {CRACKING: "below Theorem 3.2", CLOSED: "below Theorem 2"},
        printed="They form an orthonormal basis of the span of (w; v) and (v; w)",
        remark="They have to be normalised; the error in print is that of their norms.",
        source="inner product 0, and norm 1",
    ),
    "linear-smallest": Statement(
        "λ_min = −|δx| for m ≥ 2; for m = 1 it is the small outlier.",
        {CRACKING: "below eq. (34)", CLOSED: "below eq. (34)"},
        printed="λ_min = −δx",
    ),
    "linear-display": Statement(
        "The upper right block of the displayed Hessian is σ²wvᵀ + δx I.",
        {CRACKING: "eq. (10), (11)"},
        printed="σ²vvᵀ + δx I",
        remark=f"Eq. (13) and (35) have it right. {_OCR}",
    ),
    "linear-display-2024": Statement(
        "The upper right block of the displayed Hessian is σ²wvᵀ + δx I.",
        {CLOSED: "eq. (12), (13)"},
        printed="σ²vwᵀ + δx I",
        remark="Eq. (45) has it right.",
    ),
    "linear-cubic": Statement(
        "−λ³ + σ²(‖w‖² + ‖v‖²)λ² + (δx² + 2σ²δx⟨w, v⟩)λ = 0.",
        {CRACKING: "eq. (30)", CLOSED: "eq. (30)"},
        printed="… + δx²‖v‖² + δx² … in the place of σ²‖v‖²λ² + δx²λ",
        remark=f"Eq. (31) has it right. {_OCR}",
    ),
    "linear-schur-14": Statement(
        "The Schur complement is σ²wwᵀ − λI − (σ²wvᵀ + δx I) D⁻¹ (σ²vwᵀ + δx I).",
        {CLOSED: "eq. (14)"},
        printed="(σ²vwᵀ + δx I) on both sides of D⁻¹",
    ),
    "linear-schur-16": Statement(
        "The factors around the inverse are σ²wvᵀ + δx I and σ²vwᵀ + δx I.",
        {CLOSED: "eq. (16)"},
        printed="σ²wwᵀ + δx I and σ²vvᵀ + δx I",
        remark=f"Eq. (17) to (19) follow from the right ones. {_OCR}",
    ),
}

RELU = {
    "relu-spectrum": Statement(
        "The spectrum is that of two linear networks, one for each cell: ±(n_±/n)δx_±, and "
        "(n_±/n)Λ_{1,2} of the cell's weights and points; empty cells contribute nothing.",
        {
            CRACKING: "Theorem 3.4",
            CLOSED: "Corollary 5, eq. (43), (44)",
            POSTER: "key result, ReLU network",
        },
    ),
    "relu-blocks": Statement(
        "The Hessian decouples into the cells' Hessians, weighted by their shares of the points.",
        {
            CRACKING: "appendix B.2",
            CLOSED: "Theorem 4, eq. (4)",
            POSTER: "key result, ReLU network",
        },
    ),
    "relu-basis": Statement(
        "The eigenvectors of the linear network carry over, cell by cell, to an orthonormal basis.",
        {CRACKING: "section 3.2, Remark B.1", CLOSED: "section 2"},
    ),
    "relu-largest": Statement(
        "λ_max is the larger of the two cells' large outliers.",
        {CRACKING: "section 3.2"},
    ),
    "relu-outlier-vector": Statement(
        "z_± = λ(w_±; v_±) + (n_±/n)δx_±(v_±; w_±), zero outside the cell.",
        {CRACKING: "eq. (62), (65)", CLOSED: "eq. (64), (65)"},
        printed="δx_± without n_±/n beside a λ with n_±/n",
    ),
    "relu-bulk-vector": Statement(
        "In ẑ = (I − …)c the vector c is zero outside the cell.",
        {CRACKING: "below eq. (64), (67)", CLOSED: "below eq. (64), (65)"},
        printed="for some vector c",
    ),
    "relu-bulk-value": Statement(
        "The bulk eigenvectors belong to ±(n_±/n)δx_±.",
        {CRACKING: "below eq. (64), (67)", CLOSED: "below eq. (64), (65)"},
        printed="λ_bulk = ±δx_±, without n_±/n",
        remark="Theorem 3.4 (2024: Corollary 5) has the factor.",
    ),
    "relu-zero-neuron": Statement(
        "A neuron with v_j = 0 belongs to no cell and contributes two zero eigenvalues.",
        {CRACKING: "section 3.2", CLOSED: "section 2"},
        printed="it belongs to the negative cell, v_j ≤ 0",
        remark=(
            "The loss has no Hessian at v_j = 0; compared is that of automatic differentiation, "
            "with the derivative 0 of the ReLU at 0."
        ),
    ),
}
