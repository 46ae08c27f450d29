"""What anon2026data states about deep linear networks, and what is wrong there in print."""

from hessian_spectra.studies.identities.identities.statements_text import DATA, Statement

_GGN = "brute force: the Gauss-Newton matrix of the network, by automatic differentiation"
_STATED = "the recipe's own purpose; no brute force is needed"

_LAYERS = {
    "layers-jacobian": Statement(
        "J_l = (P_l X)ᵀ ⊗ S_l, for weights and outputs stacked column by column.",
        {DATA: "Equation 4"},
        source="the derivative of all outputs along a random direction, by automatic "
        "differentiation",
    ),
    "layers-kernel": Statement(
        "JJᵀ/n = Σ_l (XᵀP_lᵀP_l X/n) ⊗ (S_l S_lᵀ), which shares its non-zero eigenvalues with the "
        "Gauss-Newton matrix, for any widths, depth and inputs.",
        {DATA: "Equation 5"},
        source=_GGN,
    ),
    "layers-bound": Statement(
        "For whitened inputs λ_max ≤ σ_x² Σ_l σ_max²(P_l) σ_max²(S_l).",
        {DATA: "Equation 6"},
        source=_GGN,
    ),
    "layers-trace": Statement(
        "For whitened inputs tr(H) = σ_x² Σ_l ‖P_{l}‖_F² ‖S_{l}‖_F².",
        {DATA: "Equation 7"},
        remark=(
            "The paper calls it an approximation of the Hessian's trace. It is exact at any loss: "
            "the network is linear in each layer, so the rest of the Hessian has trace 0."
        ),
    ),
    "layers-trace-any": Statement(
        "tr(H) = Σ_l tr(P_l Σ P_lᵀ) ‖S_{l}‖_F² for any inputs with second moments Σ, at any loss.",
        {DATA: "Equation 7, beyond its assumption"},
        remark="Our addition.",
    ),
    "layers-blocks": Statement(
        "The diagonal blocks of the Hessian are S_lᵀS_l ⊗ P_l Σ P_lᵀ, for weights flattened by "
        "rows, at any loss.",
        {DATA: "below Equation 7"},
        remark="Our addition.",
    ),
    "layers-brace": Statement(
        "P_l = W_{l-1} ⋯ W_1, without the inputs.",
        {DATA: "Equation 4"},
        printed="P_l = W_{l-1} ⋯ W_1 X",
        remark=(
            "The size given for P_l, and equations 5 to 8, have it right. The errors are those of "
            "equation 7 with either P_l."
        ),
    ),
}

_BALANCED = {
    "balanced-kernel": Statement(
        "For strongly balanced layers JJᵀ/n = Σ_l (Xᵀ(W_1ᵀW_1)^{l-1}X/n) ⊗ (W_L W_Lᵀ)^{L-l}.",
        {DATA: "Equation 8"},
        source=_GGN,
    ),
    "balanced-vectors": Statement(
        "The pairs q_{ij} of a right singular vector of W_1 and a left one of W_L give the "
        "eigenvectors Jᵀq_{ij}; they extend to an orthonormal basis of the parameters.",
        {DATA: "Section 3, eigenvectors"},
        source=_GGN,
    ),
    "balanced-quotient": Statement(
        "The sum of equation 9a is (σ_i^{2L} − σ_j^{2L})/(σ_i² − σ_j²), or Lσ^{2(L-1)} for equal "
        "singular values.",
        {DATA: "Equation 9b"},
        remark="Without instances of nearly equal ones, for which the quotient cancels.",
        source=_GGN,
    ),
    "balanced-sharpness": Statement(
        "λ_max = L σ_x²‖W_1‖_2^{2(L-1)}, and the bound of equation 6 is attained.",
        {DATA: "Equation 9b, largest eigenvalue"},
        source=_GGN,
    ),
    "balanced-pairs": Statement(
        "The eigenvalues are σ_x² Σ_l σ_i^{2(L-l)} σ_j^{2(l-1)} with i ∈ [d_L] and j ∈ [d_0], "
        "where singular values beyond the common ones are 0 and 0⁰ = 1.",
        {DATA: "Equation 9"},
        printed="one eigenvalue for each pair of the min{d_0, …, d_L} common singular values",
        remark=(
            "Print and correction agree where neither the inputs nor the outputs are more than the "
            "narrowest layer has units."
        ),
        source=_GGN,
    ),
    "balanced-count": Statement(
        "For L ≥ 2 and layers of rank r there are r d_0 + r d_L − r² non-zero eigenvalues.",
        {DATA: "Section 3, below Equation 9"},
        printed="at most (min{d_0, …, d_L})² are non-zero",
        source=_GGN,
    ),
}

