r"""An erratum: the print against its correction.

What is the sharpness of a two-layer linear network with whitened inputs at zero loss? In print
(singh2026cracking, appendix D.3.3) it is $\max(‖W_1‖_2^2, ‖W_2‖_2^2)$. Another paper
(anon2026data, equation 10) has the sum. A hundred random networks decide: the sum is on the
diagonal, and the maximum is below it.
"""

import matplotlib.pyplot as plt
import torch
from torch import nn

from hessian_spectra import curvature as cv

torch.manual_seed(0)
samples, size, width = 50, 4, 6
# Whitened: the columns are orthonormal, times the root of the number of samples.
x = torch.linalg.qr(torch.randn(samples, size, dtype=torch.float64))[0] * samples**0.5


def half_squares(outputs, targets):
    """Half the squared distance, averaged over the samples: the papers' loss."""
    return (outputs - targets).square().sum() / (2 * len(outputs))


measured, printed, corrected = [], [], []
for _ in range(100):
    layers = nn.Linear(size, width, bias=False), nn.Linear(width, size, bias=False)
    network = nn.Sequential(*layers).double()
    problem = cv.Problem(network, half_squares, [(x, network(x).detach())])  # at zero loss
    measured.append(cv.dense_spectrum(cv.hessian(problem)).eigenvalues[-1].item())
    squares = [torch.linalg.matrix_norm(layer.weight, ord=2).item() ** 2 for layer in layers]
    printed.append(max(squares))
    corrected.append(sum(squares))

true = torch.tensor(measured)
for name, values in {"the maximum, as printed": printed, "the sum": corrected}.items():
    error = ((torch.tensor(values) - true).abs() / true).max()
    print(f"{name}: off by {'round-off' if error < 1e-6 else f'up to {100 * error:.0f} %'}")

figure, axes = plt.subplots()
axes.axline((1, 1), slope=1, color="black", linewidth=0.8)
axes.plot(measured, printed, "x", color="#D55E00", label="as printed: the maximum")
axes.plot(measured, corrected, "o", color="#0072B2", mfc="none", label="corrected: the sum")
axes.set(xlabel="largest eigenvalue, brute force", ylabel="formula")
axes.legend()
figure.savefig("erratum.svg")
