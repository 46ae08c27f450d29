"""Language models while they are trained: twins, measurements, and a training that was killed."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest
import torch

from hessian_papers.data.base import TEXT, VECTOR_TOKENS, Form
from hessian_papers.data.tools import tokens
from hessian_papers.models.gpt2 import attention_mass, gpt2, language_loss, load, residual_norm
from hessian_papers.networks import gpt2 as networks
from hessian_papers.networks.tools import language_model
from hessian_papers.networks.tools.language_model import Measurements, measured_steps
from hessian_papers.networks.tools.memory import product_memory
from hessian_papers.networks.tools.result import folder_of, read
from hessian_papers.work import TrainingRun
from hessian_spectra import curvature as cv
from tests.papers.networks import small_gpt2
from tests.papers.networks.small_gpt2 import VOCABULARY, config

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = "tests.papers.networks.small_gpt2"


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    return small_gpt2.train(tmp_path_factory.mktemp("trained"))


def test_the_arrays_are_those_of_all_trainings(trained):
    assert trained["step"].values.tolist() == [0, 8, 12]
    assert trained["seed"].values.tolist() == [3, 4]
    assert int(trained["tokens_seen"]) == 12 * 4 * 6
    assert np.isnan(trained["mass"][1]).all()
    assert np.isfinite(trained["mass"][0]).all()
    finite = [array for name, array in trained.items() if name != "mass"]
    assert all(np.isfinite(array).all() for array in finite if array.dtype.kind == "f")
    for name in ("hessian_error", "ggn_error"):
        assert (trained[name] <= 1e-3).all()


def test_twins_see_the_same_batches_and_are_measured_on_the_same_sequences(monkeypatch):
    seen = []
    draw = networks.batch

    def noted(text, **call):
        actual = draw(text, **call)
        seen.append((call["step"], call["seed"], actual))
        return actual

    monkeypatch.setattr(networks, "batch", noted)
    monkeypatch.setattr("hessian_papers.training.language_model.batch", noted)
    actual = networks.train(config(steps=2, decay_steps=3, kept=[]), small_gpt2.TEXT)
    batches = {}
    for step, seed, sequences in seen:
        batches.setdefault((step, seed), []).append(sequences)
    assert sorted(batches) == [(step, seed) for step in (-1, 0, 1) for seed in (3, 4)]
    for twins in batches.values():
        assert len(twins) == 2
        assert torch.equal(*twins)
    assert not torch.equal(batches[0, 3][0], batches[0, 4][0])
    assert not torch.equal(batches[0, 3][0], batches[1, 3][0])
    for seed in (3, 4):
        measured = actual["measured_tokens"].sel(seed=seed)
        assert measured.values.tolist() == batches[-1, seed][0].tolist()


def test_a_training_tells_of_its_loss_speed_and_measurements():
    said = []
    (item, *_) = networks.items(config(steps=3, measured=[[2, 2]], kept=[1]), small_gpt2.TEXT)
    actual = networks.compute(
        **item, run=TrainingRun(log=lambda step, metrics: said.append((step, metrics)))
    )
    assert [step for step, _ in said] == [0, 1, 2, 3]
    measured = {"measured/loss", "measured/residual", "measured/hessian", "measured/ggn"}
    trained = {"loss", "learning_rate", "tokens_per_second"}
    names = [trained | measured, trained, trained | measured, measured]
    assert [{*metrics} for _, metrics in said] == names
    assert [metrics["loss"] for _, metrics in said[:3]] == actual["train_loss"].tolist()
    assert said[2][1]["measured/hessian"] == actual["hessian"][1]


@pytest.mark.parametrize(
    ("place", "step", "matrices"),
    [(1, 8, {"hessian": cv.hessian, "ggn": cv.ggn}), (2, 0, {"hessian": cv.hessian})],
)
def test_what_is_measured_is_what_dense_matrices_say(trained, place, step, matrices):
    """At weights that were kept, by item, in float64."""
    model = load(folder_of(trained) / str(place), str(step)).double()
    variant, seed = divmod(place, 2)
    actual = trained.isel(variant=variant, seed=seed).sel(step=step)
    sequences = torch.from_numpy(actual["measured_tokens"].values)
    loss, logits = language_loss(model, sequences)
    assert actual["loss"].item() == pytest.approx(loss.item(), rel=1e-5)
    assert actual["residual"].item() == pytest.approx(residual_norm(logits, sequences), rel=1e-5)
    problem = cv.Problem(model, loss_fn=language_loss, data=[sequences])
    for name, matrix in matrices.items():
        values = cv.dense_spectrum(matrix(problem)).eigenvalues
        largest = values.abs().max().item()
        # An eigenvalue is off by no more than its residual.
        assert abs(actual[name].item() - values[-1].item()) <= 1.1e-3 * largest
    if variant == 0:
        mass = attention_mass(model, sequences).numpy()
        np.testing.assert_allclose(actual["mass"], mass, rtol=1e-5)


def measurements(steps, memory=100 << 20):
    model = gpt2(config().shape("attention", VOCABULARY), 0)
    sequences = tokens.batch(small_gpt2.TEXT["train"].values, step=-1, size=2, length=6, seed=0)
    call = {"kept": [], "folder": None, "tolerance": 1e-4, "memory": memory}
    return model, Measurements(model, sequences, steps, **call)


def test_a_measurement_starts_from_the_one_before(monkeypatch):
    products = []
    search = cv.top_eigenpairs

    def counted(*arguments, **named):
        actual = search(*arguments, **named)
        products.append(int(re.search(r"(\d+) products", actual.method)[1]))
        return actual

    monkeypatch.setattr(language_model.cv, "top_eigenpairs", counted)
    model, watch = measurements([0, 1, 2])
    watch(0)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter *= 1.0001
    state = watch.state()
    watch(1)
    _, other = measurements([0, 1, 2])
    other.restore(state)
    other._model.load_state_dict(model.state_dict())
    other(1)
    cold, warm, resumed = products[:2], products[2:4], products[4:]
    assert all(few < many / 2 for few, many in zip(warm, cold, strict=True)), products
    assert resumed == warm
    for name in ("hessian", "ggn", "loss"):
        assert watch.arrays[name][1] == other.arrays[name][1] != watch.arrays[name][0]


def test_how_the_sequences_are_cut_changes_results_by_rounding_alone():
    """With memory for all, for one at a time, and for what the device has free."""
    free = product_memory(None, torch.device("cpu"))
    looks = [measurements([0], memory=memory)[1] for memory in (100 << 20, 25_000, free)]
    for look in looks:
        look(0)
    assert [look._problem.batch_count for look in looks] == [1, 2, 1]
    for name in ("loss", "residual", "mass", "hessian", "ggn"):
        whole, cut, other = (look.arrays[name] for look in looks)
        np.testing.assert_allclose(cut, whole, rtol=1e-4, err_msg=name)
        np.testing.assert_array_equal(other, whole)


def test_a_setting_without_a_number_takes_what_is_free(trained):
    (item, *_) = networks.items(config(steps=1, measured=[], kept=[], memory=None), small_gpt2.TEXT)
    actual = networks.compute(**item, run=TrainingRun())
    assert 100 < actual["memory"] <= psutil.virtual_memory().total >> 20
    assert (trained["memory"] == 100).all()


def test_products_overflow_where_weights_and_loss_are_finite():
    """The Hessian grows with the last norm's weight squared, and float32 ends at 3e38."""
    model, watch = measurements([0, 1, 2])
    watch(0)
    with torch.no_grad():
        model.get_parameter("transformer.ln_f.weight").mul_(1e25)
    watch(1)
    assert np.isfinite(watch.arrays["loss"][1])
    assert np.isnan(watch.arrays["hessian"][1])
    with torch.no_grad():
        model.get_parameter("transformer.ln_f.weight").mul_(1e-25)
    watch(2)
    assert watch.arrays["hessian"][2] == pytest.approx(watch.arrays["hessian"][0], rel=1e-3)


