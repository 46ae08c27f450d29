"""The bulk of two named layers of a user's network, against its dense Hessian, and refusals."""

import copy

import pytest
import torch
from torch import nn
from torch.func import functional_call

from hessian_spectra import closed_form as cf
from hessian_spectra.models import HalfSquaredError

CE, MSE = nn.CrossEntropyLoss(), nn.MSELoss()


def numbers(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


X, LABELS, TWO = numbers(9, 4), torch.arange(9) % 3, numbers(9, 2, seed=1)


class Transformer(nn.Module):
    """Attention on embedded tokens, a wide adapter without activation, and logits."""

    def __init__(self):
        super().__init__()
        self.embedding, self.norm = nn.Embedding(5, 2), nn.LayerNorm(2)
        self.query, self.key, self.value = nn.Linear(2, 2), nn.Linear(2, 2), nn.Linear(2, 2)
        self.up, self.down, self.head = nn.Linear(2, 7), nn.Linear(7, 2), nn.Linear(2, 5)

    def forward(self, tokens):
        x = self.embedding(tokens)
        scores = self.query(x) @ self.key(x).mT
        x = x + scores.softmax(-1) @ self.value(x)
        x = x + torch.tanh(self.down(self.up(self.norm(x))))
        return self.head(x).mT


class Twice(nn.Module):
    """The same two layers, two times, one after the other."""

    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(2, 8), nn.Linear(8, 2)

    def forward(self, x):
        for _ in range(2):
            x = torch.tanh(self.down(self.up(x)))
        return x


def network(inputs, width, outputs, *, bias=True, last=None):
    """Linear layers '2' and '3' between others with activations, or a last layer of its own."""
    behind = [nn.GELU(), nn.Linear(outputs, 3)] if last is None else last
    first = nn.Linear(inputs, width, bias=bias)
    return nn.Sequential(nn.Linear(4, inputs), nn.Tanh(), first, nn.Linear(width, outputs), *behind)


def frozen(model, *names):
    for name in names:
        model.get_parameter(name).requires_grad_(False)
    return model


def zeroed(model, name):
    nn.init.zeros_(model.get_parameter(name))
    return model


def accepted():
    """Network, loss, data and layers, with the number of copies of each value of a sign."""
    middle, tokens = ("2", "3"), torch.arange(12).view(3, 4) % 5
    wide = nn.Sequential(nn.Linear(4, 16, bias=False), nn.Linear(16, 4))
    start = nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 2), nn.Tanh(), nn.Linear(2, 3))
    norm = [nn.LayerNorm(3), nn.Tanh(), nn.Linear(3, 3)]
    return {
        "a bias that varies": (network(3, 8, 2), CE, X, LABELS, middle, 8 - 4 - 2 + 1),
        "no bias": (network(3, 8, 2, bias=False), CE, X, LABELS, middle, 8 - 3 - 2 + 1),
        "a frozen bias": (
            frozen(network(3, 8, 2), "2.bias"), CE, X, LABELS, middle, 7 - 3 - 2 + 1
        ),
        "a frozen bias of 0": (
            frozen(zeroed(network(3, 8, 2), "2.bias"), "2.bias"), CE, X, LABELS, middle,
            8 - 3 - 2 + 1,
        ),
        "other layers frozen": (
            frozen(network(3, 8, 2), "0.weight", "0.bias", "5.bias"), CE, X, LABELS, middle,
            8 - 4 - 2 + 1,
        ),
        "logits": (
            network(2, 8, 3, bias=False, last=[]), CE, X, LABELS, middle, 8 - 2 - 2 + 1
        ),
        "a layer norm behind": (network(3, 9, 3, last=norm), CE, X, LABELS, middle, 9 - 4 - 2 + 1),
        "fewer samples than inputs": (start, CE, X[:2], LABELS[:2], ("0", "1"), 8 - 2 - 2 + 1),
        "an MLP of width 4D": (wide, MSE, X, X, ("0", "1"), 16 - 4 - 4 + 1),
        "an adapter in a transformer": (
            Transformer(), CE, tokens, tokens.flip(0), ("up", "down"), 7 - 3 - 2 + 1
        ),
        "applied twice": (Twice(), HalfSquaredError("sample"), TWO, TWO.flip(0), ("up", "down"), 4),
        "W_2 = 0": (
            zeroed(network(2, 9, 2), "3.weight"), CE, X, LABELS, middle, 9 - 3
        ),
        "an identity between": (
            nn.Sequential(nn.Linear(4, 9), nn.Identity(), nn.Dropout(0), nn.Linear(9, 3)),
            CE, X, LABELS, ("0", "3"), 9 - 5 - 2 + 1,
        ),
        "a function as the loss": (
            network(2, 8, 2, last=[]), lambda f, y: (f.sin() * y).sum() + f.pow(4).mean(),
            X, TWO, middle, 8 - 3 - 2 + 1,
        ),
    }  # fmt: skip


def hessian_of(model, loss, x, y):
    """The Hessian in the parameters that vary, in float64."""
    model = copy.deepcopy(model).double()
    varying = {name: p.detach() for name, p in model.named_parameters() if p.requires_grad}

    def of(theta):
        pieces = theta.split([p.numel() for p in varying.values()])
        named = zip(varying.items(), pieces, strict=True)
        state = {name: piece.view_as(p) for (name, p), piece in named}
        return loss(functional_call(model, state, (x,)), y)

    theta = torch.cat([p.flatten() for p in varying.values()])
    return torch.autograd.functional.hessian(of, theta)


