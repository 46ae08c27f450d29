"""A spectrum against theory.

A two-layer linear network of width $m$ on scalar data has $2m$ eigenvalues. Theorem 3.1 of
singh2026cracking gives all of them: a bulk of $±δx$, each $m - 1$ times, and two outliers. Rings
are the theorem. Dots are brute force: automatic differentiation and a dense eigen-solver.
"""

import matplotlib.pyplot as plt
import torch
from torch import nn

from hessian_spectra import closed_form as cf
from hessian_spectra import curvature as cv
from hessian_spectra import pictures

torch.manual_seed(0)
x = torch.randn(100, 1, dtype=torch.float64)
y = 2 * x + torch.randn(100, 1, dtype=torch.float64)
network = nn.Sequential(nn.Linear(1, 10, bias=False), nn.Linear(10, 1, bias=False)).double()
loss = nn.MSELoss()

exact = cf.of(network, (x, y), loss)  # the library recognises the network and picks the theorem
hessian = cv.hessian(cv.Problem(network, loss, [(x, y)]))
numerical = cv.dense_spectrum(hessian)

error = (exact.eigenvalues - numerical.eigenvalues).abs().max() / numerical.eigenvalues.abs().max()
print(exact.method)
print(f"outliers: {[round(value, 4) for value in exact.select('outlier').tolist()]}")
print(f"they differ by round-off: {bool(error < 1e-12)}")

figure, axes = plt.subplots()
pictures.draw_spectrum(exact, axes, beside=numerical)
figure.savefig("spectrum_and_theory.svg")
