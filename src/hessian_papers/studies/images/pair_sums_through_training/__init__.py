"""The top eigenvalues of two-layer networks through training (anon2026data, Figure 4)."""
