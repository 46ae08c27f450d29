"""The reasons why claims about norms and sharpness do not hold, where they do not."""

BY_THE_SUM = (
    "The sharpness is nearly the sum of both squared spectral norms (study {study of Appendix "
    "D.3.3}), so it goes with the matrix whose norm varies more from network to network. Gradient "
    "descent in small steps keeps $W_2^⊤W_2/r_2 - W_1W_1^⊤/r_1$ as it was, $r_l$ the layers' "
    "relative rates: what varies more is, after training too, the matrix with the larger entries "
    "at initialisation, and under μP the same one learns faster. That is the first matrix where D "
    "is well below the width. The mean over D depends on the sizes that are taken."
)
TWO_OF_A_KIND = (
    "Two matrices of similar magnitude have a similar part in the sharpness, which is nearly the "
    "sum of their squared spectral norms (study {study of Appendix D.3.3}) even before training. "
    "A term of a sum of two that vary independently and alike correlates with it by about "
    r"$1/\sqrt2$, so neither norm is without correlation. Where no D comes near the width, the "
    "matrices are not alike yet at the largest, and the larger one drives."
)
SAMPLED_INPUTS = (
    r"Two matrices that vary alike would each correlate by about $1/\sqrt2$. The first one's part "
    r"in the sharpness is $λ_{\max}(W_1 S W_1^⊤)$, with the second moments S of the inputs, and "
    r"departs from $σ_{\max}^2(W_1)$ as D ceases to be small beside the number of samples; the "
    r"second one's is $σ_{\max}^2(W_2) λ_{\max}(S)$, so that its norm keeps its correlation."
)
NOTHING_TO_COMPARE = (
    "Where no D comes near the width, the first matrix has the larger entries, and leads, at every "
    "D that is compared."
)
PROPORTIONAL = (
    "All singular values of a weight matrix with D well below the width are of similar size, and "
    "its nuclear norm is then nearly proportional to its Frobenius norm: the two correlations are "
    "nearly one, and what is between them is within the interval."
)
ONE_OF_MANY = (
    "The squared spectral norm is one of the D squared singular values whose sum, the squared "
    "Frobenius norm, makes up the trace: its part in it, and its correlation, fall with D."
)
MIRRORED = (
    "Under NTP all entries are drawn alike, so the network read backwards, $W_B^⊤, …, W_1^⊤$, is "
    "as likely: the products without the first and without the last matrix have the same "
    "distribution and the same part in the Gauss-Newton matrix, and neither can lead."
)
FEW_INPUTS = (
    "With $D = 1$ the spectral norm of the first matrix is its Frobenius norm, which drives the "
    "sharpness where its entries are the larger ones; with D the part of the largest singular "
    "value falls, and with it r."
)
SEVERAL_TERMS = (
    "The sharpness adds up the terms of all layers. Under μP that of the last one exceeds the "
    "others by about width over D. Under NTP, and under SP with $D > 1$, several terms are of "
    "similar size, and the norm behind one of them goes with a part of the sharpness only."
)
COMMON_FACTOR = (
    "The sharpness adds up a term for each layer, the squared norms of what stands before and "
    "after it multiplied. Under SP with $D = 1$ the terms of all layers but the first are of "
    "similar size and hold the norm of $W_1$ as a factor: in deep networks that common factor "
    "goes with their sum better than the last layer's term, which is one among many. The products "
    "without a middle matrix are scalars here and not what its term is made of. Under NTP, too, "
    "many terms share each norm."
)
