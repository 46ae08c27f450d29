"""What studies of image networks through their training have in common."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from hessian_papers.networks.tools.images import split
from hessian_spectra.files import Arrays


def at_epochs(
    sides: Mapping[str, Arrays], config: Mapping[str, Any]
) -> Iterator[tuple[Arrays, Arrays, Arrays]]:
    """What is known of each network at each epoch, and both sides' arrays of it there."""
    networks = (split(sides[side]) for side in ("closed_form", "numerics"))
    for exact, numeric in zip(*networks, strict=True):
        facts = {name: exact[name] for name in ("source", "replicate", "floor", "diverged_at")}
        facts |= {"features": exact["rank"], "samples": exact["samples"]}
        facts["width"] = exact.get("width", np.array(config["width"]))
        for at in range(len(exact["epoch"])):
            course = {name: exact[name][at] for name in ("epoch", "loss", "rate")}
            own = {name: array[at] for name, array in exact.items() if array.ndim}
            yield facts | course, own, {name: array[at] for name, array in numeric.items()}
