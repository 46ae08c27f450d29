"""Networks of vectors: layers, norms, parametrisations, and ways to put layers together."""

import warnings

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils import parametrizations

from ..cases import mlp
from .specimens import Lambda, Specimen, free, listed

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


def dense_blocks() -> nn.Module:
    return Lambda(
        lambda self, x: self.last(
            torch.cat([x, y := self.first(x).tanh(), self.second(torch.cat([x, y], 1)).tanh()], 1)
        ),
        first=nn.Linear(3, 2), second=nn.Linear(5, 2), last=nn.Linear(7, 3),
    )  # fmt: skip


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


def low_rank() -> nn.Module:
    base = nn.Linear(3, 4).requires_grad_(False)
    return Lambda(
        lambda self, x: self.head((self.base(x) + 0.5 * x @ self.down @ self.up).tanh()),
        base=base, down=free(3, 1), up=free(1, 4), head=nn.Linear(4, 3).requires_grad_(False),
    )  # fmt: skip


def hypernetwork() -> nn.Module:
    """A network whose outputs are the weights of a layer."""
    return Lambda(
        lambda self, x: functional.linear(x, self.maker(self.code).tanh().view(3, 3)),
        code=free(2), maker=nn.Linear(2, 9),
    )  # fmt: skip


def individual_weights() -> nn.Module:
    """A hypernetwork that makes weights for each sample."""
    return Lambda(
        lambda self, x: torch.einsum("nij,nj->ni", self.maker(x).view(-1, 3, 3), x.tanh()),
        maker=nn.Linear(3, 9),
    )


def autoencoder() -> nn.Module:
    """Whose decoder is the encoder's transpose."""
    return Lambda(
        lambda self, x: functional.linear(self.encoder(x).tanh(), self.encoder.weight.T, self.bias),
        encoder=nn.Linear(3, 2), bias=free(3),
    )  # fmt: skip


def coupling() -> nn.Module:
    """A layer of a normalising flow."""

    def forward(self: nn.Module, x: Tensor) -> Tensor:
        scale, shift = self.net(x[:, :1]).chunk(2, 1)
        return self.mix(torch.cat([x[:, :1], x[:, 1:] * scale.tanh().exp() + shift], 1))

    return Lambda(forward, net=nn.Sequential(nn.Linear(1, 3), nn.Tanh(), nn.Linear(3, 4)),
                  mix=nn.Linear(3, 3))  # fmt: skip


def highway() -> nn.Module:
    def forward(self: nn.Module, x: Tensor) -> Tensor:
        gate = self.gate(x).sigmoid()
        return gate * self.body(x).relu() + (1 - gate) * x

    return Lambda(forward, gate=nn.Linear(3, 3), body=nn.Linear(3, 3))


def capsules() -> nn.Module:
    """With two rounds of routing by agreement."""

    def squashed(s: Tensor) -> Tensor:
        square = s.square().sum(-1, keepdim=True)
        return s * square / ((1 + square) * (square + 1e-9).sqrt())

    def forward(self: nn.Module, x: Tensor) -> Tensor:
        votes = torch.einsum("ni,ijd->nijd", x, self.weight)
        logits = torch.zeros(votes.shape[:3], dtype=x.dtype)
        for _ in range(2):
            actual = squashed((logits.softmax(2)[..., None] * votes).sum(1))
            logits = logits + (votes * actual[:, None]).sum(-1)
        return actual.sum(-1)

    return Lambda(forward, weight=free(3, 3, 2))


def siamese() -> nn.Module:
    """Two views of a sample through the same network."""
    return Lambda(
        lambda self, x: self.head((self.body(x) - self.body(x.flip(1))).abs()),
        body=nn.Sequential(nn.Linear(3, 4), nn.Tanh()), head=nn.Linear(4, 3),
    )  # fmt: skip


def hand_made() -> nn.Module:
    """Parameters in a dictionary and a list, without layers."""
    return Lambda(
        lambda self, x: torch.addmm(self.named["bias"], (x @ self.weights[0]).sin(),
                                    self.weights[1]),
        named=nn.ParameterDict({"bias": free(3)}),
        weights=nn.ParameterList([free(3, 2), free(2, 3)]),
    )  # fmt: skip


def of_buffers() -> nn.Module:
    """Random Fourier features, which do not vary."""
    model = Lambda(
        lambda self, x: self.head(torch.cat([(x @ self.waves).sin(), (x @ self.waves).cos()], 1)),
        head=mlp(),
    )
    model.head[0] = nn.Linear(4, 4)
    model.register_buffer("waves", torch.randn(3, 2))
    return model


