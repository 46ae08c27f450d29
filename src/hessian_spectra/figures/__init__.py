"""The figures: one module per kind of study, from arrays to a matplotlib figure, without torch."""
