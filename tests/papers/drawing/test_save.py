import json
from dataclasses import replace

import pytest

from hessian_papers.drawing.record import read_figures
from hessian_papers.drawing.save import save
from hessian_papers.results import Provenance
from hessian_spectra.files import MissingResultError, digest
from hessian_spectra.pictures import style

CONFIG = {
    "kind": "toy",
    "paper": "singh2026cracking",
    "artifact": "Figure 0",
    "title": "A line",
    "data": "none",
    "seed": 0,
    "width": 3,
}


PACKAGE = "hessian_papers.studies.toys.toy"
ORIGIN = Provenance(
    study="toy-fig0",
    config=CONFIG,
    arrays={"numerics": "0" * 64},
    scale="paper",
    facts={"hardware": {"cores": 2}},
    departs={"width": [3, 100]},
)
FILES = {
    recorded: (
        "toy-fig0/recorded.png" if recorded else "toy-fig0.png",
        *(f"toy-fig0/{name}{ending}" for ending in (".svg", ".json", "-series.json")),
    )
    for recorded, name in ((False, "figure"), (True, "recorded"))
}


def line():
    figure, axes = style.panels()
    axes.plot([0, 1], [1, 3], label="λ")
    axes.legend()
    return figure


@pytest.mark.parametrize("recorded", [False, True])
def test_equal_figures_give_equal_bytes(tmp_path, recorded):
    for folder in ("one", "two"):
        save(line(), "A caption.", replace(ORIGIN, recorded=recorded), PACKAGE, tmp_path / folder)
    first, second = (tmp_path / folder / CONFIG["paper"] for folder in ("one", "two"))
    written = [path for path in (tmp_path / "one").rglob("*") if path.is_file()]
    assert {str(path.relative_to(first)) for path in written} == set(FILES[recorded])
    for name in FILES[recorded]:
        assert (first / name).read_bytes() == (second / name).read_bytes()


@pytest.mark.parametrize("recorded", [False, True])
def test_a_second_picture_stands_apart(tmp_path, recorded):
    origin = replace(ORIGIN, recorded=recorded)
    save(line(), "A caption.", origin, PACKAGE, tmp_path / "figures", (line(), "Its errors."))
    if recorded:
        save(line(), "A caption.", ORIGIN, PACKAGE, tmp_path / "figures")
    (figure,) = read_figures(tmp_path)
    shown = figure.recorded if recorded else figure
    name = "controls-recorded.png" if recorded else "controls.png"
    assert (shown.controls.image.name, shown.controls.caption) == (name, "Its errors.")
    assert shown.controls.png == shown.controls.image.read_bytes()
    assert shown.controls.svg == shown.controls.image
    assert figure.controls is None or not recorded
    shown.controls.image.unlink()
    with pytest.raises(MissingResultError, match=f"{name} is missing: run dvc repro"):
        read_figures(tmp_path)


def test_the_record_says_where_the_figure_comes_from(tmp_path):
    save(line(), "A caption.", ORIGIN, PACKAGE, tmp_path)
    record = json.loads((tmp_path / CONFIG["paper"] / "toy-fig0" / "figure.json").read_text())
    assert Provenance(**record["provenance"]) == ORIGIN
    assert record["command"] == "dvc repro paper@singh2026cracking"
    assert record["caption"] == "A caption."
    assert record["package"] == PACKAGE


@pytest.mark.parametrize("change", [{"width": 4}, {"seed": 1}])
def test_another_configuration_has_another_digest(change):
    assert digest(CONFIG | change) != digest(CONFIG)
