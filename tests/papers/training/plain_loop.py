"""One network at a time with modules, autograd, SGD and a scheduler: the oracle of ensembles."""

from dataclasses import dataclass

import torch

from hessian_spectra.models import HalfSquaredError
from hessian_spectra.seeding import generator


@dataclass(frozen=True)
class Plain:
    weights: list
    loss: float
    epochs: int
    status: int
    rate: float


def train(network, x, y, number, *, learning_rate, factors, seed, epochs, batch_size,
          order="own", smallest_rate=1e-5, factor=0.1, patience=10, threshold=1e-4,
          loss_limit=1e12):  # fmt: skip
    loss = HalfSquaredError("sample")
    groups = [
        {"params": [weight], "lr": learning_rate * each, "factor": each}
        for weight, each in zip(network.parameters(), factors, strict=True)
    ]
    optimizer = torch.optim.SGD(groups, lr=learning_rate)
    # The scheduler sees the base rate only.
    base = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=learning_rate)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(
        base, factor=factor, patience=patience, threshold=threshold, min_lr=smallest_rate, eps=0
    )
    orders = generator(seed, "order" if order == "shared" else f"order {number}")

    def end(status):
        weights = [weight.detach() for weight in network.parameters()]
        return Plain(weights, full, epoch, status, rate)

    for epoch in range(1, epochs + 1):  # noqa: B007
        rate = base.param_groups[0]["lr"]
        for group in optimizer.param_groups:
            group["lr"] = rate * group["factor"]
        for chosen in torch.randperm(len(x), generator=orders).split(batch_size):
            optimizer.zero_grad()
            loss(network(x[chosen]), y[chosen]).backward()
            optimizer.step()
        with torch.no_grad():
            full = loss(network(x), y).item()
        if not full <= loss_limit:
            return end(2)
        worse = not full < scheduler.best * (1 - threshold)
        over = worse and scheduler.num_bad_epochs == patience
        scheduler.step(full)
        if over and base.param_groups[0]["lr"] == rate:
            return end(0)
    return end(1)
