"""The part that the GGN misses of a tiny GPT-2's Hessian, against dense matrices."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from fan_out_contract import contract
from study_configs import configured
from torch import nn
from torch.func import functional_call

from hessian_papers.labelled import data_set
from hessian_papers.models import gpt2
from hessian_papers.networks.gpt2 import VARIABLES
from hessian_papers.networks.tools.result import kept_in
from hessian_papers.studies.gpt2.gauss_newton_parts import study
from hessian_papers.studies.gpt2.seeds import OPERATIONS
from hessian_spectra.seeding import generator

VARIANTS = ("attention", "no attention")


def config(**changes):
    fields = {"ensemble": "test", "seed": 0, "tolerance": 1e-6, "memory": 1000}
    return configured(study, fields | changes)


def small(variant, seed):
    """A model whose weights are large enough that no layer is close to linear."""
    shape = gpt2.Shape(layers=1, width=4, heads=2, context=5, vocabulary=6, variant=variant)
    model = gpt2.gpt2(shape, seed)
    draws = generator(seed, "test")
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.5 * torch.randn(parameter.shape, generator=draws)
    return model


def kept(folder, seeds=(5,), steps=(7,)):
    """Two architectures, kept after some steps, in a folder as it is kept."""
    tokens = torch.randint(0, 6, (len(seeds), 3, 6), generator=generator(0, "tokens"))
    for place, (variant, seed) in enumerate((v, s) for v in VARIANTS for s in seeds):
        for step in steps:
            gpt2.save(small(variant, seed + step), folder / str(place), str(step))
    arrays = {
        "variant": np.array(VARIANTS),
        "seed": np.array(seeds),
        "kept": np.array(steps),
        "measured_tokens": tokens.numpy(),
        "diverged": np.zeros((len(VARIANTS), len(seeds)), dtype=bool),
    }
    return kept_in(folder, data_set(arrays, VARIABLES))


@pytest.fixture(scope="module")
def networks(tmp_path_factory):
    return kept(tmp_path_factory.mktemp("networks"))


@pytest.fixture(scope="module")
def actual(networks):
    """Measured in float64."""
    load = gpt2.load
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gpt2, "load", lambda folder, name: load(folder, name).double())
        return study.gpt2(config(), networks)


class _Calls(nn.Module):
    """A function as a model."""

    def __init__(self, function):
        super().__init__()
        self.forward = function


class _Linearised(nn.Module):
    """An elementwise function as its Taylor polynomial of degree one."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, inputs):
        point = inputs.detach().requires_grad_()
        with torch.enable_grad():
            value = self.function(point)
            (slope,) = torch.autograd.grad(value.sum(), point)
        return value.detach() + slope.detach() * (inputs - inputs.detach())


def dense(model, tokens, loss):
    """Hessian and GGN of a loss by autograd."""
    model = model.double().eval()
    names = [name for name, _ in model.named_parameters()]
    shapes = [parameter.shape for parameter in model.parameters()]
    start = torch.nn.utils.parameters_to_vector(model.parameters()).detach()

    def network(theta):
        parts = theta.split([shape.numel() for shape in shapes])
        weights = dict(zip(names, map(torch.Tensor.view, parts, shapes), strict=True))
        weights["lm_head.weight"] = weights["transformer.wte.weight"]
        return loss(_Calls(lambda inputs: functional_call(model, weights, inputs)), tokens)

    hessian = torch.autograd.functional.hessian(lambda theta: network(theta)[0], start)
    jacobian = torch.autograd.functional.jacobian(lambda theta: network(theta)[1], start)
    logits = network(start)[1].detach()

    def of_logits(values):
        return loss(_Calls(lambda _: SimpleNamespace(logits=values)), tokens)[0]

    curvature = torch.autograd.functional.hessian(of_logits, logits)
    count = logits.numel()
    flat = jacobian.reshape(count, -1)
    ggn = flat.T @ curvature.reshape(count, count) @ flat
    return hessian, ggn


@pytest.mark.parametrize("variant", [0, 1])
def test_all_numbers_are_those_of_dense_matrices(actual, networks, variant):
    measured = actual.isel(variant=variant, seed=0, step=0)
    top_eigenvalue = measured["eigenvalue"].sel
    model = small(VARIANTS[variant], 5 + 7)
    tokens = torch.from_numpy(networks["measured_tokens"].values[0])
    hessian, ggn = dense(model, tokens, gpt2.language_loss)
    values, vectors = torch.linalg.eigh(hessian)
    top = vectors[:, -1]
    assert top_eigenvalue(matrix="hessian") == pytest.approx(float(values[-1]), rel=1e-9)
    expected = float(torch.linalg.eigvalsh(ggn)[-1])
    assert top_eigenvalue(matrix="ggn") == pytest.approx(expected, rel=1e-9)
    part = float(top @ (hessian - ggn) @ top / values[-1])
    assert measured["functional"] == pytest.approx(part, abs=1e-5)
    assert abs(measured["operation_part"].sum() - measured["functional"]) < 1e-10


def test_the_twin_has_no_operation_of_attention(actual):
    of_attention = ["softmax", "QK product", "AV product"]
    attention, twin = (actual["operation_part"].sel(variant=name) for name in VARIANTS)
    assert (attention != 0).all()
    assert (twin.sel(operation=of_attention) == 0).all()
    assert (twin.drop_sel(operation=of_attention) != 0).all()
    assert actual["operation"].values.tolist() == [*OPERATIONS]


def test_the_part_of_a_gelu_is_that_of_its_second_derivative(actual, networks):
    """An activation that is linearised at the values that it meets takes its part away."""
    model = small("no attention", 5 + 7).double().eval()
    tokens = torch.from_numpy(networks["measured_tokens"].values[0])
    hessian, _ = dense(model, tokens, gpt2.language_loss)
    values, vectors = torch.linalg.eigh(hessian)
    for block in model.transformer.h:
        block.mlp.act = _Linearised(block.mlp.act)
    other, _ = dense(model, tokens, gpt2.language_loss)
    part = vectors[:, -1] @ (hessian - other) @ vectors[:, -1] / values[-1]
    measured = actual["operation_part"].sel(variant="no attention", operation="GELU")
    assert float(measured.squeeze()) == pytest.approx(float(part), rel=1e-4)


@pytest.mark.parametrize("variant", [0, 1])
def test_the_squared_loss_has_eigenvalues_of_its_own(actual, networks, variant):
    model = small(VARIANTS[variant], 5 + 7)
    tokens = torch.from_numpy(networks["measured_tokens"].values[0])
    hessian, ggn = dense(model, tokens, gpt2.squared_loss)
    for name, matrix in (("squared hessian", hessian), ("squared ggn", ggn)):
        expected = float(torch.linalg.eigvalsh(matrix)[-1])
        measured = actual["eigenvalue"].isel(variant=variant, seed=0, step=0).sel(matrix=name)
        assert measured == pytest.approx(expected, rel=1e-9)


def test_the_released_product_has_another_eigenvalue_nearby(actual):
    released, hessian = (actual.sel(matrix=name) for name in ("released hessian", "hessian"))
    shift = abs(released["eigenvalue"] / hessian["eigenvalue"] - 1)
    assert (released["residual"] <= 1e-6).all()
    assert ((shift > 1e-9) & (shift < 0.1)).all()


test_items_repeat_and_a_probe_costs_less = contract(study.gpt2, config)
