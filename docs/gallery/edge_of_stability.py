"""The edge of stability.

Gradient descent with rate $η$ is stable while the sharpness, the largest eigenvalue of the Hessian,
is below $2/η$. A tracker measures it during training and disturbs nothing. The sharpness rises from
the same start. Of the two larger rates it settles at the dashed line, and goes no further.
"""

import copy

import matplotlib.pyplot as plt
import torch
from torch import nn

from hessian_spectra import curvature as cv

torch.manual_seed(0)
inputs = torch.randn(50, 5)
targets = inputs[:, :1] * inputs[:, 1:2] + inputs[:, 2:3]
start = nn.Sequential(nn.Linear(5, 20), nn.Tanh(), nn.Linear(20, 1))
loss = nn.MSELoss()


def trained(rate, steps=1500):
    """The history of a training from the same start."""
    network = copy.deepcopy(start)
    optimiser = torch.optim.SGD(network.parameters(), lr=rate)
    tracker = cv.SharpnessTracker(network, loss, [(inputs, targets)], every=25)
    for step in range(steps):
        optimiser.zero_grad()
        loss(network(inputs), targets).backward()
        optimiser.step()
        tracker.step(step)
    return tracker.history


figure, axes = plt.subplots()
histories = {rate: trained(rate) for rate in (0.05, 0.15, 0.2)}
for (rate, history), colour in zip(
    histories.items(), ("#7F7F7F", "#0072B2", "#D55E00"), strict=True
):
    steps = [record.step for record in history]
    values = [record.sharpness for record in history]
    axes.plot(steps, values, color=colour, label=f"rate η = {rate}")
    if 2 / rate < 20:
        axes.axhline(2 / rate, color=colour, linestyle="--", linewidth=1)
    print(f"rate {rate}: last sharpness {values[-1]:.1f}, stable below {2 / rate:.1f}")
axes.set(xlabel="step", ylabel="sharpness", ylim=(0, None))
axes.legend()
figure.savefig("edge_of_stability.svg")
