"""The eigenvalues of a symmetric 2 x 2 matrix."""
