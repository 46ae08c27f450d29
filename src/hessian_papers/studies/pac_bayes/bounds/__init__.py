"""PAC-Bayes bounds of trained networks by method."""