def double(data):
    return data.double() if data.is_floating_point() else data


@pytest.fixture(scope="module")
def cases():
    torch.manual_seed(0)
    return accepted()


@pytest.mark.parametrize("name", accepted())
def test_eigenvectors_of_the_whole_hessian_as_often_as_brute_force_has_them(cases, name):
    model, loss, x, y, layers, copies = cases[name]
    state = {key: value.clone() for key, value in model.state_dict().items()}
    part = cf.bulk_of(model, [(x, y)], loss, layers=layers)
    matrix = hessian_of(model, loss, double(x), double(y))
    vectors, size = part.eigenvectors(), float(matrix.abs().max())
    away = matrix @ vectors - vectors * part.eigenvalues
    assert float(away.abs().max()) <= 1e-10 * size
    gram = vectors.mT @ vectors - torch.eye(vectors.shape[1], dtype=torch.float64)
    assert float(gram.abs().max()) <= 1e-10
    assert set(part.multiplicities) == {copies}
    every = torch.linalg.eigvalsh(matrix)
    counted = [int(((every - v).abs() < 1e-9 * size).sum()) for v in part.values]
    assert counted == part.multiplicities
    assert all(torch.equal(state[key], value) for key, value in model.state_dict().items())


def test_batches_are_joined_and_the_squared_error_is_the_default():
    model = nn.Sequential(nn.Linear(4, 9, bias=False), nn.Linear(9, 2))
    parts = [(X[:4], TWO[:4]), (X[4:], TWO[4:])]
    several = cf.bulk_of(model, parts, layers=("0", "1"))
    joined = cf.bulk_of(model, (X, TWO), HalfSquaredError("sample"), layers=("0", "1"))
    assert torch.equal(several.eigenvalues, joined.eigenvalues)


class Skip(nn.Module):
    """The values between the layers have another use."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(4, 9), nn.Linear(9, 3), nn.Linear(9, 3)

    def forward(self, x):
        hidden = self.a(x)
        return self.b(hidden) + self.c(hidden).tanh()


class Reused(nn.Module):
    """The first weight is used again, without a layer."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 9), nn.Linear(9, 3)

    def forward(self, x):
        return self.b(self.a(x)) + 1e-3 * self.a.weight.square().sum()


def hooked():
    model = nn.Sequential(nn.Linear(4, 9), nn.Linear(9, 3))
    model[0].register_forward_hook(lambda layer, inputs, out: out.tanh())
    return model


def tied():
    model = nn.Sequential(*(nn.Linear(*size) for size in [(4, 9), (9, 4), (4, 9), (9, 3)]))
    model[2].weight = model[0].weight
    return model


def refused():
    """Network, layers and message, one by one."""
    pair, relu = ("0", "1"), nn.Sequential(nn.Linear(4, 9), nn.ReLU(), nn.Linear(9, 3))
    head = nn.Sequential(nn.Linear(4, 9), nn.ReLU(), nn.Linear(9, 3), nn.Linear(3, 3))
    plain = nn.Sequential(nn.Linear(4, 9), nn.Linear(9, 3))
    stands = r"something stands between '0' and '\d'"
    other = r"depend on 'a' and 'b' not through their product alone"
    return {
        "an activation": (relu, ("0", "2"), stands),
        "an activation before a last layer of 0": (zeroed(head, "3.weight"), ("0", "2"), stands),
        "a hook": (hooked(), pair, stands),
        "the wrong order": (
            nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4)), ("1", "0"), "something stands between"
        ),
        "tied": (tied(), pair, r": 0\.weight and 2\.weight are tied$"),
        "another branch": (Skip(), ("a", "b"), other),
        "a weight that is used again": (Reused(), ("a", "b"), other),
        "narrow": (
            nn.Sequential(nn.Linear(4, 5), nn.Linear(5, 3)), pair,
            r"the bulk is empty: m = 5, needs at least D \+ K = 5 \+ 2 = 7$",
        ),
        "no gradient": (
            zeroed(network(3, 9, 2), "5.weight"), ("2", "3"), "the loss has no gradient in the pro"
        ),
        "a name": (plain, ("0", "7"), r"^layers: expected one of 0, 1, got '7'$"),
        "no linear layer": (relu, ("0", "1"), r"^layers: expected two nn\.Linear, got '1: ReLU"),
        "a frozen weight": (
            frozen(nn.Sequential(nn.Linear(4, 9), nn.Linear(9, 3)), "0.weight"), pair,
            "expected weights that vary, got 'a frozen or a derived one in 0'",
        ),
        "shapes": (
            nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 5), nn.Linear(5, 3)),
            ("0", "3"), "a second one of 4 inputs, as many as the first has outputs, got 5",
        ),
        "dropout": (
            nn.Sequential(nn.Dropout(0.5), nn.Linear(4, 9), nn.Linear(9, 3)), ("1", "2"),
            r"got random ones; call model\.eval\(\)",
        ),
    }  # fmt: skip


@pytest.mark.parametrize("name", refused())
def test_refusals(name):
    model, layers, message = refused()[name]
    with pytest.raises(ValueError, match=message) as caught:
        cf.bulk_of(model, (X, LABELS), CE, layers=layers)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("data", [[], [X], [(X,)]])
def test_data_is_batches(data):
    model = nn.Sequential(nn.Linear(4, 9), nn.Linear(9, 3))
    with pytest.raises(ValueError, match=r"^data: expected "):
        cf.bulk_of(model, data, CE, layers=("0", "1"))
