"""The benchmark of GPT-2's products runs, and cuts its sequences to the memory."""

import sys

import pytest

from benchmarks import gpt2

pytest.importorskip("transformers")

SIZES = ["--layers", "1", "--width", "8", "--context", "16", "--vocabulary", "20"]


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
@pytest.mark.parametrize(("memory", "cut"), [("1", False), ("0.0002", True)])
def test_the_table_has_a_row_for_each_matrix(memory, cut, capsys):
    gpt2.main([*SIZES, "--sequences", "4", "--memory", memory])
    *_, header, _, hessian, gauss_newton = capsys.readouterr().out.splitlines()
    assert header.startswith("| matrix")
    for name, line in {"Hessian": hessian, "Gauss-Newton": gauss_newton}.items():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        assert cells[:2] == [name, "4"]
        assert (int(cells[2]) > 1) == cut
        assert float(cells[5]) > 0


def test_an_error_stands_in_the_place_of_the_memory(monkeypatch):
    def fail(problem, check):
        raise MemoryError("none left")

    monkeypatch.setitem(gpt2.KINDS, "Hessian", fail)
    shape = gpt2.Shape(layers=1, width=8, heads=1, context=4, vocabulary=20, variant="no attention")
    at = gpt2.problem(shape, 1, 2**30)
    assert "none left" in gpt2.row("Hessian", at, 1)
