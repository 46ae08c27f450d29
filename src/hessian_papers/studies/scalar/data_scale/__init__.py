"""How the spectrum of the scalar linear network depends on the scale of its inputs."""