_LABELS = {
    "labels-solution": Statement(
        "W_L ⋯ W_1 = YXᵀ/(n σ_x²), at zero loss and at every least-squares solution.",
        {DATA: "Equation 12"},
        source="the network's outputs",
    ),
    "labels-values": Statement(
        "At zero loss σ_i^L(W) = σ_i(Y)/(√n σ_x).",
        {DATA: "Equation 13"},
        source="the singular values of the network's first layer",
    ),
    "labels-sharpness": Statement(
        "At zero loss λ_max = L σ_x²(σ_max(Y)/(√n σ_x))^{2(1−1/L)}.",
        {DATA: "Equation 14"},
    ),
    "labels-loss": Statement(
        "At a least-squares solution λ_max = L σ_x²(σ_max(YXᵀ)/(n σ_x²))^{2(1−1/L)}.",
        {DATA: "Equation 14, at a loss above zero"},
        printed="L σ_x²(σ_max(Y)/(√n σ_x))^{2(1−1/L)}",
        remark=(
            "Labels count as far as the inputs explain them. With more samples than inputs the "
            "print, which assumes zero loss, is too large."
        ),
    ),
    "labels-shares": Statement(
        "For one-hot labels the σ_i²(Y)/n are the shares of the classes.",
        {DATA: "Section 4, below Equation 14"},
        remark="Not so for labels that are centred.",
        source="the singular values of the one-hot labels",
    ),
    "labels-hessian": Statement(
        "The Hessian is the Gauss-Newton matrix wherever (f(X) − Y)Xᵀ = 0, at any loss.",
        {DATA: "Equation 3, Assumption 1"},
        remark="Our addition: the paper assumes that the loss is near zero.",
        source="both matrices, by automatic differentiation",
    ),
}

_TWO_LAYERS = {
    "two-layers-sharpness": Statement(
        "For L = 2 λ_max = σ_x²(‖W_1‖_2² + ‖W_2‖_2²), balanced or not.",
        {DATA: "Equation 10"},
        remark="singh2026cracking, appendix D.3.3, has the maximum instead: that is wrong.",
        source=_GGN,
    ),
    "two-layers-range": Statement(
        "At any loss the Hessian's largest eigenvalue lies between σ_x² max(‖W_1‖_2², ‖W_2‖_2²) "
        "and σ_x²(‖W_1‖_2² + ‖W_2‖_2²) + ‖(f(X) − Y)Xᵀ‖_2/n.",
        {DATA: "Equation 10, beyond Assumption 1"},
        remark="Our addition.",
    ),
    "two-layers-trace": Statement(
        "tr(H) = σ_x²(d_2‖W_1‖_F² + d_0‖W_2‖_F²), at any loss.",
        {DATA: "Equation 11"},
    ),
    "two-layers-vectors": Statement(
        "q_{ij} = (Xᵀv_i/√n) ⊗ u_j, and so Jᵀq_{ij} is an eigenvector for σ_i²(W_1) + σ_j²(W_2).",
        {DATA: "Equation 16"},
        source=_GGN,
    ),
    "two-layers-basis": Statement(
        "With a basis of the null space they are an orthonormal basis of the parameters.",
        {DATA: "Equation 16, whole basis"},
        source=_GGN,
    ),
    "two-layers-pairs": Statement(
        "The eigenvalues are σ_x²(σ_i²(W_1) + σ_j²(W_2)) with i ∈ [d_0] and j ∈ [d_2], where "
        "singular values beyond the size of a layer are 0.",
        {DATA: "Equation 15"},
        printed="i ∈ [min{d_0, d_1}] and j ∈ [min{d_1, d_2}]",
        source=_GGN,
    ),
    "two-layers-count": Statement(
        "d_0 d_2 − (d_0 − r_1)(d_2 − r_2) eigenvalues are non-zero, r_1 and r_2 the ranks of W_1 "
        "and W_2.",
        {DATA: "Appendix B, below Equation 16"},
        printed="at most min{d_0, d_1} × min{d_1, d_2} may be non-zero",
        source=_GGN,
    ),
}

_RECIPES = {
    "recipe-weights": Statement(
        "Balanced weights: step 1 samples the left singular vectors of each layer, and so equation "
        "9 holds for the network.",
        {DATA: "Appendix C, balanced weights"},
        printed="step 1 samples the right singular vectors of each layer",
        remark="Step 3 sets them already. Networks of two layers do not need it.",
        source=_GGN,
    ),
    "recipe-whitening": Statement(
        "Whitened inputs are a linear map of the inputs: with a row for each sample, √n σ_x times "
        "the left singular vectors of singular values that are not 0.",
        {DATA: "Appendix C, data whitening"},
        printed="X = √n σ_x Q from the QR decomposition",
        remark=(
            "Where inputs are linearly dependent (such as pixels that are always 0), QR fills up "
            "with directions that have nothing to do with them. Assumption 2 holds either way."
        ),
        source=_STATED,
    ),
    "recipe-subset": Statement(
        "⌊(1 − α_max)n/(K − 1)⌋ samples of each of the K − 1 other classes leave class 0 its "
        "share, but for less than one sample of each class.",
        {DATA: "Appendix C, subsampling"},
        printed="⌊(1 − α_max)n⌋ samples of each of the other classes",
        remark="As printed these are more than n samples in all, for α_max < 1 − 1/(K − 1).",
        source=_STATED,
    ),
}

DEEP = {**_LAYERS, **_BALANCED, **_LABELS, **_TWO_LAYERS, **_RECIPES}
