"""What figures and claims of the balanced networks' studies share."""

# What a closed form and a numerical spectrum may differ by, relative to the largest eigenvalue.
EXACT = 1e-10
