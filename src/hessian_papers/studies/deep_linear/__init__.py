"""Studies: deep linear networks at chosen weights."""
