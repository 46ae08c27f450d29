"""Linear networks of any depth, and how their labels set the spectrum."""

from hessian_spectra.report.notation.entries import Symbol

DEEP_LINEAR: tuple[Symbol, ...] = (
    Symbol("depth: number of layers", "L, `{depth}", cracking="B", data="L"),
    Symbol("width of layer l", "d_{l}: rows of W_{l}", cracking="m", data="d_{ℓ}"),
    Symbol(
        "weights of layer l",
        "W_{l}: `{weights[l - 1]}, (d_{l}, d_{l−1})",
        cracking="!{W}_{i}, !{W}_{b}",
        data="!{W}_{ℓ}",
    ),
    Symbol(
        "parameters in their order",
        "(W_{1}, …, W_{L}), each row by row",
        cracking="row by row (appendix D.3.3)",
        data="!{W}_{1:L}; by eq. (4) each column by column",
    ),
    Symbol(
        "product of the layers before l",
        "P_{l}, without the inputs",
        data="!{P}_{ℓ} = !{W}_{ℓ−1} ⋯ !{W}_{1}",
    ),
    Symbol("product of the layers after l", "S_{l}", data="!{S}_{ℓ} = !{W}_{L} ⋯ !{W}_{ℓ+1}"),
    Symbol("product of all layers but one", "`{products}", cracking="!{Ŵ}_{i}, !{Ŵ}_{b}"),
    Symbol(
        "Jacobian of all outputs",
        "J, on d_{0} samples with the same second moments",
        data="!{J}, its blocks !{J}_{ℓ}",
    ),
    Symbol(
        "distance from balanced layers",
        "`{balancedness_defect}: relative, from 0 to 1",
        data="0 by Assumption 3, “strongly balanced”: "
        "!{W}_{ℓ}!{W}_{ℓ}^{⊤} = !{W}_{ℓ+1}^{⊤}!{W}_{ℓ+1}",
    ),
    Symbol(
        "singular values that balanced layers share",
        "s_{i}: `{first} and, but for zeros, `{last}",
        data="σ_{i}(!{W}); diagonal of !{S} in appendix C",
    ),
    Symbol(
        "how many balanced layers can share",
        "k: length of `{singular_values}",
        data="k = min {d_{0}, …, d_{L}} (appendix C)",
    ),
    Symbol(
        "singular values of two layers",
        "s_{i}: `{first}; s_{j}: `{last}",
        cracking="σ_{max}(!{W}_{1}), σ_{max}(!{W}_{2})",
        data="σ_{i}(!{W}_{1}), σ_{j}(!{W}_{2})",
    ),
    Symbol(
        "spectral norm",
        "‖W_{l}‖_{2}",
        cracking="‖!{W}‖_{2}",
        data="‖!{W}_{1}‖_{2}; σ_{max}(!{P}_{ℓ})",
    ),
    Symbol("right singular vectors of the first layer", "v_{i}", data="!{v}_{i}"),
    Symbol("left singular vectors of the last layer", "u_{j}", data="!{u}_{j}"),
    Symbol(
        "singular vectors of layer l, left and right",
        "`{left}, `{right}",
        data="!{U}_{ℓ}, !{V}_{ℓ} (appendix C)",
    ),
    Symbol(
        "eigenvalue of a pair",
        'λ_{ij}, cell `{"i,j"}: i up to d_{0}, j up to d_{L}',
        data="λ_{ij}(!{JJ}^{⊤}/n), up to the narrowest width",
    ),
    Symbol(
        "eigenvector of a pair",
        "J^{⊤}q_{ij} of length p, normalised",
        data="!{q}_{ij} of length nd_{L}, not normalised",
    ),
    Symbol(
        "bound of the eigenvalues",
        "`{deep_linear_bound}",
        data="σ_{!{x}}² Σ_{ℓ} σ_{max}²(!{P}_{ℓ}) σ_{max}²(!{S}_{ℓ}) (eq. 6)",
    ),
)

LABELS: tuple[Symbol, ...] = (
    Symbol("number of classes", "K, `{classes}", data="d_{L}"),
    Symbol("shares of the classes", "`{class_counts} / n", data="α_{i} = σ_{i}²(!{Y})/n"),
    Symbol(
        "share of the largest class",
        "α, `{largest_share}; asked for: `{share}",
        data="α_{max}; σ_{max}²(!{Y})/n",
    ),
    Symbol(
        "norm of the solution",
        "`{solution_norm} = σ_{max}(YX^{⊤})/(nσ_{x}²)",
        data="σ_{max}(!{Y})/(√n σ_{!{x}}), for zero loss",
    ),
    Symbol(
        "singular values of the layers at the solution",
        "`{least_squares_singular_values}: (σ_{i}(YX^{⊤})/(nσ_{x}²))^{1/L}",
        data="σ_{i}(!{W}) = (σ_{i}(!{Y})/(√n σ_{!{x}}))^{1/L}, for zero loss (eq. 13)",
    ),
    Symbol(
        "largest eigenvalue at the solution",
        "`{sharpness_from_labels} for zero loss, else `{least_squares_sharpness}",
        data="λ_{max}, for zero loss (eq. 14)",
    ),
)
