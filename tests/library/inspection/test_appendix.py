"""A paper's appendix takes several checkpoints, CSV, LaTeX and methods of inspections."""

import csv
import json
import re
from pathlib import Path

import pytest
import torch
from torch import nn

from hessian_spectra import curvature as cv
from hessian_spectra.__main__ import main
from hessian_spectra.inspection.appendix import methods
from hessian_spectra.inspection.findings import Finding, Report
from hessian_spectra.inspection.quantities import TITLES


def checkpoints() -> dict[str, cv.Problem]:
    """Two sets of weights on disk, one of them as a training's own dictionary has it."""
    import factories

    problems = {}
    for name, scale in (("at_start", 1.0), ("trained", 2.0)):
        model, loss, data = factories.network()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.mul_(scale)
        state = model.state_dict()
        torch.save({"state_dict": state, "epoch": 3} if scale == 2 else state, f"{name}.pt")
        problems[name] = cv.Problem(model, loss, data)
    return problems


def test_several_checkpoints_are_in_one_figure_and_one_table(folder, capsys):
    problems = checkpoints()
    command = ["inspect", "factories:network", "--k", "3"]
    assert main([*command, "--checkpoints", "at_start.pt", "trained.pt"]) == 0
    out = folder / "inspection"
    assert sorted(str(path.relative_to(out)) for path in out.rglob("*.*")) == [
        "at_start/inspection.json",
        *(f"inspection.{suffix}" for suffix in ("csv", "pdf", "png", "tex", "txt")),
        "trained/inspection.json",
    ]
    printed = capsys.readouterr().out
    assert "factories:network at_start" in printed
    with (out / "inspection.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["checkpoint"] for row in rows} == set(problems)
    for name, problem in problems.items():
        dense = cv.dense_matrix(cv.hessian(problem))
        values = torch.linalg.eigvalsh(dense)
        actual = {(row["quantity"], row["layer"]): row for row in rows if row["checkpoint"] == name}
        for quantity, exact in (
            ("sharpness, Hessian", values[-1]),
            ("eigenvalue 2", values[-2]),
            ("smallest eigenvalue", values[0]),
        ):
            row = actual[quantity, ""]
            assert float(row["value"]) == pytest.approx(float(exact), rel=1e-4)
            assert float(row["residual"]) <= 1e-5
            assert row["low"] == ""
        assert float(actual["loss", ""]["value"]) == pytest.approx(problem.value())
        trace = actual["trace", ""]
        assert float(trace["low"]) <= float(dense.trace()) <= float(trace["high"])
        first = torch.linalg.eigvalsh(dense[:48, :48])[-1]
        assert float(actual["sharpness", "0"]["value"]) == pytest.approx(float(first), rel=1e-4)


@pytest.mark.usefixtures("without_figure")
def test_tables_of_latex_and_the_methods(folder):
    checkpoints()
    command = ["inspect", "factories:network", "--k", "2", "--layers", "4"]
    main([*command, "--checkpoints", "at_start.pt", "trained.pt"])
    text = (folder / "inspection" / "inspection.tex").read_text()
    assert text.count(r"\begin{tabular}") == text.count(r"\end{tabular}") == 2
    assert r"quantity & at\_start & trained \\" in text
    lines = [line for line in text.splitlines() if line.startswith("trace &")]
    number = r"\$-?[\d.]+(\\times 10\^\{-?\d+\})?\$"
    assert re.fullmatch(
        rf"trace & {number} \[{number}, {number}\] & {number} \[{number}, {number}\] \\\\",
        lines[0],
    )
    text = (folder / "inspection" / "inspection.txt").read_text()
    record = json.loads((folder / "inspection" / "at_start" / "inspection.json").read_text())
    products = record["findings"]["trace"]["products"]
    assert f"from {products} products with random signs, with 95% intervals" in text
    assert "170 trainable parameters, in float64" in text
    assert "Eigenvalues are by Lanczos' method with reorthogonalisation, to relative" in text
    assert text.count("\n") == 1


def test_the_methods_do_not_say_more_than_was_done():
    values = {"trace": 1.0, "standard_error": 0.0, "interval": [1.0, 1.0], "level": 0.95}
    subject = {"loss": "MSELoss", "model": "Linear", "batches": 1, "parameters": 2}
    subject |= {"dtype": "float32", "version": "1", "seed": 0}
    report = Report(subject, {key: Finding(key, key) for key in TITLES})
    assert "eigenvalue" not in methods({"": report}).lower()
    assert "trace" not in methods({"": report})
    report.findings["trace"].values = values
    report.findings["top"].values = {
        "eigenvalues": [1.0], "residuals": [0.0], "method": "dense eigendecomposition"
    }  # fmt: skip
    text = methods({"": report})
    assert "The trace is the sum of the whole diagonal." in text
    assert "Eigenvalues are by dense eigendecomposition" in text


@pytest.mark.usefixtures("without_figure")
def test_a_model_with_a_loss_of_its_own(folder):
    pytest.importorskip("transformers")
    import factories

    command = ["inspect", "factories:language_model", "--k", "2", "--layers", "*.c_fc"]
    assert main(command) == 0
    record = json.loads((folder / "inspection" / "inspection.json").read_text())
    model, _, data = factories.language_model()
    actual = record["findings"]["loss"]["values"]["loss"]
    tokens = data[0]["input_ids"]
    with torch.no_grad():
        expected = float(model(tokens, labels=tokens).loss)
    assert actual == pytest.approx(expected, rel=1e-5)
    assert record["findings"]["sharpness_hessian"]["status"] == "done"


def test_checkpoints_that_do_not_fit_are_refused_in_one_line(folder, capsys):
    torch.save(nn.Linear(2, 1).state_dict(), "other.pt")
    Path("text.pt").write_text("no archive")
    Path("sub").mkdir()
    torch.save({}, "sub/other.pt")
    for files, message in (
        (["missing.pt"], "--checkpoints: missing.pt: FileNotFoundError"),
        (["text.pt"], "--checkpoints: text.pt: "),
        (["other.pt"], "--checkpoints: other.pt: RuntimeError: Error(s) in loading state_dict"),
        (["other.pt", "sub/other.pt"], "expected files of different names, got other.pt, sub/o"),
    ):
        assert main(["inspect", "factories:network", "--checkpoints", *files]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert message in line
