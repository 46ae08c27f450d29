"""The density of a small ResNet.

No theorem gives this spectrum. Lanczos quadrature estimates the density of all eigenvalues from
products with the Hessian. The band is its interval at 95 %. Most eigenvalues stay near zero.
Training pushes about as many as there are classes to the right, the largest to about $2/η$ at the
rate $η$.
"""

import matplotlib.pyplot as plt
import torch
from sklearn.datasets import load_digits
from torch import nn

from hessian_spectra import curvature as cv
from hessian_spectra import pictures


class Block(nn.Module):
    """Two convolutions and a path around them."""

    def __init__(self, channels):
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 3, padding=1)
        self.second = nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, x):
        """Add the convolutions to what goes around them."""
        return torch.relu(x + self.second(torch.relu(self.first(x))))


torch.manual_seed(0)
digits = load_digits()
images = torch.tensor(digits.images[:300] / 16, dtype=torch.float32)[:, None]
labels = torch.tensor(digits.target[:300])
head = nn.Sequential(nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(32, 10))
network = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), Block(8), Block(8), head)
loss = nn.CrossEntropyLoss()


def density():
    """The density at the parameters of the moment, from four probes."""
    hessian = cv.hessian(cv.Problem(network, loss, [(images, labels)]))
    return cv.spectral_density(hessian, probes=4, steps=40, width=0.004)


densities = {"at initialisation": density()}
optimiser = torch.optim.SGD(network.parameters(), lr=0.1)
for _ in range(300):
    optimiser.zero_grad()
    loss(network(images), labels).backward()
    optimiser.step()
densities["after training"] = density()

figure, axes = plt.subplots()
for (name, estimate), colour in zip(densities.items(), ("#7F7F7F", "#0072B2"), strict=True):
    pictures.draw_density(estimate, axes, color=colour, label=name)
    mean, error = estimate.moment(1)
    print(f"{name}: largest Ritz value {estimate.nodes.max():.1f}, mean {mean:.4f} ± {error:.4f}")
figure.savefig("resnet_density.svg")
