"""One of two processes at work on its own share of the data; see test_data_parallel."""

import copy
import os
import warnings
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn

from hessian_spectra import curvature as cv

from .cases import built, classes, normal

RANKS = 2
SAMPLES, PARAMETERS = 11, 35
INPUTS, LABELS = normal(SAMPLES, 4), classes(SAMPLES)
# Of 3 samples and of 8, 3 and 5 count.
IGNORED = torch.where(torch.arange(SAMPLES) > 7, -100, LABELS)
CUTS = (3, 7, SAMPLES)
# Which batches each process has.
SHARES = ((0,), (1, 2))


def network() -> nn.Module:
    return built(lambda: nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 3)))


def mean_of_own_kind(model, batch):
    """A loss that does not say what it is the mean over, with its outputs."""
    inputs, targets = batch
    outputs = model(inputs)
    return (outputs.exp() - targets[:, None]).square().mean(), outputs


SETTINGS = {
    "mean": {"loss": nn.CrossEntropyLoss()},
    "sum": {"loss": nn.CrossEntropyLoss(reduction="sum")},
    "weights": {"loss_fn": mean_of_own_kind, "weights": lambda batch: len(batch[0])},
}
OPERATORS = {"hessian": cv.hessian, "ggn": cv.ggn}
VECTORS = normal(PARAMETERS, 2, seed=3)


def batches(numbers, setting):
    targets = LABELS if setting == "weights" else IGNORED
    pieces = zip(INPUTS.tensor_split(CUTS[:-1]), targets.tensor_split(CUTS[:-1]), strict=True)
    return [piece for number, piece in enumerate(pieces) if number in numbers]


def problem(setting, numbers, model=None):
    return cv.Problem(model or network(), data=batches(numbers, setting), **SETTINGS[setting])


def refused(build):
    """The message of the error, which every process has to get."""
    try:
        build()
    except (ValueError, cv.OperatorError) as error:
        return f"{type(error).__name__}: {error}"
    return None


def work(rank: int, folder: Path) -> None:
    """Write the products and messages of this process to ``<rank>.pt``."""
    warnings.simplefilter("error")
    torch.set_num_threads(1)
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    dist.init_process_group(
        "gloo", init_method=f"file://{folder}/group", rank=rank, world_size=RANKS
    )
    actual = {}
    for setting in SETTINGS:
        for name, kind in OPERATORS.items():
            operator = cv.data_parallel(kind(problem(setting, SHARES[rank])))
            actual[setting, name] = operator @ VECTORS, operator @ VECTORS[:, 0]
    top = cv.top_eigenpairs(cv.data_parallel(cv.hessian(problem("mean", SHARES[rank]))), k=2)
    actual["top"] = top.eigenvalues
    actual["messages"] = messages(rank)
    torch.save(actual, folder / f"{rank}.pt")
    dist.destroy_process_group()


def messages(rank):
    """The messages of refusals, by name."""
    share = SHARES[rank]
    other = network()
    with torch.no_grad():
        other[0].bias[0] += 1e-15 * rank
    moved = cv.hessian(problem("mean", share, other))
    mixed = cv.hessian(problem(("mean", "sum")[rank], share))
    wrapped = nn.parallel.DistributedDataParallel(copy.deepcopy(other))
    # One batch with a loss of one's own: nothing is known of what it counts.
    unknown = cv.Problem(network(), data=batches(share, "weights"), loss_fn=mean_of_own_kind)
    tried = {
        "other parameters": moved,
        "mean and sum": mixed,
        "wrapped": cv.hessian(problem("mean", share, wrapped)),
        "unknown": cv.hessian(unknown),
    }
    return {key: refused(lambda at=at: cv.data_parallel(at)) for key, at in tried.items()}
