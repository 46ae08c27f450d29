"""The pair of outlying eigenvalues of a network in training (singh2026cracking, Figure 8)."""
