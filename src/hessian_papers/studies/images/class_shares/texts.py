"""Where the paper says it, bounds that several claims have, and why they may differ."""

from hessian_papers.ledger.bounds import at_least, within

OF_RAW = "section 5; Figure 2 (left)"
OF_KAIMING = "section 5; Figure 2 (middle)"
OF_TANH = "section 5; Figure 2 (right)"

EVERY_STEP = at_least(1.0, "1 is an increase at every step; the paper's plots show nothing less")
MOST = at_least(
    0.5,
    "most is more than half; with whitened inputs each of the L layers has 1/L",
    source="ours: what the sharpness depends on, if not on the labels alone",
)

TRAINED = (
    "training stops by the halving rule or after its epochs, and leaves layers balanced to "
    "only about 1e-3; that counts to first order where equal shares tie singular values, "
    "else to second order"
)
EXACT = within(2e-3, TRAINED)
NOT_FITTED = (
    "A linear map fits labels only as far as the inputs span them. Where more samples than "
    r"inputs leave a loss, the balanced solution has $σ_{\max}(Y X^⊤)/(\sqrt n σ_x)$ in "
    r"place of $σ_{\max}(Y)$. It is flatter by that ratio: little with equal shares, where "
    "the leading mode is the sum of all labels, a constant. It is most just above equal "
    "shares, where the largest class must be distinguished from the others."
)
KEEPS_ITS_LAYERS = (
    "Gradient flow conserves $W_l W_l^⊤ - W_{l+1}^⊤ W_{l+1}$, so independently sampled "
    "layers stay unaligned. Their product solves the same least-squares problem, but each "
    "layer's initial singular values also contribute to the largest eigenvalue. This adds "
    "most at small shares, where the labels require small singular values. Eq. (6) bounds "
    "the result."
)
SATURATION = (
    "The derivatives of Tanh are at most 1, which lowers the curvature for large signals, "
    "at large shares. At small shares, fitting the labels better than a linear map raises "
    "the curvature. Layers do not stay balanced either."
)
RAW_INPUTS = (
    "With raw inputs the scale of the curvature is the largest second moment of the inputs, "
    "along their mean image. Directions of small moments are hardly learnt in the paper's "
    "10,000 epochs. The sharpness then depends more on the image set and on the progress of "
    "training than on the labels. On CIFAR-10 it reaches $2/0.01 = 200$, the edge of "
    "stability. There the loss stops improving steadily, and the halving rule ends "
    "training."
)
SECOND_DERIVATIVES = "A residual that the inputs could still explain adds to the Hessian."
