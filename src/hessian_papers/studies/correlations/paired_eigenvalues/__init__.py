"""Two eigenvalues that sum to tr(H)/D, or to nearly that."""