def test_a_network_whose_products_overflow_has_diverged(monkeypatch, tmp_path):
    search = cv.top_eigenpairs

    def overflowing(*arguments, start=None, **named):
        if start is not None:  # a measurement after the first
            raise cv.NotFiniteError("operator: a product is not finite")
        return search(*arguments, start=start, **named)

    monkeypatch.setattr(language_model.cv, "top_eigenpairs", overflowing)
    trained = small_gpt2.train(tmp_path)
    assert trained["diverged"].all()
    assert np.isfinite(trained["loss"]).all()


def content(folder):
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def steps(folder):
    file = folder / "steps"
    return list(map(int, file.read_text().split("\n")[:-1])) if file.exists() else []


def test_a_killed_training_is_resumed_to_the_same_folder(tmp_path):
    changes = {"seeds": 1, "variants": ["attention"], "dropout": 0.2}
    whole = small_gpt2.train(tmp_path / "whole", **changes)
    killed = tmp_path / "killed"
    killed.mkdir()
    call = json.dumps({"folder": str(killed), "changes": changes, "slowly": True})
    command = [sys.executable, "-m", PROGRAM, call]
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 100
    while 8 not in steps(killed):
        assert time.monotonic() < until, "the training does not go on"
        time.sleep(0.02)
    process.kill()
    process.wait()
    assert steps(killed) == [0, 8]
    assert list(killed.glob("shards/gpt2/*.unfinished/state.npz"))
    small_gpt2.train(killed, **changes)
    assert content(killed / "networks") == content(folder_of(whole).parent)
    kept = {"gpt2/0/0.safetensors", "gpt2/0/8.safetensors"}
    assert set(content(killed / "networks")) == {"gpt2/data.nc", "gpt2/manifest.json"} | kept
    assert not list(killed.glob("shards/gpt2/*.unfinished"))


