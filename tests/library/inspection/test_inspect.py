"""The command ``inspect``: what it finds is right, and what ends it leaves what was found."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import scipy.stats
import torch
from torch import nn
from torch.testing import assert_close

from hessian_spectra import curvature as cv
from hessian_spectra.__main__ import main
from hessian_spectra.inspection import findings, table
from hessian_spectra.inspection.findings import Clock, Finding, OutOfBudget, Report, computed
from hessian_spectra.inspection.quantities import TITLES, Quantities
from hessian_spectra.inspection.table import number
from hessian_spectra.pictures.inspection import drawn


def problem(name: str = "network") -> cv.Problem:
    import factories

    return cv.Problem(*getattr(factories, name)())


def record(folder: Path = Path("inspection")) -> dict:
    return json.loads((folder / "inspection.json").read_text())


def findings_of(at: cv.Problem, *keys: str, k: int = 1, seed: int = 0) -> list[Finding]:
    """The findings of some quantities."""
    functions = Quantities(at, Clock(1e6), k, [], seed).all()
    findings = [Finding(key, key) for key in keys]
    for finding in findings:
        functions[finding.key](finding)
    return findings


def test_a_run_of_the_command(folder):
    """The command as a user runs it, in a process of its own."""
    command = [sys.executable, "-m", "hessian_spectra", "inspect", "factories:network", "--k", "4"]
    paths = os.pathsep.join(path for path in sys.path if path != str(folder))
    done = subprocess.run(
        [*command, "--out", "out"], cwd=folder, env={**os.environ, "PYTHONPATH": paths},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    actual = {key: item["values"] for key, item in record(folder / "out")["findings"].items()}
    assert [path.name for path in sorted((folder / "out").iterdir())] == [
        f"inspection.{suffix}" for suffix in ("csv", "json", "pdf", "png", "tex", "txt")
    ]
    at = problem()
    dense = cv.dense_matrix(cv.hessian(at))
    values, vectors = torch.linalg.eigh(dense)
    gradient = at.gradient()
    shares = (vectors.T @ (gradient / gradient.norm())).square().flip(0)[:4]
    assert actual["loss"]["loss"] == pytest.approx(at.value())
    assert actual["sharpness_hessian"]["sharpness"] == pytest.approx(float(values[-1]), rel=1e-6)
    top = cv.top_eigenpairs(cv.ggn(at), k=1).eigenvalues
    assert actual["sharpness_ggn"]["sharpness"] == pytest.approx(float(top), rel=1e-6)
    assert actual["top"]["eigenvalues"] == pytest.approx(values.flip(0)[:4].tolist(), rel=1e-5)
    assert max(actual["top"]["residuals"]) <= 1e-5
    assert actual["gradient"]["shares"] == pytest.approx(shares.tolist(), rel=1e-2, abs=1e-4)
    gap = actual["operations"]
    missed = vectors[:, -1] @ (dense - cv.dense_matrix(cv.ggn(at))) @ vectors[:, -1]
    assert gap["functional"] == pytest.approx(float(missed), rel=1e-4)
    assert {*gap["parts"]} == {"Tanh", "linear map"}
    assert sum(gap["parts"].values()) == pytest.approx(gap["functional"], rel=1e-9)
    for name, part in gap["parts"].items():
        (line,) = [line.split() for line in done.stdout.splitlines() if line.startswith(name)]
        assert line[-2] == number(part)
    low, high = actual["trace"]["interval"]
    assert low <= float(dense.trace()) <= high
    assert actual["smallest"]["eigenvalue"] == pytest.approx(float(values[0]), rel=1e-4)
    q = values.abs() / values.abs().sum()
    density = cv.spectral_density(cv.hessian(at))
    for name, estimate, exact in (
        ("negative_mass", density.negative_mass(), q[values < 0].sum()),
        ("effective_rank", density.effective_rank(at.size), (-q.xlogy(q)).sum().exp()),
    ):
        low, high = actual["density"][f"{name}_interval"]
        assert low <= float(exact) <= high
        ends = scipy.stats.t.interval(0.95, len(density.nodes) - 1, *estimate)
        # Rounding moves what Lanczos finds of a matrix of low rank. By the normal quantile the
        # lower end is off by 0.026.
        assert (low, high) == pytest.approx((max(0.0, ends[0]), ends[1]), rel=0.01)
        assert low <= actual["density"][name] <= high
    assert sum(actual["density"]["density"]) > 0
    for row, part in zip(actual["layers"]["layers"], (48, 104, 18), strict=True):
        assert row["parameters"] == part
        assert row["sharpness"] <= float(values[-1]) + 1e-6
    trace = sum(row["trace"] for row in actual["layers"]["layers"])
    assert trace == pytest.approx(float(dense.trace()), rel=0.2)
    for line in (
        "Sequential, 170 parameters of float64 on cpu, CrossEntropyLoss, 1 batch",
        "top 4 eigenvalues of the Hessian",
        "inspection.json, inspection.csv, inspection.tex, inspection.txt, inspection.png",
    ):
        assert line in done.stdout


@pytest.mark.usefixtures("without_figure")
def test_layers_are_chosen_by_pattern_and_stand_beside_their_factors(capsys):
    assert main(["inspect", "factories:network", "--layers", "[24]", "--k", "3"]) == 0
    layers, factors = (
        record()["findings"][key]["values"]["layers"] for key in ("layers", "kronecker")
    )
    assert [row["name"] for row in layers] == [row["name"] for row in factors] == ["2", "4"]
    at, printed = problem(), capsys.readouterr().out
    dense = cv.dense_matrix(cv.hessian(at))
    for row, block in zip(layers, (slice(48, 152), slice(152, 170)), strict=True):
        top = float(torch.linalg.eigvalsh(dense[block, block])[-1])
        assert row["sharpness"] == pytest.approx(top, rel=1e-5)
        low, high = row["interval"]
        assert low - 1e-9 <= float(dense[block, block].trace()) <= high + 1e-9
    assert "layer  parameters  sharpness" in printed
    row, layer = factors[0], cv.layerwise(at, "2")
    values, vectors = torch.linalg.eigh(cv.dense_matrix(layer.hessian))
    assert row["shape"] == list(layer.shape)
    assert row["hessian"] == pytest.approx(values.flip(0)[:3].tolist(), rel=1e-5)
    peer, basis = torch.linalg.eigh(torch.kron(layer.output_hessian, layer.input_autocorrelation))
    assert row["product"] == pytest.approx(peer.flip(0)[:3].tolist(), rel=1e-9)
    overlap = cv.subspace_overlap(vectors[:, -3:], basis[:, -3:])
    assert row["overlap"] == pytest.approx(overlap, abs=1e-4)
    for name in ("output_hessian", "input_autocorrelation"):
        expected = torch.linalg.eigvalsh(getattr(layer, name)).flip(0)[:3]
        assert row[name] == pytest.approx(expected.tolist(), rel=1e-9)
    assert f"{overlap:.1%} of 3" in printed


def test_a_layer_without_factors_is_a_note_and_the_others_have_theirs():
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.head = nn.Linear(2, 2), nn.Linear(2, 3)

        def forward(self, x):
            return self.head(torch.relu(self.inner(torch.relu(self.inner(x)))))

    torch.manual_seed(0)
    at = cv.Problem(Twice(), nn.CrossEntropyLoss(), [(torch.randn(9, 2), torch.arange(9) % 3)])
    (finding,) = findings_of(at, "kronecker", k=2)
    (row,), (note,) = finding.values["layers"], finding.notes
    assert row["name"] == "head"
    assert "'inner' is used more than once in the network" in note


@pytest.mark.usefixtures("without_figure")
def test_the_closed_form_that_applies_is_shown_with_its_value(capsys):
    assert main(["inspect", "factories:linear"]) == 0
    values = {key: item["values"] for key, item in record()["findings"].items()}
    exact, numeric = (values[key]["sharpness"] for key in ("closed_forms", "sharpness_hessian"))
    assert exact == pytest.approx(numeric, rel=1e-8)
    # Fewer parameters than --k asks for by default.
    assert len(values["top"]["eigenvalues"]) == 6
    text = capsys.readouterr().out
    assert "sharpness by closed form, Theorem 3.1" in text
    assert "applies: Theorem 3.1, the two-layer linear network" in text


@pytest.mark.usefixtures("without_figure")
def test_a_quantity_that_cannot_be_computed_is_a_line(capsys):
    assert main(["inspect", "factories:kinked", "--k", "2"]) == 0
    actual = record()["findings"]
    assert actual["sharpness_ggn"]["status"] == "failed"
    failed = [key for key, item in actual.items() if item["status"] != "done"]
    assert sorted(failed) == ["operations", "sharpness_ggn"]
    text = capsys.readouterr().out
    assert "sharpness, Gauss-Newton    -              failed, see below" in text
    assert "the loss is linear in the outputs" in " ".join(text.split())


@pytest.mark.usefixtures("without_figure")
def test_what_did_not_converge_is_noted(monkeypatch, capsys):
    def short(*args, original=cv.top_eigenpairs, **options):
        return original(*args, **options, max_iterations=5)

    monkeypatch.setattr(cv, "top_eigenpairs", short)
    assert main(["inspect", "factories:network", "--k", "2", "--layers", "4"]) == 0
    (note,) = record()["findings"]["sharpness_hessian"]["notes"]
    assert note.startswith("top_eigenpairs: 0 of 1 eigenpairs converged; the largest residual is")
    assert f"sharpness, Hessian: {note[:60]}" in capsys.readouterr().out


@pytest.mark.usefixtures("without_figure")
def test_a_factory_may_return_a_problem_with_a_loss_function_of_its_own(capsys):
    assert main(["inspect", "factories:problem"]) == 0
    actual = record()["findings"]
    failed = [key for key, item in actual.items() if item["status"] != "done"]
    # The loss function keeps the outputs for itself.
    assert sorted(failed) == ["operations", "sharpness_ggn"]
    text = capsys.readouterr().out
    assert "closed forms               none           see below" in text
    assert "closed forms: they are about a loss of outputs and targets that is a module" in text
    assert main(["inspect", "factories:problem", "--device", "cpu"]) == 2
    assert "returns a Problem, whose device is cpu; return (model" in capsys.readouterr().err


def test_the_seed_is_that_of_all_probes():
    first, again, other = (
        finding.values["trace"]
        for seed in (0, 0, 1)
        for finding in findings_of(problem(), "trace", seed=seed)
    )
    assert first == again != other


def test_the_layers_traces_add_up_to_the_whole_and_shares_are_of_a_known_sign():
    whole, layers = findings_of(problem(), "trace", "layers")
    rows = layers.values["layers"]
    assert sum(row["trace"] for row in rows) == pytest.approx(whole.values["trace"], rel=1e-12)
    report = Report({}, {"trace": whole, "layers": layers})
    shares = [line.split()[-1] for line in table._layers(report, rows)[1:]]
    assert sum(float(share.rstrip("%")) for share in shares) == pytest.approx(100, abs=0.2)
    whole.values["interval"] = [-1.0, 1.0]
    assert [line.split()[-1] for line in table._layers(report, rows)[1:]] == ["-"] * len(rows)


def interrupting(*args, **options):
    signal.raise_signal(signal.SIGINT)


def test_interrupted_it_gives_what_it_has(monkeypatch, capsys):
    monkeypatch.setattr(cv, "trace", interrupting)
    assert main(["inspect", "factories:network", "--k", "2", "--out", "out"]) == 130
    actual = record(Path("out"))
    assert actual["stopped"] == "interrupted"
    status = {key: item["status"] for key, item in actual["findings"].items()}
    assert status["gradient"] == "done"
    assert {status[key] for key in ("trace", "density", "layers")} == {"missing"}
    assert Path("out/inspection.png").read_bytes().startswith(b"\x89PNG")
    text = capsys.readouterr().out
    assert "trace, Hessian             -" in text
    assert "interrupted: what is missing above was not computed" in text


@pytest.mark.usefixtures("without_figure")
def test_layers_that_were_done_in_time_are_kept(monkeypatch, capsys):
    calls = []

    def second(*args, original=cv.top_eigenpairs, **options):
        calls.append(args)
        # Of both matrices the largest, the top ones, the smallest, the first layer, and no more.
        return original(*args, **options) if len(calls) < 6 else interrupting()

    monkeypatch.setattr(cv, "top_eigenpairs", second)
    assert main(["inspect", "factories:network", "--k", "2"]) == 130
    layers = record()["findings"]["layers"]
    assert (layers["status"], len(layers["values"]["layers"])) == ("partial", 1)
    assert "layers, Hessian            1              below; interrupted" in capsys.readouterr().out


def test_interrupted_before_anything_was_found(monkeypatch, capsys):
    monkeypatch.setattr("hessian_spectra.inspection.running.problem_of", interrupting)
    assert main(["inspect", "factories:network"]) == 130
    assert "interrupted before anything was found" in capsys.readouterr().err


@pytest.mark.usefixtures("without_figure")
def test_out_of_budget_it_gives_what_it_has(monkeypatch, capsys):
    time = iter(range(10**6))
    # A second a look: sixty are over within the first searches.
    monkeypatch.setattr(findings, "monotonic", lambda: float(next(time)))
    assert main(["inspect", "factories:network", "--budget", "1"]) == 3
    actual = record()
    assert actual["stopped"] == "out of budget"
    status = [item["status"] for item in actual["findings"].values()]
    assert "done" in status
    assert "missing" in status
    assert "out of budget" in capsys.readouterr().out


def test_nothing_that_can_be_computed_is_an_error(monkeypatch):
    def fails(self, finding):
        raise RuntimeError("no")

    monkeypatch.setattr(Quantities, "all", lambda self: dict.fromkeys(TITLES, fails.__get__(self)))
    assert main(["inspect", "factories:network"]) == 1


@pytest.mark.usefixtures("without_figure")
def test_without_matplotlib_all_else_is_there(capsys):
    assert main(["inspect", "factories:network", "--k", "1"]) == 0
    assert sorted(path.suffix for path in Path("inspection").iterdir()) == [
        ".csv", ".json", ".tex", ".txt",
    ]  # fmt: skip
    assert 'pip install "hessian-spectra[figures]"' in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("factories", "factory: expected package.module:function, got 'factories'"),
        ("no.such.module:f", "there is no module 'no', neither installed nor in /"),
        ("missing_import:f", "missing_import: ModuleNotFoundError: No module named 'no_such_p"),
        ("broken_module:f", "broken_module: RuntimeError: two lines ("),
        ("factories:nowhere", "there is no function 'nowhere' in factories; there is broken, k"),
        ("factories:text", "there is no function 'text' in factories"),
        ("factories:broken", "factories:broken: ZeroDivisionError: division by zero ("),
        ("factories:needs", "factories:needs: TypeError: needs() missing 1 required positional"),
        ("factories:nothing", "factories:nothing: expected (model, loss, data) or a hessian_s"),
        ("factories:two", "got tuple of 2"),
        ("factories:no_model", "got int as model"),
        ("factories:no_data", "factories:no_data: data: expected at least one batch"),
        ("factories:network --device nowhere", "factories:network: RuntimeError: "),
        ("factories:network --layers 0 9", "--layers: '9' fits none of 0, 2, 4"),
        ("factories:network --k 0", "--k: expected at least 1 eigenvalue, got 0"),
        ("factories:network --budget 0", "--budget: expected minutes above 0, got 0"),
        ("factories:network --out factories.py", "FileExistsError: "),
    ],
)
def test_what_does_not_do_is_one_line(arguments, message, capsys):
    assert main(["inspect", *arguments.split()]) == 2
    said = capsys.readouterr().err
    assert said.startswith("hessian-spectra inspect: ")
    assert said.count("\n") == 1
    assert message in said
    assert not Path("inspection/inspection.json").exists()


def test_a_watched_operator_multiplies_counts_and_stops(monkeypatch):
    matrix = torch.diag(torch.arange(5.0))
    clock = Clock(float("inf"))
    watched = clock.watched(cv.as_operator(matrix))
    columns = torch.randn(5, 7)
    assert_close(watched @ columns, matrix @ columns)
    assert_close(watched @ columns[:, 0], matrix @ columns[:, 0])
    assert clock.products == 8
    late = Clock(-1.0)
    with pytest.raises(OutOfBudget):
        late.watched(cv.as_operator(matrix)) @ columns
    assert late.products == 0


def test_slow_products_are_taken_one_by_one(monkeypatch):
    widths = []

    class Slow(cv.Operator):
        def _matmat(self, columns):
            widths.append(columns.shape[1])
            return columns

    time = iter(range(0, 10**6, 4))
    monkeypatch.setattr(findings, "monotonic", lambda: float(next(time)))
    Clock(1e6).watched(Slow(3, torch.float64, torch.device("cpu"))) @ torch.ones(3, 4).double()
    assert widths == [1, 1, 1, 1]


def test_an_error_ends_one_quantity_and_its_record_says_so():
    report = Report({}, {key: Finding(key, key) for key in ("good", "bad", "later")})

    def good(finding):
        finding.values["x"] = 1.0

    def bad(finding):
        raise ValueError("two\nlines")

    seen = []
    computed(report, {"good": good, "bad": bad, "later": good}, Clock(1e6), seen.append)
    assert [item.status for item in report.findings.values()] == ["done", "failed", "done"]
    assert report.findings["bad"].reason == "two lines"
    assert [item.key for item in seen] == ["good", "bad", "later"]
    assert not report.stopped


def values():
    grid = [0.1 * step for step in range(30)]
    density = [2.718 ** -(x**2) for x in grid]
    layer = {"name": "0", "sharpness": 1.0}
    return {
        "density": {"grid": grid, "density": density, "standard_error": [0.01] * 30, "width": 0.1},
        "top": {"eigenvalues": [2.5, 1.0]},
        "gradient": {"shares": [0.5, 0.25]},
        "layers": {"layers": [layer | {"name": str(number)} for number in range(40)]},
        "sharpness_hessian": {"sharpness": 3.0},
    }


def test_the_figure_has_a_panel_for_what_is_there():
    whole = drawn(values())
    assert whole["png"].startswith(b"\x89PNG")
    assert whole["pdf"].startswith(b"%PDF")
    assert drawn(values()) == whole
    nothing = {key: {} for key in values()}
    first = drawn(nothing | {"gradient": values()["gradient"]})
    assert 0 < len(first["png"]) < len(whole["png"])
    assert drawn(nothing) == {}
