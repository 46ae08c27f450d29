"""Networks with one hidden layer, and self-attention."""

from hessian_spectra.report.notation.entries import Symbol

NETWORKS: tuple[Symbol, ...] = (
    Symbol("first layer, scalar input", "`{v}", closed="!{v}", poster="!{v}", cracking="!{v}"),
    Symbol("second layer", "`{w}", closed="!{w}", poster="!{w}", cracking="!{w}"),
    Symbol(
        "number of hidden units",
        "m, `{width}",
        closed="m",
        poster="m",
        cracking="m",
        data="d_{ℓ}, “width”",
    ),
    Symbol(
        "parameters in their order",
        "(v, w)",
        closed="θ = (!{v}^{⊤}, !{w}^{⊤})^{⊤}",
        cracking="θ = (!{v}^{⊤}, !{w}^{⊤})^{⊤}",
    ),
    Symbol("first layer, several inputs", "`{V}, (m, D)", cracking="!{V}", data="!{W}_{1}"),
    Symbol("biases of the first layer", "`{b}", closed="!{b}", cracking="!{b}"),
    Symbol("hidden units with v_{j} > 0", "`{positive_units}", closed="q", cracking="q"),
    Symbol(
        "samples with x > 0, with x ≤ 0",
        "counts of a cell",
        closed="n_{+}, n_{−}",
        poster="n_{+}, n_{−}",
        cracking="n_{+}, n_{−}",
    ),
    Symbol(
        "weights of a ReLU cell",
        "rows of cell `{+} or `{-}",
        closed="!{w}_{±}, !{v}_{±}",
        cracking="!{w}_{±}, !{v}_{±}",
    ),
    Symbol(
        "second moment in a ReLU cell",
        "mean over all samples, (n_{±}/n) σ_{±}²",
        closed="σ_{±}²",
        cracking="σ_{x±}²",
    ),
)

SELF_ATTENTION: tuple[Symbol, ...] = (
    Symbol("value weight", "`{w_value}", cracking="w_{V}"),
    Symbol("query weights", "`{w_query}", cracking="!{w}_{Q}"),
    Symbol("key weights", "`{w_key}", cracking="!{w}_{K}"),
    Symbol("number of query (and key) weights", "d: length of `{w_key}", cracking="d_{K}"),
    Symbol("attention matrix", "softmax(x_{i} x_{j} ⟨w_{Q}, w_{K}⟩ / √d)", cracking="!{A}(!{x})"),
    Symbol("attention-weighted mean of the tokens", "m_{1} = A x", cracking="!{m}_{1}"),
    Symbol("second central moment under the attention", "m_{2}", cracking="!{m}_{2}"),
    Symbol("third central moment under the attention", "m_{3}", cracking="!{m}_{3}"),
    Symbol("entry of the value weight", "α = ‖m_{1}‖² / length", cracking="α"),
    Symbol(
        "value weight against queries and keys",
        "β = (w_{V} m_{1} + δ)^{⊤}(x ⊙ m_{2}) / (length √d)",
        cracking="β",
    ),
    Symbol(
        "bulk eigenvalue, queries against keys",
        "γ = w_{V} δ^{⊤}(x ⊙ m_{2}) / (length √d)",
        cracking="γ",
    ),
    Symbol(
        "weight of the query-key block",
        "ζ = (w_{V}² ‖x ⊙ m_{2}‖² + w_{V} δ^{⊤}(x ⊙ x ⊙ m_{3})) / (length d)",
        cracking="ζ",
    ),
    Symbol(
        "half-width of the interval of the three outliers",
        "ξ = 2 √(−p/3), with squared norms",
        cracking="ξ (printed with norms that are not squared)",
    ),
)