def test_processes_of_torchrun_train_the_networks_of_one(tmp_path):
    """Each of them together, and measure them together.

    The sum of two gradients is the same in whatever order, so the weights are the same to the bit.
    """
    changes = {"variants": ["attention"], "accumulation": 2, "dropout": 0.2, "measured": []}
    call = json.dumps({"folder": str(tmp_path / "two"), "changes": changes, "slowly": False})
    torchrun = ["torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", PROGRAM]
    command = [sys.executable, "-m", *torchrun, call]
    environment = os.environ | {"GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
    # In a session of its own, with all that it starts.
    process = subprocess.Popen(command, cwd=ROOT, env=environment, start_new_session=True)
    try:
        assert process.wait(120) == 0
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    first, two = small_gpt2.train(tmp_path / "one", **changes), read(tmp_path / "two/networks/gpt2")
    assert two["train_loss"].identical(first["train_loss"])
    weights = [
        {k: v for k, v in content(folder_of(x)).items() if k not in ("data.nc", "manifest.json")}
        for x in (first, two)
    ]
    assert weights[0] == weights[1] != {}
    # An eigenvalue is known up to its residual, which is another one then.
    compared = {"loss": 1e-5, "residual": 1e-5, "mass": 1e-5, "hessian": 2e-3, "ggn": 2e-3}
    for name, off in compared.items():
        np.testing.assert_allclose(two[name], first[name], rtol=off, err_msg=name)


def test_processes_of_torchrun_hand_items_to_nobody_else(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "some")
    with pytest.raises(ValueError, match="cluster: expected debug for processes of torchrun, got"):
        small_gpt2.train(tmp_path, cluster="local")


def test_the_steps_of_a_schedule():
    assert measured_steps([[10, 20], [100, 250]]) == [0, 10, 20, 100, 200]
    assert measured_steps([]) == [0]
    assert config(steps=10, kept=[], measured=[[4, 8], [7, 100]]).measured_at == [0, 4, 8, 10]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"variants": ["attention", "other"]}, "variants: expected different ones of attention, "),
        ({"heads": 3}, "heads: expected a divisor of 4, got 3"),
        ({"dropout": 1.0}, "dropout: expected a number from 0 to below 1, got 1.0"),
        ({"measured": [[0, 4]]}, r"measured: expected pairs \[every, until\], until rising"),
        ({"measured": [[1, 4], [2, 4]]}, r"measured: expected pairs \[every, until\], until risi"),
        ({"measured": [[1, 4, 5]]}, r"measured: expected pairs \[every, until\], until rising"),
        ({"kept": [13]}, r"kept: expected different steps from 0 to 12, got \[13\]"),
        ({"kept": [1, 1]}, r"kept: expected different steps from 0 to 12, got \[1, 1\]"),
        ({"steps": 0, "kept": []}, "steps: expected at least 1 without a start, got 0"),
    ],
)
def test_settings_that_make_no_sense_are_refused(changes, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        config(**changes)


def test_data_that_are_no_text_are_refused():
    config().require_data(Form(TEXT))
    with pytest.raises(ValueError, match=f"^data: expected a data set with {TEXT}, got 'text'"):
        config().require_data(Form(VECTOR_TOKENS))


def test_a_longer_training_costs_more_and_a_probe_less():
    short, long = (networks.items(config(steps=s), small_gpt2.TEXT)[0] for s in (12, 48))
    assert networks.cost(networks.probe(short)) < networks.cost(short) < networks.cost(long)
