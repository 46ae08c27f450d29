"""The reasons why claims about norms and sharpness do not hold, where they do not."""

TWO_OF_A_KIND = (
    "Two matrices of similar magnitude contribute similarly to the sharpness. It is nearly "
    "the sum of their squared spectral norms, even before training (study {study of "
    "Appendix D.3.3}). Each of two independent terms with equal variance correlates with "
    r"their sum at about $1/\sqrt2$, so neither norm is uncorrelated. Where no D comes near "
    "the width, the matrices still differ at the largest D, and the larger one drives the "
    "correlation."
)
PROPORTIONAL = (
    "All singular values of a weight matrix with D well below the width are of similar "
    "size. Its nuclear norm is then nearly proportional to its Frobenius norm, and the two "
    "correlations nearly coincide."
)
MIRRORED = (
    "Under NTP all entries have one distribution, so the network read backwards, "
    "$W_B^⊤, …, W_1^⊤$, is as likely. The products without the first and without the last "
    "matrix then have the same distribution. On white inputs, and where D = 1, they also "
    "contribute equally to the Gauss-Newton matrix, so neither can lead. With samples of more "
    "inputs their second moments enter the term of the first alone, and one may lead a little."
)
SEVERAL_TERMS = (
    "The sharpness adds up the terms of all layers. Under μP the term of the last layer "
    "exceeds the others by about width over D. Under NTP, and under SP with $D > 1$, "
    "several terms are of similar size. The norm behind one of them then follows only part "
    "of the sharpness."
)
COMMON_FACTOR = (
    "The sharpness adds up a term for each layer: the squared norm of what precedes it "
    "times that of what follows it. Under SP with $D = 1$ the terms of all layers but the "
    "first are of similar size and contain the norm of $W_1$ as a factor. In deep networks "
    "that common factor follows their sum better than the last layer's term, which is one "
    "among many. The products without a middle matrix are scalars here and not part of its "
    "term. Under NTP, too, many terms share each norm."
)
