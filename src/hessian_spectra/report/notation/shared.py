"""What any network has: data, a loss and a spectrum."""

from hessian_spectra.report.notation.entries import Symbol

DATA_AND_LOSS: tuple[Symbol, ...] = (
    Symbol(
        "inputs",
        "`{x}: a sample in each row, in `{deep_linear} in each column",
        closed="x_{i}",
        poster="x_{i}",
        cracking="x_{i}; a sequence: !{x}",
        data="!{x}_{i}; as columns: !{X}",
    ),
    Symbol(
        "targets",
        "`{y}",
        closed="y_{i}",
        poster="y_{i}",
        cracking="y_{i}; a sequence: !{y}",
        data="!{y}_{i}; as columns: !{Y}",
    ),
    Symbol(
        "number of samples", "n: the length of `{x}", closed="n", poster="n", cracking="n", data="n"
    ),
    Symbol(
        "number of inputs",
        "D: columns of `{x}",
        closed="d and D (section 3)",
        cracking="D, index d",
        data="d_{0}",
    ),
    Symbol("inputs before whitening", "`{x} of `{whiten}", data="!{X}′ (appendix C)"),
    Symbol(
        "whitened inputs, scaled to be orthonormal",
        "`{scores}, of a thin SVD",
        data="!{Q} (appendix C)",
    ),
    Symbol("number of outputs", "K: columns of `{y}", cracking="K, index k", data="d_{L}"),
    Symbol(
        "length of a sequence",
        "`{length}: columns of `{x}",
        cracking="n in section 3.3, L in appendix B.5",
    ),
    Symbol("number of sequences", "`{batch}: rows of `{x}", cracking="“batch”, in D.1.1"),
    Symbol(
        "second moment of the inputs, not centred",
        "`{second_moment} = mean(x²); whitened: `{input_scale**2}",
        closed="σ²",
        poster="σ²",
        cracking="σ_{x}²; σ² in appendix B.4.2",
        data="σ_{!{x}}² (Assumption 2)",
    ),
    Symbol("second moment of input d", "diagonal of Σ", cracking="σ_{d}²"),
    Symbol(
        "second moments between inputs",
        "Σ = mean(!{x}!{x}^{⊤}); S in `{deep_linear_trace}",
        cracking="σ_{ij}; Σ_{!{xx}} in appendix D.3.3",
        data="!{XX}^{⊤}/n; by Assumption 2 σ_{!{x}}² !{I}",
    ),
    Symbol(
        "covariance of inputs and targets, not centred",
        "mean(y x)",
        closed="~{yx}",
        poster="~{yx}",
        cracking="~{yx}; ~{y_{k}x} for output k",
        data="!{YX}^{⊤}/n (eq. 12)",
    ),
    Symbol("mean of the inputs", "mean(x)", closed="μ (appendix)", cracking="μ (appendix)"),
    Symbol(
        "residual",
        "f(x) − y",
        closed="δ_{i}",
        poster="δ_{i}",
        cracking="δ_{i}; a sequence: δ_{!{x},!{y}}",
        data="!{f}(!{X}) − !{Y}",
    ),
    Symbol(
        "covariance of residuals and inputs, not centred",
        "`{residual_covariance} = mean(x (f(x) − y))",
        closed="~{δx}; ~{xδ}_{+} in section 2",
        poster="~{xδ} and ~{δx}",
        cracking="~{δx}; ~{xδ}_{+} in section 3.2; ~{δx_{d}}, ~{δ_{k}x}",
    ),
    Symbol(
        "its square: the bar is taken first",
        "`{residual_covariance**2}",
        closed="~{δx}², in section 3 printed ~{δx²}",
        cracking="~{δx}², in appendix B.3 printed ~{δx²}",
    ),
    Symbol(
        "mean residual", "mean(f(x) − y)", closed="~{δ} (section 3)", cracking="~{δ} (appendix B.3)"
    ),
    Symbol(
        "solution of the linear regression",
        "θ* = mean(y x) / mean(x²); W = YX^{⊤}/(nσ_{x}²)",
        closed="θ*",
        cracking="θ* (appendix C)",
        data="!{YX}^{⊤}/(n σ_{!{x}}²) (eq. 12)",
    ),
    Symbol(
        "loss",
        "1/(2n) Σ (f − y)²",
        closed="ℓ; L in !{H}_{L}",
        poster="L in !{H}_{L}",
        cracking="ℓ; L in !{H}_{L}",
        data="ℒ",
    ),
)

