"""Samples for the tests, declared as the kinds of data declare theirs."""

import numpy as np

from hessian_papers.data.tools.pairs import SCALARS, SEQUENCES, VECTOR_SEQUENCES, VECTORS
from hessian_papers.labelled import data_set

DECLARED = {(1, 1): SCALARS, (2, 1): VECTORS, (2, 2): SEQUENCES, (3, 3): VECTOR_SEQUENCES}


def samples(x, y):
    """Inputs and targets as a data set."""
    x, y = np.asarray(x), np.asarray(y)
    return data_set({"x": x, "y": y}, DECLARED[x.ndim, y.ndim])
