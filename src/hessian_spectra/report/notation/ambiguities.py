"""Symbols and words that stand for several things."""

from hessian_spectra.report.notation.entries import Ambiguity

AMBIGUITIES: tuple[Ambiguity, ...] = (
    Ambiguity(
        "n",
        (
            "the number of samples (all papers)",
            "the length of a sequence (singh2026cracking, section 3.3)",
            "the rows of a weight matrix (singh2026cracking, appendix D.1.3)",
        ),
        "n for samples only; `{length} for sequences",
    ),
    Ambiguity(
        "L",
        (
            "the loss, in !{H}_{L}",
            "the length of a sequence (singh2026cracking, appendix B.5)",
            "the number of layers (anon2026data, where the loss is ℒ)",
        ),
        "L and `{depth} for layers; `{length} for sequences; H without an index",
    ),
    Ambiguity(
        "ℓ",
        (
            "the loss (singh2024closed, singh2026cracking)",
            "the number of a layer (anon2026data; as an index in singh2026cracking, "
            "appendix D.1.3)",
        ),
        "l for layers; `{loss}",
    ),
    Ambiguity(
        "σ",
        (
            "the standard deviation of the inputs, not centred (singh2024closed, poster)",
            "the activation function in f(x) = ⟨!{w}, σ(!{v}x)⟩ (poster)",
            "with a matrix, a singular value: σ_{i}(!{W}), σ_{max}(!{P}_{ℓ}) (anon2026data; "
            "singh2026cracking, appendix D)",
            "σ_{ℓ}²: the variance of the initial weights of a layer (singh2026cracking, appendix "
            "D.1.3)",
            "as the index of a norm, the sum of singular values: ‖!{W}‖_{σ} (singh2026cracking, "
            "appendix D.1.3)",
        ),
        "`{second_moment} is the square of the first; the activation is always named; s_{i} for "
        "singular values of layers",
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
        "!{W}",
        (
            "with an index, a layer (singh2026cracking, anon2026data)",
            "in σ_{i}(!{W}), no matrix: what all layers of a balanced network share "
            "(anon2026data, section 3)",
            "the second layers of all outputs in one matrix (singh2026cracking, appendix B.4.2)",
            "the matrix that the targets are made with (singh2026cracking, appendix D.1.3)",
        ),
        "W_{l} for layers; W for their product",
    ),
    Ambiguity(
        "!{P}_{ℓ}",
        (
            "!{W}_{ℓ−1} ⋯ !{W}_{1}: by the size that eq. (4) gives for it, and in eq. (5) to (8)",
            "!{W}_{ℓ−1} ⋯ !{W}_{1}!{X}: by the brace of eq. (4)",
        ),
        "without the inputs",
    ),
    Ambiguity(
        "!{S}",
        (
            "with an index, the product of the layers after layer ℓ (anon2026data, section 2)",
            "the diagonal matrix of singular values (anon2026data, appendix C)",
        ),
        "S_{l} for the product; `{singular_values}; S alone is XX^{⊤}/n",
    ),
    Ambiguity(
        "i, j in λ_{ij}, σ_{i}",
        (
            "i for !{W}_{1} (!{v}_{i}), j for !{W}_{L} (!{u}_{j}): anon2026data, eq. (8), (15) "
            "and (16)",
            "the other way round in eq. (9a), where i has the powers of !{W}_{L} in eq. (8); the "
            "sum is the same, as it is symmetric in i and j",
            "both up to the narrowest width, by the count below eq. (9); up to "
            "min {d_{0}, d_{1}} and min {d_{1}, d_{2}} in eq. (15)",
            "i alone: one of the σ_{i}(!{Y}), for the largest of them in the middle of eq. (14)",
        ),
        "i = 1, …, d_{0} for W_{1}, j = 1, …, d_{L} for W_{L}; a 0 in a cell stands for all "
        "singular values that are 0",
    ),
    Ambiguity(
        "right, left",
        (
            "of singular vectors: as usual, in !{v}_{i}, !{u}_{j} and in step 3 of appendix C "
            "(anon2026data)",
            "“right” for left in step 1 of appendix C: what is drawn is !{U}_{ℓ}, as step 3 has "
            "set !{V}_{ℓ}",
            "exchanged in section 3: by Assumption 3 the left ones of a layer are aligned with "
            "the right ones of the next",
        ),
        "as usual",
    ),
    Ambiguity(
        "Q",
        (
            "in bold, d_{0} × n with orthonormal rows (anon2026data, appendix C); they come from "
            "a QR decomposition of !{X}′^{⊤}, where !{X}′ is printed",
            "as an index, the query weights: !{w}_{Q} (singh2026cracking)",
        ),
        "`{scores} for the first, `{w_query} for the second",
    ),
    Ambiguity(
        "Hessian",
        (
            "the second derivatives of the loss",
            "the Gauss-Newton matrix, which equals it at zero loss (anon2026data, from eq. (3) "
            "on); its eigenvalues are those of !{JJ}^{⊤}/n, but for zeros: one has p, the other "
            "nd_{L}",
        ),
        "`{curvature.hessian} and `{curvature.ggn}",
    ),
    Ambiguity(
        "bulk",
        (
            "the eigenvalues of high multiplicity, beside the outliers (singh2024closed, "
            "singh2026cracking)",
            "the eigenvalues near zero (anon2026data, section 3)",
        ),
        "`{bulk} in deep linear networks: the pairs of which one singular value is 0; the "
        "eigenvalues 0 are `{zero}",
    ),
    Ambiguity(
        "labels",
        (
            "the targets !{Y}; their number is d_{L} (anon2026data, abstract)",
            "classes, one-hot encoded (anon2026data, section 4)",
        ),
        "targets `{y}; `{labels} for classes",
    ),
    Ambiguity(
        "inputs",
        (
            "the features, as in “whitened inputs”",
            "the samples: “more number of inputs than features” (anon2026data, section 2.1)",
        ),
        "n samples of d_{0} inputs",
    ),
    Ambiguity(
        "d",
        (
            "the number of inputs (singh2024closed)",
            "the index of an input (singh2026cracking)",
            "with an index, the width of a layer (anon2026data); of keys, d_{K}",
            "the width of all layers in Figure 1a (anon2026data, appendix C)",
        ),
        "d_{l} for widths",
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
            "in bold with the number of a layer, its right singular vectors (anon2026data, "
            "appendix C)",
        ),
        "`{w_value} for the value weight, `{right} for the singular vectors",
    ),
    Ambiguity(
        "!{w}, !{v}",
        (
            "the two layers",
            "auxiliary vectors of the proof in appendix B.5: !{w} := λ!{w}_{Q} + t!{w}_{K}, "
            "where t is printed for γ",
            "!{v}_{i}: right singular vectors of !{W}_{1} (anon2026data)",
        ),
        "the two layers, and v_{i} in deep linear networks",
    ),
    Ambiguity(
        "!{z}",
        (
            "an eigenvector",
            "an auxiliary vector of the proof of Theorem 3.1, λ!{w} + ~{δx}!{v}",
            "!{z}_{1}, !{z}_{2}: derivatives of the softmax (singh2026cracking, appendix B.5)",
            "a random vector of Hutchinson’s method (anon2026data, appendix C)",
        ),
        "eigenvectors are columns of `{eigenvectors()}",
    ),
    Ambiguity(
        "q",
        (
            "the number of hidden units with v_{j} > 0",
            "the constant term of a depressed cubic (bias and self-attention)",
            "in bold, !{q}_{ij}: an eigenvector of !{JJ}^{⊤}/n (anon2026data)",
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
            "α_{i}: the i-th largest share of a class (anon2026data, section 4)",
        ),
        "α = ‖m_{1}‖² / length in self-attention, the largest share of a class elsewhere",
    ),
    Ambiguity(
        "α_{max}",
        (
            "the largest share of a class, σ_{max}²(!{Y})/n (anon2026data, section 4)",
            "the share asked for, of class 0 (appendix C): what the floors take from the others "
            "comes on top of it, and their ⌊(1 − α_{max})n⌋ lacks a division by nine",
        ),
        "`{share} is what is asked for, `{largest_share} what there is",
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
