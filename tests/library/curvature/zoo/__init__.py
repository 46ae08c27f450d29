"""Networks of every kind that people have, small and in float64, with losses and data."""
