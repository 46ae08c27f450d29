import json

import pytest

from hessian_spectra.drawing import style
from hessian_spectra.drawing.record import Origin
from hessian_spectra.drawing.save import save
from hessian_spectra.results import digest

CONFIG = {
    "kind": "toy",
    "paper": "singh2026cracking",
    "artifact": "Figure 0",
    "title": "A line",
    "data": "none",
    "seed": 0,
    "width": 3,
}


ORIGIN = Origin(
    study="toy-fig0",
    config=CONFIG,
    package="hessian_spectra.studies.toys.toy",
    arrays={"numerics": "0" * 64},
)


def line():
    figure, axes = style.panels()
    axes.plot([0, 1], [1, 3], label="λ")
    axes.legend()
    return figure


def test_equal_figures_give_equal_bytes(tmp_path):
    for folder in ("one", "two"):
        save(line(), "A caption.", ORIGIN, tmp_path / folder)
    for suffix in ("png", "pdf", "json"):
        first, second = (tmp_path / f / f"toy-fig0.{suffix}" for f in ("one", "two"))
        assert first.read_bytes() == second.read_bytes()


def test_the_record_says_where_the_figure_comes_from(tmp_path):
    save(line(), "A caption.", ORIGIN, tmp_path)
    record = json.loads((tmp_path / "toy-fig0.json").read_text())
    assert record["config"] == CONFIG
    assert record["digest"] == digest(CONFIG)
    assert record["command"] == "dvc repro 'figures@toy-fig0'"
    assert record["caption"] == "A caption."
    assert record["package"] == "hessian_spectra.studies.toys.toy"
    assert record["arrays"] == {"numerics": "0" * 64}


@pytest.mark.parametrize("change", [{"width": 4}, {"seed": 1}])
def test_another_configuration_has_another_digest(change):
    assert digest(CONFIG | change) != digest(CONFIG)
