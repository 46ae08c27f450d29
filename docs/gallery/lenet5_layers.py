"""The layers of LeNet5 and their Kronecker factors.

Is the Hessian of a layer's weight the Kronecker product of $E[M]$, of its outputs, and $E[xx^⊤]$,
of its inputs? The panels show the ten largest eigenvalues of both, and above them the overlap of
the top eigenspaces. The product is close in the linear layers, and less so in the convolutions.
"""

import matplotlib.pyplot as plt
import torch
from sklearn.datasets import load_digits
from torch import nn

from hessian_spectra import curvature as cv

torch.manual_seed(0)
digits = load_digits()
images = torch.tensor(digits.images[:300] / 16, dtype=torch.float32)[:, None]
images = nn.functional.interpolate(images, size=(32, 32), mode="bilinear")
labels = torch.tensor(digits.target[:300])

lenet5 = nn.Sequential()
for name, layer in {
    "conv1": nn.Conv2d(1, 6, 5),
    "pool1": nn.Sequential(nn.ReLU(), nn.MaxPool2d(2)),
    "conv2": nn.Conv2d(6, 16, 5),
    "pool2": nn.Sequential(nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()),
    "fc1": nn.Linear(400, 120),
    "relu1": nn.ReLU(),
    "fc2": nn.Linear(120, 84),
    "relu2": nn.ReLU(),
    "fc3": nn.Linear(84, 10),
}.items():
    lenet5.add_module(name, layer)
loss = nn.CrossEntropyLoss()

optimiser = torch.optim.Adam(lenet5.parameters(), lr=0.002)
for _ in range(30):
    optimiser.zero_grad()
    loss(lenet5(images), labels).backward()
    optimiser.step()

problem = cv.Problem(lenet5, loss, [(images, labels)])
layers = cv.layerwise(problem, ["conv1", "conv2", "fc1", "fc2", "fc3"])  # one pass for all
figure, panels = plt.subplots(1, 5, figsize=(7.2, 3.4), sharey=True)
for (name, layer), axes in zip(layers.items(), panels, strict=True):
    exact, product = cv.top_eigenpairs(layer.hessian, k=10), layer.kronecker(10)
    overlap = cv.subspace_overlap(exact.eigenvectors(), product.eigenvectors())
    print(f"{name} {layer.shape}: overlap of the top ten {overlap:.2f}")
    ranks = range(1, 11)
    axes.semilogy(ranks, exact.eigenvalues.flip(0), "o", color="#0072B2", label="Hessian")
    axes.semilogy(ranks, product.eigenvalues.flip(0), "-", color="#D55E00", label="product")
    axes.set(title=f"{name}: {overlap:.2f}", xlabel="rank", xticks=[1, 5, 10])
panels[0].set_ylabel("eigenvalue")
panels[-1].legend(loc="lower left")
figure.savefig("lenet5_layers.svg")
