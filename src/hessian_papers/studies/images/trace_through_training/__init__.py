"""The trace of the Hessian through training, by formula and by random probes (anon2026data, 3)."""
