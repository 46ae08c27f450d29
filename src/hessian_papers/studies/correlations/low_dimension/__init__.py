"""Whether the product without the last matrix leads most where networks have few inputs."""
