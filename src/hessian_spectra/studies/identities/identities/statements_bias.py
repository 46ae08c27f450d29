"""What the papers state about the linear network with bias."""

from hessian_spectra.studies.identities.identities.statements_text import (
    CLOSED,
    CRACKING,
    Statement,
)

BIAS = {
    "bias-spectrum": Statement(
        "Under the theorem's assumptions the spectrum is a pair, a triple, ±r (m − 2 times each, "
        "r² = δx² + δ²) and 0 (m − 1 times).",
        {CRACKING: "Theorem B.1", CLOSED: "Theorem 6"},
        remark="The multiplicities are ours: the theorem says “the rest”.",
    ),
    "bias-print": Statement(
        "The pair is S/2 ± ½√(S² + 12r²), S = ‖v‖² + ‖w‖², the triple Viète's with the printed p "
        "and q.",
        {CRACKING: "eq. (68), (105) to (110)", CLOSED: "eq. (5), (102) to (107)"},
    ),
    "bias-trace": Statement(
        "tr(H) = 2(‖v‖² + ‖w‖²); the pair is centred at tr/4 and the triple at tr/6.",
        {CRACKING: "section 4, end of appendix B.3", CLOSED: "section 3"},
    ),
    "bias-bound": Statement(
        "The triple lies within S/3 ± t', t' = ⅔√(S² + 3r²).",
        {CRACKING: "below eq. (110)", CLOSED: "section 3, below eq. (107)"},
    ),
    "bias-hessian": Statement(
        "For E[x] = 0 the Hessian's blocks are those of the displayed equations.",
        {CRACKING: "eq. (77) to (81)", CLOSED: "eq. (74) to (78)"},
    ),
    "bias-quintic": Statement(
        "Under the assumptions the sextic is λ(λ² + Aλ + B)(λ³ + Cλ² + Dλ + E) with the printed A "
        "to E.",
        {CRACKING: "eq. (100) to (104)", CLOSED: "eq. (97) to (101)"},
        source="brute force at m = 2, where all six eigenvalues are roots",
    ),
    "bias-parallel": Statement(
        "E[y] = E[yx] = 0 can be weakened: pair and triple only need (δx, δ) parallel to "
        "(⟨w, v⟩, ⟨w, b⟩). With C = |(⟨w, v⟩, ⟨w, b⟩)| and ρ the residual along it the pair is "
        "S/2 ± √(S²/4 + ρ² + 2ρC).",
        {CRACKING: "Theorem B.1, beyond its assumptions"},
        remark="Our addition.",
    ),
    "sextic-spectrum": Statement(
        "Without assumptions on v, b and y, and for E[x] = 0, E[x²] = 1, the spectrum is ±r and 0 "
        "(m − 2 times each) and the roots of the corrected sextic.",
        {CRACKING: "eq. (89) to (99)", CLOSED: "eq. (86) to (96)"},
    ),
    "bias-display": Statement(
        "The lower left blocks of the displayed Hessian are δx I + wvᵀ and δ I + wbᵀ.",
        {CRACKING: "eq. (82), (83)"},
        printed="δx I + vwᵀ and δ I + bwᵀ",
        remark="singh2024closed has them right.",
    ),
    "sextic-norm": Statement(
        "The coefficient of λ⁴ holds (‖v‖² + ‖w‖²)(‖b‖² + ‖w‖²).",
        {CRACKING: "eq. (92) and the collected form", CLOSED: "eq. (89) and the collected form"},
        printed="(‖v‖² + ‖w‖²)(‖b‖ + ‖w‖²)",
        source="brute force at m = 2, where all six eigenvalues are roots",
    ),
    "sextic-sign": Statement(
        "The terms with ⟨v, b⟩⟨δv + δx b, w⟩, ⟨v, b⟩δδx‖w‖² and ⟨δv + δx b, w⟩δδx‖w‖² have a "
        "minus.",
        {CRACKING: "eq. (97), (98)", CLOSED: "eq. (94), (95)"},
        printed="a plus: they stand outside the bracket that the minus in the line before opens",
        remark="The collected form below it has the right sign.",
        source="brute force at m = 2, where all six eigenvalues are roots",
    ),
}
