"""The names of image sets, as people write them."""

NAMES = {"mnist": "MNIST", "fashion-mnist": "Fashion-MNIST"}


def image_set(source: str) -> str:
    """The name of an image set as a title, without the split that a file's name tells.

    Example:
        >>> image_set("fashion-mnist"), image_set("cifar10-train"), image_set("my-own")
        ('Fashion-MNIST', 'CIFAR-10', 'my-own')
    """
    return "CIFAR-10" if source.startswith("cifar10") else NAMES.get(source, source)
