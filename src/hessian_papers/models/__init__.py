"""The papers' networks beside those that theorems are about: float64 modules."""
