"""The trace and the top eigenvalues of linear networks through training (anon2026data)."""
