"""The number of samples of a batch that fit into a given memory."""

import torch
from torch import Tensor

from hessian_spectra.curvature.batches import Batch, part, rows, tensors
from hessian_spectra.curvature.network import FixedNetwork, first_derivatives
from hessian_spectra.curvature.second_derivatives import FastSecondDerivatives
from hessian_spectra.validation import require

# What a product takes at its peak: so many times what the graph keeps (measured, 1.4 for GPT-2, 2.3
# for shallow perceptrons and convolutions, 3.1 for a deep and narrow perceptron), and so many
# vectors as long as θ: a copy of it, the gradient, the product, and its pieces.
_GRAPHS = 3
_VECTORS = 4


def graph_bytes(network: FixedNetwork, batch: Batch) -> int:
    """The bytes that the differentiated graph of a batch keeps, beside parameters and batch."""
    known = (*network.parameters, *tensors(batch))
    own = {tensor.untyped_storage().data_ptr() for tensor in known}
    kept: dict[int, int] = {}
    # The graph holds their places alone: with the tensors it would hold itself, for good.
    saved: list[Tensor] = []

    def count(tensor: Tensor) -> int:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            kept[storage.data_ptr()] = storage.nbytes()
        saved.append(tensor)
        return len(saved) - 1

    hooks = torch.autograd.graph.saved_tensors_hooks(count, saved.__getitem__)
    try:
        with torch.enable_grad(), FastSecondDerivatives(), hooks:
            loss, _ = network.forward(batch)
            first_derivatives(loss, network.parameters, keep_graph=True)
    finally:
        saved.clear()
    return sum(kept.values())


def rows_within(memory: int, network: FixedNetwork, batch: Batch) -> int:
    """The number of samples of a batch that may be differentiated together.

    Args:
        memory: bytes that a product may take at its peak, with the graph.
        network: the network that is differentiated.
        batch: a batch, whose samples are taken to need as much as any.

    Raises:
        ValueError: a single sample takes more.
    """
    length = rows(batch) or 1
    sample = graph_bytes(network, part(batch, 0, 1))
    few = min(length, 3)
    each = (graph_bytes(network, part(batch, 0, few)) - sample) / (few - 1) if few > 1 else sample
    fixed = max(0.0, sample - each)
    vectors = _VECTORS * sum(weights.nbytes for weights in network.parameters)
    smallest = int(vectors + _GRAPHS * sample) + 1
    expected = f"at least {smallest} bytes, which one sample takes"
    require(smallest <= memory, "memory", expected, memory)
    return max(1, int(((memory - vectors) / _GRAPHS - fixed) / each)) if each > 0 else length
