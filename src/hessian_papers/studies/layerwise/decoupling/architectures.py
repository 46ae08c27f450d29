"""The architectures of a study that each claim is about."""

import re
from collections.abc import Callable, Iterator
from itertools import permutations, product

from hessian_papers.ledger.statements import Labels
from hessian_papers.studies.layerwise.decoupling.reading import NORMALISED, Reading

# F-n^m: m hidden layers of n.
_SIZES = re.compile(r"F-(?P<width>\d+)(?:\^(?P<depth>\d+))?$")


def each(of: str) -> Callable[[Reading], list[Labels]]:
    """A case for each of some architectures: all ``networks``, ``plain`` or ``normalised``."""
    return lambda reading: [{"network": name} for name in getattr(reading, of)]


NETWORKS, PLAIN, NORMALISED_ONES = map(each, ("networks", "plain", "normalised"))


def followed(reading: Reading) -> list[Labels]:
    """All architectures, of a run that has networks before their training and after."""
    both = len(reading["epoch"]) > 1 and reading["epoch"][0] == 0
    return NETWORKS(reading) if both else []


def pairs(reading: Reading) -> list[Labels]:
    """The architectures with batch normalisation that are there without it, too."""
    names = [name.removesuffix(NORMALISED) for name in reading.normalised]
    return [{"network": name} for name in names if name in reading.plain]


def matrices(random: bool) -> Callable[[Reading], Iterator[Labels]]:
    """The two matrices of each architecture, if the labels are random, or if they are true."""

    def cases(reading: Reading) -> Iterator[Labels]:
        # Runs that were recorded before that was kept have the labels of their artifact.
        if "random_labels" not in reading or reading["random_labels"].any() == random:
            for network, matrix in product(reading.plain, ("output", "hessian")):
                yield {"network": network, "matrix": matrix}

    return cases


def others(reading: Reading) -> list[Labels]:
    """What may be nearer to the Hessian: the best product, and EKFAC's eigenvalues."""
    each = product(reading.networks, ("nearest", "corrected"))
    return [{"network": name, "other": other} for name, other in each]


def sizes(reading: Reading) -> Iterator[Labels]:
    """Two fully connected architectures of which one is wider, or deeper, and otherwise alike."""
    for larger, smaller in permutations(reading.plain, 2):
        first, second = _SIZES.match(larger), _SIZES.match(smaller)
        if first is None or second is None:
            continue
        width, depth = (
            int(first[name] or 1) - int(second[name] or 1) for name in ("width", "depth")
        )
        if (width > 0 and depth == 0) or (depth > 0 and width == 0):
            yield {"larger": larger, "smaller": smaller, "what": "deeper" if depth else "wider"}
