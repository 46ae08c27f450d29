"""Small networks, and what is drawn from posteriors of them by brute force."""

import copy

import torch
from torch.func import functional_call, vmap
from torch.nn import functional


class BrokenError(Exception):
    """The end of an interrupted process."""


def trained(model, x, y, steps=30, rate=0.05):
    """A copy of a network that was trained on all samples."""
    model = copy.deepcopy(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    for _ in range(steps):
        optimizer.zero_grad()
        functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    return model


def drawn_weights(posterior, model, mean, scale, noise):
    """The weights by name of networks from ``noise (n, P)``, with every ``W + U E Vᵀ`` formed."""
    state, start, entries = {}, 0, noise * scale.exp()
    for name in posterior.names:
        module, basis = model.get_submodule(name), posterior.bases[name]
        shape = len(module.weight), module.weight[0].numel()
        end = start + shape[0] * shape[1]
        u, v = (
            torch.eye(size).to(mean) if columns is None else columns
            for size, columns in zip(shape, (basis.outputs, basis.inputs), strict=True)
        )
        part = entries[:, start:end]
        if basis.whole is not None:
            part = part @ basis.whole.T
        else:
            part = (u @ part.view(-1, *shape) @ v.T).flatten(1)
        state[f"{name}.weight"] = (mean[start:end] + part).view(-1, *module.weight.shape)
        start = end
        if module.bias is not None:
            start, end = end + shape[0], end
            state[f"{name}.bias"] = mean[end:start] + entries[:, end:start] @ u.T
    return state


def drawn_scores(posterior, model, mean, scale, noise, x):
    """The scores ``(n, samples, c)`` of these networks."""
    state = drawn_weights(posterior, model, mean, scale, noise)
    return vmap(lambda weights: functional_call(model, weights, (x,)))(state)


def agree(actual, expected):
    """Scores of one sample ``(n, c)`` have the mean and the covariance of ``expected``."""
    error = 5 * expected.std(dim=0) / len(expected) ** 0.5
    assert ((actual.mean(dim=0) - expected.mean(dim=0)).abs() < error).all()
    spread = torch.cov(expected.T)
    assert float((torch.cov(actual.T) - spread).norm() / spread.norm()) < 0.12
