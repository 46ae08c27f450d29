"""A network of one's own, as ``hessian-spectra inspect docs.mine:factory`` takes it."""

import torch
from sklearn.datasets import load_digits
from torch import nn


def factory():
    """A network that was trained on 300 handwritten digits, its loss, and these digits."""
    torch.manual_seed(0)
    digits = load_digits()
    images = torch.tensor(digits.images[:300, None] / 16, dtype=torch.float32)
    labels = torch.tensor(digits.target[:300])
    network = nn.Sequential()
    for name, layer in {
        "conv1": nn.Conv2d(1, 8, 3),
        "pool": nn.Sequential(nn.GELU(), nn.MaxPool2d(2)),
        "conv2": nn.Conv2d(8, 16, 2),
        "flat": nn.Sequential(nn.GELU(), nn.Flatten()),
        "hidden": nn.Linear(64, 16),
        "bend": nn.GELU(),
        "logits": nn.Linear(16, 10),
    }.items():
        network.add_module(name, layer)
    loss = nn.CrossEntropyLoss()
    optimiser = torch.optim.Adam(network.parameters(), lr=0.01)
    for _ in range(40):
        optimiser.zero_grad()
        loss(network(images), labels).backward()
        optimiser.step()
    return network, loss, [(images, labels)]
