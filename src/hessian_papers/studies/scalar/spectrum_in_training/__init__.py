"""The spectrum of a small network in training: the outlier pair, bulk eigenspaces, many inputs."""
