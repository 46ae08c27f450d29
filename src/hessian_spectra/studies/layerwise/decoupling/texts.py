"""What claims have in common, and what the caption says of each architecture, in numbers."""

import numpy as np

from hessian_spectra.ledger.bounds import NothingToMeasure
from hessian_spectra.studies.layerwise.decoupling.reading import Reading

# A bound's reason, and why a claim may differ.
OPEN = "the paper leaves open how much; set after a first look at small networks on digits"
SMALL = (
    "The paper has networks of hundreds of neurons, trained for 1000 epochs on MNIST or CIFAR-10. "
    "In small ones, and early, the inputs of a layer vary as much as their mean."
)
OVERLAPS = {"overlap": "overlap", "corrected_overlap": "with EKFAC's eigenvalues"}


def numbers(reading: Reading) -> str:
    """The worst layers of each architecture."""
    texts = []
    for network in reading.networks:
        spectral = reading.of("spectral", network).mean(axis=0)
        if not np.isfinite(spectral).all():
            continue
        text = f"{network}: error of the product {spectral.min():.2f} to {spectral.max():.2f}"
        for name, words in OVERLAPS.items():
            try:
                overlap = reading.top_overlap(network, name).mean(axis=0)
            except NothingToMeasure:
                continue
            text += f", {words} {overlap.min():.2f} to {overlap.max():.2f}"
        texts.append(text)
    return "; ".join(texts)


def table(reading: Reading) -> str:
    """What Tables 6, 7 and 9 have of the networks, for the layers but the first."""
    texts = []
    for network in reading.networks:
        for kind in ("fc", "conv"):
            try:
                both = [
                    reading.of_kind(name, network, kind)
                    for name in ("mean_aligned", "spectral_ratio")
                ]
            except NothingToMeasure:
                continue
            numbers = [f"{v.mean():.4g} ({v.min():.4g} to {v.max():.4g})" for v in both]
            texts.append(f"{network}, {kind}: {numbers[0]} and {numbers[1]}")
    return "; ".join(texts)
