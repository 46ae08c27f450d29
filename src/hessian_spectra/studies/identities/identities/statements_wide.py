"""What the papers state about several inputs and outputs, and about pairs of weight matrices."""

from hessian_spectra.studies.identities.identities.statements_text import (
    CLOSED,
    CRACKING,
    Statement,
)

WIDE = {
    "multi-input-spectrum": Statement(
        "For decorrelated inputs the spectrum is the union of those of the coordinates: ±δx_d, "
        "each m − 1 times, and a pair for each.",
        {CRACKING: "Corollary B.1"},
    ),
    "multi-input-decoupled": Statement(
        "Each coordinate's pair is that of a network with this input alone, with σ_d² and yx_d.",
        {CRACKING: "eq. (112), (113)"},
    ),
    "diagonal-networks": Statement(
        "Diagonal linear networks are the case m = 1, without a bulk.",
        {CRACKING: "appendix B.4.1"},
    ),
    "mixture": Statement(
        "For m > 1 the network is a mixture of m diagonal ones, f(x) = Σ_i ⟨β^(i), x⟩.",
        {CRACKING: "eq. (114)"},
        source="the network's outputs",
    ),
    "correlated-spectrum": Statement(
        "For correlated inputs the bulk stays ±δx_d with δx = Σα − E[yx], and the 2D outliers are "
        "the eigenvalues of a 2D × 2D matrix: diag(δx_d, −δx_d) plus Σ_{de}u_d u_eᵀ, u_d = (‖w_d + "
        "v_d‖, ‖w_d − v_d‖)/√2.",
        {CRACKING: "Corollary B.1, beyond its assumption"},
        remark="Our addition.",
    ),
    "multi-output-spectrum": Statement(
        "The spectrum is the union of those of the heads: ±δ_k x, each m − 1 times, and a pair for "
        "each.",
        {CRACKING: "Corollary B.2"},
    ),
    "multi-output-basis": Statement(
        "The heads' eigenvectors make an orthonormal basis.",
        {CRACKING: "Corollaries B.2, B.3"},
    ),
    "multi-output-vector": Statement(
        "z^k = λ(0; w_k; v_k; 0) + δ_k x(0; v_k; w_k; 0), in the group order (v_k, w_k).",
        {CRACKING: "Corollary B.3, eq. (119)"},
    ),
    "multi-output-display": Statement(
        "The displayed block of head k is in the order (v_k, w_k).",
        {CRACKING: "eq. (116)"},
        printed="rows labelled ∂/∂w_k, ∂/∂v_k",
    ),
    "orthogonal-spectrum": Statement(
        "For VᵀV = ν²I, E[xxᵀ] = I and E[yx] = 0 the spectrum of f = wᵀVx is a pair, a triple "
        "(D − 1 times), ±ρ (m − D times each) and 0 ((D − 1)(m − 1) times), ρ = ‖Vᵀw‖.",
        {CRACKING: "section 4.1", CLOSED: "section 3"},
        remark="Our addition: it contains Theorems 3.1 (D = 1) and B.1 (D = 2).",
    ),
    "orthogonal-plain": Statement(
        "Without bias, for σ² = 1 and E[yx] = 0, the pair is S/2 ± ½√(S² + 12δx²).",
        {CRACKING: "eq. (106)", CLOSED: "eq. (6), (103)"},
    ),
    "orthogonal-pair": Statement(
        "Two outliers sum to tr(H)/D exactly, for every D.",
        {CRACKING: "section 4.1, hypothesis", CLOSED: "section 3, conjecture"},
        remark=(
            "A conjecture of the papers, proved for an orthogonal first layer, whitened inputs and "
            "E[yx] = 0."
        ),
    ),
    "matrices-blocks": Statement(
        "The diagonal blocks are W_2ᵀW_2 ⊗ Σ and I ⊗ W_1ΣW_1ᵀ, for weights flattened by rows.",
        {CRACKING: "appendices D.3.3, D.4"},
    ),
    "matrices-trace": Statement(
        "tr(H) = tr(Σ)‖W_2‖_F² + K tr(W_1ΣW_1ᵀ) for any inputs, at any loss.",
        {CRACKING: "appendix D.4, beyond its assumption"},
        remark="Our addition.",
    ),
    "matrices-frobenius": Statement(
        "For whitened inputs and K = D the trace is D(‖W_1‖_F² + ‖W_2‖_F²).",
        {CRACKING: "appendix D.4"},
        remark="The paper has ≃; for Σ = I it is exact.",
    ),
    "matrices-lower-bound": Statement(
        "For whitened inputs λ_max(H) ≥ max(‖W_1‖_2², ‖W_2‖_2²), at any loss.",
        {CRACKING: "appendix D.3.3"},
    ),
    "matrices-ggn": Statement(
        "For whitened inputs the largest eigenvalue of the GGN is ‖W_1‖_2² + ‖W_2‖_2².",
        {CRACKING: "appendix D.3.3, exact value"},
        remark="From anon2026data, eq. (10).",
    ),
    "matrices-sharpness": Statement(
        "For whitened inputs and zero loss λ_max(H) = ‖W_1‖_2² + ‖W_2‖_2².",
        {CRACKING: "appendix D.3.3"},
        printed="λ_max(H) = max(‖W_1‖_2², ‖W_2‖_2²) if the Hessian is block-diagonal",
        remark=(
            "The Hessian of a two-layer network is not block-diagonal at zero loss, so the printed "
            "value is a lower bound only. The second square in σ_max²(W_1)² is a misprint."
        ),
    ),
}
