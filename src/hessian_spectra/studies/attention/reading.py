"""What the readings of all studies of self-attention share."""

# Up to this share of the largest eigenvalue closed form and numerical spectrum are the same.
EXACT = 1e-10
