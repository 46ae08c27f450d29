"""Networks of vectors: layers, norms, parametrisations, and ways to put layers together."""

import warnings

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrizations

from ..cases import mlp
from .specimens import Lambda, free, listed

# Where batches are of other functions each.
TRAINING = r"batch norm in training mode .*call model.eval\(\) or give the data as one batch"
MIXED = "(samples of a batch are mixed|model mixes their samples).*give the data as one batch"
noticed: list[str] = []


def twice() -> nn.Module:
    layer = nn.Linear(3, 3)
    return nn.Sequential(layer, nn.Tanh(), layer, nn.Linear(3, 3))


def compiled() -> nn.Module:
    first = torch.compile(nn.Linear(3, 4), backend="eager")
    return nn.Sequential(first, nn.GELU(), nn.Linear(4, 3))


def old_weight_norm() -> nn.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        return nn.Sequential(nn.utils.weight_norm(nn.Linear(3, 4)), nn.Tanh(), nn.Linear(4, 3))


def hooked() -> nn.Module:
    """With hooks that scale, and that note what the user wants to know."""

    def before(module: nn.Module, inputs: tuple[Tensor]) -> tuple[Tensor]:
        noticed.append("before")
        return (inputs[0] * 0.5,)

    def after(module: nn.Module, inputs: tuple[Tensor], output: Tensor) -> Tensor:
        noticed.append("after")
        return output * 2

    model = mlp()
    model[0].register_forward_hook(after)
    model[2].register_forward_pre_hook(before)
    return model


def frozen_at_the_top() -> nn.Module:
    model = mlp()
    model[2].requires_grad_(False)
    return model


def around(body: nn.Module) -> nn.Module:
    """A residual network."""
    return Lambda(lambda self, x: self.head(x + self.body(x)), body=body, head=nn.Linear(3, 3))


def evaluated(*layers: nn.Module) -> nn.Module:
    """After a batch in training mode, so that running statistics are not those of the start."""
    model = nn.Sequential(*layers)
    for module in model.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm):
            module.running_mean.uniform_(-1, 1)
            module.running_var.uniform_(0.5, 2)
    return model.eval()


def between(*layers: nn.Module) -> nn.Sequential:
    """Layers of width 4 between two linear ones."""
    return nn.Sequential(nn.Linear(3, 4), *layers, nn.Linear(4, 3))


def half_trained() -> nn.Module:
    """One batch norm of two still takes the batch's statistics."""
    model = evaluated(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Tanh(), nn.BatchNorm1d(4))
    model[3].train()
    return model.append(nn.Linear(4, 3))


def hand_made() -> nn.Module:
    """Parameters in a dictionary and a list, without layers."""
    return Lambda(
        lambda self, x: torch.addmm(self.named["bias"], (x @ self.weights[0]).sin(),
                                    self.weights[1]),
        named=nn.ParameterDict({"bias": free(3)}),
        weights=nn.ParameterList([free(3, 2), free(2, 3)]),
    )  # fmt: skip


def graph(mix) -> nn.Module:
    """A convolution on a graph whose nodes are the samples."""
    return Lambda(lambda self, x: self.last(mix(self.first(x)).tanh()),
                  first=nn.Linear(3, 4), last=nn.Linear(4, 3))  # fmt: skip


def neighbours(x: Tensor) -> Tensor:
    return (x + x.roll(1, 0)) / 2


def neighbours_in_sparse_form(x: Tensor) -> Tensor:
    ring = (torch.eye(len(x)) + torch.eye(len(x)).roll(1, 0)) / 2
    return torch.sparse.mm(ring.double().to_sparse(), x)


def spectral() -> nn.Module:
    return nn.Sequential(parametrizations.spectral_norm(nn.Linear(3, 3)), nn.Tanh())


NETWORKS = listed(
    ("linear", lambda: nn.Linear(3, 3)),
    ("tanh", mlp),
    ("deep", lambda: between(*(layer for _ in range(5) for layer in (nn.Linear(4, 4), nn.Mish())))),
    ("rectifier in place", lambda: mlp(lambda: nn.ReLU(inplace=True))),
    ("softmax inside", lambda: mlp(lambda: nn.Softmax(1))),
    ("bilinear", lambda: Lambda(lambda self, x: self.product(x, torch.tanh(x)),
                                product=nn.Bilinear(3, 3, 3))),
    ("residual", lambda: around(nn.Sequential(nn.Linear(3, 3), nn.SiLU(), nn.Linear(3, 3)))),
    ("module used twice", twice),
    ("frozen layer", frozen_at_the_top),
    ("unused layer", lambda: Lambda(lambda self, x: self.used(x) ** 2,
                                    used=nn.Linear(3, 3), unused=nn.Linear(2, 2))),
    ("hooks", hooked),
    ("compiled layer", compiled),
    ("layer norm", lambda: between(nn.LayerNorm(4), nn.GELU())),
    ("root-mean-square norm", lambda: between(nn.RMSNorm(4))),
    ("batch norm, evaluated", lambda: evaluated(*between(nn.BatchNorm1d(4), nn.Tanh()))),
    ("dropout, evaluated", lambda: between(nn.Dropout(0.5), nn.Tanh()).eval()),
    ("weight norm", lambda: nn.Sequential(
        parametrizations.weight_norm(nn.Linear(3, 4)), nn.Tanh(), nn.Linear(4, 3))),
    ("weight norm of old", old_weight_norm),
    ("spectral norm", lambda: spectral().eval()),
    ("orthogonal", lambda: nn.Sequential(
        parametrizations.orthogonal(nn.Linear(3, 3, bias=False)), nn.Tanh())),
    ("parameters without layers", hand_made),
)  # fmt: skip
NETWORKS += listed(
    ("batch norm", lambda: between(nn.BatchNorm1d(4), nn.Tanh())),
    ("batch norm, half evaluated", half_trained),
    mixed=TRAINING,
)  # fmt: skip
NETWORKS += listed(
    ("batch norm without statistics",
     lambda: between(nn.BatchNorm1d(4, track_running_stats=False), nn.Tanh()).eval()),
    mixed=r"batch norm without statistics .*give the data as one batch",
)  # fmt: skip
NETWORKS += listed(
    ("standardised over the batch",
     lambda: graph(lambda x: (x - x.mean(0)) / (x.var(0, correction=0) + 1e-3).sqrt())),
    ("graph", lambda: graph(neighbours)),
    ("sparse graph", lambda: graph(neighbours_in_sparse_form)),
    ("attention over the batch", lambda: graph(lambda x: (x @ x.T).softmax(1) @ x)),
    mixed=MIXED,
)  # fmt: skip
NETWORKS += listed(
    ("dropout", lambda: between(nn.Dropout(0.5), nn.Tanh())),
    refused=r"dropout (or batch norm )?in training mode .*: call model.eval",
)
