"""Studies: every theorem, equation and erratum against brute force."""
