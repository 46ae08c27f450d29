"""A PAC-Bayes certificate.

How often is a classifier wrong on samples that it has never seen? The bound uses training samples
alone, and holds with a stated confidence for the network with randomly perturbed weights. It is
tighter where the perturbations follow the eigenbases of the layers' Hessians than in the standard
basis.
"""

import copy

import matplotlib.pyplot as plt
import torch
from sklearn.datasets import load_digits
from torch import nn

from hessian_spectra import pac_bayes

torch.manual_seed(0)
digits = load_digits()
order = torch.randperm(len(digits.target))
images = torch.tensor(digits.data / 16, dtype=torch.float32)[order]
labels = torch.tensor(digits.target)[order] // 5  # 0 to 4 against 5 to 9
data, held_out = (images[:1500], labels[:1500]), (images[1500:], labels[1500:])

before = nn.Sequential(nn.Linear(64, 8), nn.Tanh(), nn.Linear(8, 2))
network = copy.deepcopy(before)
optimiser = torch.optim.SGD(network.parameters(), lr=0.3, momentum=0.9)
for _ in range(150):
    optimiser.zero_grad()
    nn.functional.cross_entropy(network(data[0]), data[1]).backward()
    optimiser.step()
wrong = (network(held_out[0]).argmax(1) != held_out[1]).float().mean().item()

settings = {"epochs": 20, "largest_variance": 1.0}
certificates = {
    basis: pac_bayes.bound(
        network, data, prior=before, prior_saw="nothing", basis=basis, **settings
    )
    for basis in ("standard", "kronecker")
}

print(f"the network on held-out digits: {100 * wrong:.1f} % wrong")
figure, axes = plt.subplots()
for place, (basis, certificate) in enumerate(certificates.items()):
    error, bound = certificate.mean_error, certificate.bound
    print(f"{basis} basis: at most {100 * bound:.1f} %, confidence {certificate.confidence:.3f}")
    axes.bar(place, bound, 0.6, color="#CCCCCC", label="bound" if place == 0 else None)
    axes.bar(
        place,
        error,
        0.35,
        color="#0072B2",
        label="its error on training samples" if place == 0 else None,
    )
axes.axhline(wrong, color="#D55E00", label="unperturbed, held-out samples")
axes.axhline(0.5, color="black", linestyle=":", label="chance")
axes.set(xticks=[0, 1], xticklabels=[f"{basis} basis" for basis in certificates])
axes.set(ylabel="fraction of errors", ylim=(0, 0.6), xlim=(-0.5, 3.4))
axes.legend(loc="center right")
figure.savefig("certificate.svg")