def spline() -> nn.Module:
    """A Kolmogorov-Arnold network of Chebyshev polynomials."""

    def forward(self: nn.Module, x: Tensor) -> Tensor:
        for weights in self.weights:
            x = torch.tanh(x)
            terms = torch.stack([torch.ones_like(x), x, 2 * x**2 - 1, 4 * x**3 - 3 * x], -1)
            x = torch.einsum("nik,iok->no", terms, weights)
        return x

    return Lambda(forward, weights=nn.ParameterList([free(3, 2, 4), free(2, 3, 4)]))


def graph(mix) -> nn.Module:
    """A convolution on a graph whose nodes are the samples."""
    return Lambda(lambda self, x: self.last(mix(self.first(x)).tanh()),
                  first=nn.Linear(3, 4), last=nn.Linear(4, 3))  # fmt: skip


def neighbours(x: Tensor) -> Tensor:
    return (x + x.roll(1, 0)) / 2


def neighbours_in_sparse_form(x: Tensor) -> Tensor:
    ring = (torch.eye(len(x)) + torch.eye(len(x)).roll(1, 0)) / 2
    return torch.sparse.mm(ring.double().to_sparse(), x)


def structured(pack, *names: str) -> nn.Module:
    return Lambda(lambda self, x: pack(self.net(x)), net=mlp())


def spectral() -> nn.Module:
    return nn.Sequential(parametrizations.spectral_norm(nn.Linear(3, 3)), nn.Tanh())


NETWORKS = listed(
    ("linear", lambda: nn.Linear(3, 3)),
    ("tanh", mlp),
    ("deep", lambda: between(*(layer for _ in range(5) for layer in (nn.Linear(4, 4), nn.Mish())))),
    ("deep and linear", lambda: between(nn.Linear(4, 4, bias=False), nn.Linear(4, 4))),
    ("rectifier in place", lambda: mlp(lambda: nn.ReLU(inplace=True))),
    ("leaky rectifier", lambda: mlp(lambda: nn.LeakyReLU(0.2))),
    ("parametric rectifier", lambda: mlp(nn.PReLU)),
    ("exponential linear unit", lambda: mlp(nn.ELU)),
    ("self-normalising", lambda: between(nn.SELU(), nn.AlphaDropout(0.1)).eval()),
    ("gated linear unit", lambda: nn.Sequential(nn.Linear(3, 6), nn.GLU(), nn.Linear(3, 3))),
    ("softmax inside", lambda: mlp(lambda: nn.Softmax(1))),
    ("maxout", lambda: Lambda(lambda self, x: self.head(self.body(x).view(-1, 3, 2).amax(2)),
                              body=nn.Linear(3, 6), head=nn.Linear(3, 3))),
    ("bilinear", lambda: Lambda(lambda self, x: self.product(x, torch.tanh(x)),
                                product=nn.Bilinear(3, 3, 3))),
    ("residual", lambda: around(nn.Sequential(nn.Linear(3, 3), nn.SiLU(), nn.Linear(3, 3)))),
    ("densely connected", dense_blocks),
    ("highway", highway),
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
    ("sine activations", lambda: Lambda(lambda self, x: self.second(torch.sin(3 * self.first(x))),
                                        first=nn.Linear(3, 4), second=nn.Linear(4, 3))),
    ("Fourier features", of_buffers),
    ("low-rank adapter", low_rank),
    ("hypernetwork", hypernetwork),
    ("weights of each sample", individual_weights),
    ("tied autoencoder", autoencoder),
    ("normalising flow", coupling),
    ("capsules", capsules),
    ("Siamese", siamese),
    ("parameters without layers", hand_made),
    ("splines", spline),
    ("radial basis functions", lambda: Lambda(
        lambda self, x: self.head((-(x[:, None] - self.centres).square().sum(-1)).exp()),
        centres=free(4, 3), head=nn.Linear(4, 3))),
)  # fmt: skip
NETWORKS += [
    Specimen("dictionary of outputs", lambda: structured(lambda y: {"logits": y, "other": 2 * y}),
             pick=lambda outputs: outputs["logits"]),
    Specimen("tuple of outputs", lambda: structured(lambda y: (y, 2 * y)),
             pick=lambda outputs: outputs[0]),
]  # fmt: skip
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
