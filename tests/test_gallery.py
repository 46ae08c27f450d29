"""The gallery's scripts run, and what they print and draw follows from the library."""

import ast
import importlib
import re
import sys
from functools import cache
from xml.etree import ElementTree

import pytest
import torch

from hessian_spectra import closed_form as cf
from hessian_spectra import pac_bayes
from tests.pages import ROOT

sys.path.insert(0, str(ROOT / "docs"))
showcase = importlib.import_module("showcase")

# Each script runs once for all tests.
run = cache(showcase.run)


def numbers(text):
    return [float(number) for number in re.findall(r"-?\d+\.\d+", text)]


def scripts():
    return sorted(path.stem for path in showcase.HERE.glob("*.py"))


def test_the_gallery_has_all_scripts():
    assert scripts() == sorted(showcase.NAMES)


@pytest.mark.parametrize("name", showcase.NAMES)
def test_a_script_is_short_described_and_uses_public_names_alone(name):
    source = (showcase.HERE / f"{name}.py").read_text("utf-8")
    assert len(source.splitlines()) <= 80
    title, text = showcase.described(name)
    assert 0 < len(title) < 60
    assert 20 <= len(text.split()) <= 60
    imported = [
        f"{node.module}.{alias.name}"
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    ]
    assert {item for item in imported if item.startswith("hessian")} <= {
        "hessian_spectra.closed_form",
        "hessian_spectra.curvature",
        "hessian_spectra.pac_bayes",
        "hessian_spectra.pictures",
    }


@pytest.mark.parametrize("name", showcase.NAMES)
def test_a_script_prints_and_draws(name):
    outcome = run(name)
    assert outcome.printed.count("\n") >= 2
    assert ElementTree.fromstring(outcome.picture).tag.endswith("svg")
    page = showcase.page(outcome)
    assert outcome.printed in page
    assert showcase.code(name) in page
    assert '"""' not in showcase.code(name).splitlines()[0]


def test_pictures_of_equal_runs_are_equal():
    first, second = (showcase.run("spectrum_and_theory").picture for _ in range(2))
    assert first == second


def test_the_spectrum_is_that_of_the_theorem():
    variables = run("spectrum_and_theory").variables
    network = variables["network"]
    w, v = network[1].weight[0].detach(), network[0].weight[:, 0].detach()
    # The loss has no factor 1/2.
    expected = 2 * cf.two_layer_linear(w, v, variables["x"][:, 0], variables["y"][:, 0]).eigenvalues
    torch.testing.assert_close(variables["numerical"].eigenvalues, expected)
    outliers = numbers(run("spectrum_and_theory").printed.splitlines()[1])
    assert outliers == pytest.approx([expected[9].item(), expected[-1].item()], abs=1e-4)


def test_training_moves_the_density_of_the_resnet_to_the_right():
    before, after = run("resnet_density").variables["densities"].values()
    assert after.nodes.max() > 5 * before.nodes.max()
    # At the edge of stability of its rate, 0.1: on which side of 20 it stands after 300 steps is a
    # matter of rounding.
    assert after.nodes.max() > 10
    for density in (before, after):
        # Its integral is one, and most of it is near zero.
        mass = torch.trapezoid(density.density, density.grid)
        assert mass == pytest.approx(1, abs=0.01)
        far = density.nodes.abs() > 0.1 * density.nodes.max()
        assert density.weights[far].sum() / len(density.weights) < 0.1


def test_the_sharpness_settles_at_the_edge_of_stability():
    histories = run("edge_of_stability").variables["histories"]
    for rate in (0.15, 0.2):
        assert histories[rate][-1].sharpness == pytest.approx(2 / rate, rel=0.05)
    # A small rate stays below its edge, and above that of the others.
    assert 2 / 0.15 < histories[0.05][-1].sharpness < 2 / 0.05
    assert len({history[0].sharpness for history in histories.values()}) <= 3


def test_the_factors_of_the_linear_layers_find_most_of_the_top_space():
    printed = run("lenet5_layers").printed
    overlaps = dict(re.findall(r"(\w+) \(.*\): .* (\d\.\d+)", printed))
    assert list(overlaps) == ["conv1", "conv2", "fc1", "fc2", "fc3"]
    # Random spaces of ten in p dimensions have 10 / p.
    assert all(float(overlaps[name]) > 0.6 for name in ("fc1", "fc2", "fc3"))
    assert all(0.2 < float(overlap) <= 1 for overlap in overlaps.values())


def test_the_certificates_bound_the_error_on_held_out_samples():
    variables = run("certificate").variables
    standard, kronecker = (variables["certificates"][key] for key in ("standard", "kronecker"))
    assert kronecker.bound < standard.bound < 0.5
    for certificate in (standard, kronecker):
        error = pac_bayes.error_of_draws(
            certificate.posterior, *variables["held_out"], draws=2000, seed=1
        )
        assert 0 < error < certificate.bound


def test_the_corrected_formula_is_right_and_the_printed_one_never_is():
    variables = run("erratum").variables
    measured, printed, corrected = (
        torch.tensor(variables[name]) for name in ("measured", "printed", "corrected")
    )
    torch.testing.assert_close(corrected, measured, rtol=1e-6, atol=0)
    # The smaller norm is missing: it is never zero, and never the larger one.
    assert (printed < 0.95 * measured).all()
    assert (2 * printed > measured).all()
