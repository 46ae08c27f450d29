"""The sharpness of balanced solutions against depth and the spectral norm of the labels."""