SPECTRUM: tuple[Symbol, ...] = (
    Symbol(
        "Hessian of the loss",
        "H",
        closed="!{H}_{L}",
        poster="!{H}_{L}",
        cracking="!{H}_{L}",
        data="∂²ℒ/∂!{W}_{1:L}²; ∇²ℒ in appendix C",
    ),
    Symbol(
        "Gauss-Newton matrix", "`{curvature.ggn}", cracking="“GGN”", data="!{J}^{⊤}!{J}/n (eq. 3)"
    ),
    Symbol(
        "tangent kernel, with the same non-zero eigenvalues",
        "JJ^{⊤}, on d_{0} samples: the matrix of eq. (5)",
        data="!{JJ}^{⊤}/n (eq. 5)",
    ),
    Symbol(
        "bulk eigenvalues",
        '`{spectrum.select("bulk")}',
        closed="λ_{bulk}",
        poster="λ_{bulk}",
        cracking="λ_{bulk}, λ^{±}_{bulk}",
        data="“bulk”: those near 0",
    ),
    Symbol(
        "outlier eigenvalues",
        '`{spectrum.select("outlier")}',
        closed="λ_{outlier 1,2}; λ_{1,2}",
        poster="λ_{outlier}",
        cracking="λ_{outlier 1,2}, λ^{±}_{outlier 1,2}; three in self-attention; "
        "λ_{1,2} in appendix C",
    ),
    Symbol(
        "the outlier pair as a function",
        "`{closed_form.outlier_pair}",
        cracking="Λ_{1,2}(‖!{w}‖², ‖!{v}‖², ⟨!{w}, !{v}⟩, σ_{x}², ~{δx})",
    ),
    Symbol(
        "largest eigenvalue, sharpness",
        "`{spectrum.eigenvalues[-1]}; `{deep_linear_sharpness}",
        closed="top eigenvalue, sharpness",
        poster="λ_{max}(!{H}), sharpness",
        cracking="λ_{max}, sharpness: the largest in magnitude",
        data="λ_{max}(!{JJ}^{⊤}/n), sharpness, spectral norm",
    ),
    Symbol(
        "smallest eigenvalue",
        "`{spectrum.eigenvalues[0]}",
        closed="λ_{min}: the most negative",
        cracking="λ_{min}: in appendix B.1 the most negative, "
        "in Remark 3.1 the smallest in magnitude",
    ),
    Symbol(
        "depressed cubic t³ + pt + q of three outliers: bias, self-attention",
        "eigenvalues of a 3 × 3 matrix instead",
        closed="p, q, t_{k}; |t_{k}| ≤ t′",
        cracking="p, q, t_{k}, |t_{k}| ≤ t′ (appendix B.3); "
        "p, q, λ̃_{k}, |λ̃_{k}| ≤ ξ (appendix B.5)",
    ),
    Symbol("number of parameters", "p", closed="p (appendix)", cracking="p", data="p"),
    Symbol(
        "trace",
        "tr H; `{deep_linear_trace}",
        closed="Tr(!{H}_{L})",
        cracking="tr(!{H}_{L})",
        data="Tr(!{JJ}^{⊤}/n), sum of eigenvalues",
    ),
    Symbol(
        "outlier eigenvectors",
        "columns of `{spectrum.eigenvectors()}, normalised",
        closed="!{z}_{outlier}",
        poster="!{z}_{outlier}",
        cracking="!{z}_{outlier}",
    ),
    Symbol(
        "bulk eigenvectors",
        "columns of `{spectrum.eigenvectors()}, normalised",
        closed="!{z}_{bulk}, halves ẑ_{bulk}",
        cracking="!{z}_{bulk}, halves ẑ_{bulk}",
    ),
    Symbol("condition number", "|λ_{max}| / |λ_{min}|", cracking="κ(!{H}_{L})"),
    Symbol(
        "learning rate",
        "`{learning_rate}",
        poster="η",
        cracking="η, η_{t}",
        data="η_{max}: at the start, lowered later",
    ),
    Symbol(
        "threshold of stability",
        "2 / learning rate",
        poster="2/η",
        cracking="2/η",
        data="“edge-of-stability”",
    ),
)
