"""The dependence of the scalar linear network's spectrum on the scale of its inputs."""
