"""Where the paper says it, bounds that several claims have, and why they may differ."""

from hessian_papers.ledger.bounds import at_least, within

OF_RAW = "section 5; Figure 2 (left)"
OF_KAIMING = "section 5; Figure 2 (middle)"
OF_TANH = "section 5; Figure 2 (right)"

EVERY_STEP = at_least(1.0, "1 is an increase at every step; the paper's plots show nothing less")
SLIGHT = within(0.2, "a fifth would be called slight; the paper gives no number")
MOST = at_least(
    0.5,
    "most is more than half; with whitened inputs each of the L layers has 1/L",
    source="ours: what the sharpness depends on, if not on the labels alone",
)

TRAINED = (
    "training stops by the halving rule or after its epochs, and its steps leave layers balanced "
    "to about 1e-3 only; that counts to first order where equal shares make singular values tie, "
    "else to second"
)
EXACT = within(2e-3, TRAINED)
NOT_FITTED = (
    "A linear map fits labels only as far as the inputs span them. Where more samples than inputs "
    r"leave a loss, the balanced solution has $σ_{\max}(Y X^⊤)/(\sqrt n σ_x)$ in place of "
    r"$σ_{\max}(Y)$, and is flatter by as much: by little with equal shares, where the sum of all "
    "labels, a constant, leads; most just above, where the largest class has to be told from the "
    "others."
)
KEEPS_ITS_LAYERS = (
    "Gradient flow conserves $W_l W_l^⊤ - W_{l+1}^⊤ W_{l+1}$, so that layers drawn independently "
    "stay unaligned. Their product solves the same least-squares problem, but to the largest "
    "eigenvalue each layer also brings singular values that it was drawn with, which adds most "
    "where the labels ask for little, at small shares; eq. (6) bounds the result."
)
SATURATION = (
    "Tanh bends what a linear layer would pass on: derivatives are at most 1, which lowers the "
    "curvature of large signals, at large shares; where the labels ask for little, what lowers "
    "the loss beyond a linear fit raises it. Layers do not stay balanced either."
)
RAW_INPUTS = (
    "With raw inputs the scale of the curvature is the largest second moment of the inputs, that "
    "along their mean image, and directions of small moments are hardly learnt in the paper's "
    "10,000 epochs. The sharpness then depends on the image set and on how far training came more "
    "than on the labels. On CIFAR-10 it comes to $2/0.01 = 200$, the edge of stability, where the "
    "loss stops improving steadily and the halving rule ends the training."
)
SECOND_DERIVATIVES = "A residual that the inputs could still explain adds to the Hessian."
