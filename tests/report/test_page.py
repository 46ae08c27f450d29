import base64
import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest
import sample_reports

from hessian_spectra.drawing.record import read_figures
from hessian_spectra.report import build
from hessian_spectra.report.figures import override
from hessian_spectra.report.html import anchor
from hessian_spectra.results import MissingResultError, RecordError, write_json


class Reader(HTMLParser):
    """Collects what the tests ask about: elements, ids and text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "link", "img", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    def values(self, attribute: str) -> list[str]:
        return [a[attribute] or "" for _, a in self.elements if attribute in a]


@pytest.fixture(scope="module")
def text(sample_root: Path) -> str:
    return build(sample_root / "reports")


@pytest.fixture(scope="module")
def page(text: str) -> Reader:
    return Reader(text)


def test_equal_inputs_give_equal_bytes(text: str, sample_root: Path) -> None:
    assert build(sample_root / "reports") == text


def test_elements_are_closed_and_ids_unique(page: Reader) -> None:
    assert page.open == []
    ids = page.values("id")
    assert len(ids) == len(set(ids))


def test_links_lead_to_something(page: Reader, sample_root: Path) -> None:
    links = [a["href"] or "" for a in page.all("a")]
    inside = {link[1:] for link in links if link.startswith("#")}
    outside = [link for link in links if not link.startswith("#")]
    assert inside <= set(page.values("id"))
    assert len(outside) == len(sample_reports.STUDIES)
    assert all((sample_root / "reports" / link).is_file() for link in outside)


def test_nothing_is_loaded_from_elsewhere(page: Reader) -> None:
    assert all(source.startswith("data:") for source in page.values("src"))
    assert [a["href"].split(",")[0] for a in page.all("link")] == ["data:image/svg+xml"]
    assert "default-src 'none'" in page.values("content")[-1]


def test_every_figure_is_shown_as_it_is(page: Reader, sample_root: Path) -> None:
    shown = {base64.b64decode(a["src"].split(",")[1]) for a in page.all("img")}
    files = (sample_root / "reports" / "figures").glob("*.png")
    assert shown == {file.read_bytes() for file in files}
    assert all(a["alt"] for a in page.all("img"))


def test_every_claim_has_a_row_that_the_filter_knows(page: Reader) -> None:
    rows = {a["id"]: a for a in page.all("tr") if "data-verdict" in a}
    expected = {anchor("claim", str(entry["id"])): entry for entry in sample_reports.claims()}
    assert rows.keys() == expected.keys()
    for name, entry in expected.items():
        for field in ("paper", "verdict", "kind"):
            assert rows[name][f"data-{field}"] == entry[field]


def test_text_from_files_is_escaped(text: str) -> None:
    assert "<img src=x" not in text
    assert text.count("&lt;img src=x onerror=alert(1)&gt;") == 2
    assert text.count("<script>") == text.count("</script>") == 1


def test_each_figure_says_how_it_was_made(text: str) -> None:
    for study in sample_reports.STUDIES:
        config = sample_reports.config(study)
        for command in (
            f"dvc repro &#x27;figures@{study}&#x27;",
            f"dvc exp run -S {override(study, config)}",
            f"conf/studies/{config['paper']}/{study}.yaml",
        ):
            assert command in text


def test_the_override_differs_from_the_configuration() -> None:
    assert override("s", {"width": 10}) == "studies.s.width=50"
    assert override("s", {"width": 50}) == "studies.s.width=20"
    assert override("s", {"width": True, "seed": 4}) == "studies.s.seed=5"


def test_errata_show_both_forms_and_their_errors(text: str) -> None:
    errata = text[text.index('id="errata"') :]
    for entry in sample_reports.claims():
        assert (f">{entry['printed']}<" in errata) == (entry["printed"] is not None)


def test_a_recorded_run_stands_beside_the_figure(reports: Path) -> None:
    before = build(reports)
    folder = reports / "evidence" / "cracking-fig7"
    folder.mkdir(parents=True)
    image = (reports / "figures" / "poster-pair.png").read_bytes()
    (folder / "figure.png").write_bytes(image)
    write_json(folder / "facts.json", {"commit": "abc", "hardware": {"cores": 2}, "width": 1000})
    with pytest.raises(MissingResultError, match=r"claims\.json is missing: run git checkout"):
        build(reports)
    recorded = sample_reports.claim(3, "cracking-fig7", "reproduced", id="recorded claim")
    write_json(folder / "claims.json", [recorded])
    after = build(reports)
    assert "Claims measured on the recorded run of cracking-fig7" in after
    assert len(Reader(after).all("img")) == len(Reader(before).all("img")) + 1
    assert "hardware.cores" in after
    assert "hardware.cores" not in before
    (folder / "figure.png").unlink()
    with pytest.raises(MissingResultError, match=r"figure\.png is missing: run git checkout"):
        build(reports)


def test_a_page_without_pdfs_has_no_links_to_them(reports: Path) -> None:
    (reports / "figures" / "poster-pair.pdf").unlink()
    assert "poster-pair.pdf" not in build(reports)


def change(name: str, **changes: object) -> Callable[[Path], None]:
    def apply(reports: Path) -> None:
        path = reports / name
        content = json.loads(path.read_text())
        entry = content[0] if isinstance(content, list) else content
        for key, value in changes.items():
            if value is None:
                del entry[key]
            else:
                entry[key] = value
        write_json(path, content)

    return apply


def write(name: str, content: bytes) -> Callable[[Path], None]:
    return lambda reports: (reports / name).write_bytes(content) and None


def remove(pattern: str) -> Callable[[Path], None]:
    return lambda reports: [path.unlink() for path in reports.glob(pattern)] and None


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (remove("figures/*.json"), r"figures holds no figures: run the stage figures"),
        (
            remove("figures/poster-pair.png"),
            r"poster-pair\.png is missing: run dvc repro 'figures@",
        ),
        (remove("claims.json"), r"claims\.json is missing: run dvc repro claims"),
        (write("claims.json", b"[{"), r"claims\.json is no JSON .*: delete it and run"),
        (write("claims.json", b"\xff"), r"claims\.json is no JSON .*: delete it and run"),
        (write("claims.json", b"[]"), r"expected a list of claims, got none; run dvc repro claims"),
        (write("claims.json", b"[1]"), r"claims\.json, entry 0: expected an object, got 1"),
        (change("claims.json", verdict="proved"), r"expected verdict to be one of reproduced, .*"),
        (change("claims.json", measured=None), r"entry 0: expected measured, found none"),
        (write("figures/poster-pair.json", b"{"), r"poster-pair\.json is no JSON"),
        (change("figures/poster-pair.json", caption=None), r"expected caption, found none"),
        (
            change("figures/poster-pair.json", study="x"),
            r"expected the study 'poster-pair', got 'x'",
        ),
        (write("figures/poster-pair.png", b"no image"), r"poster-pair\.png is no complete PNG"),
    ],
)
def test_bad_inputs_are_one_line_that_names_the_remedy(
    reports: Path, damage: Callable[[Path], None], message: str
) -> None:
    damage(reports)
    with pytest.raises((MissingResultError, RecordError), match=message) as caught:
        build(reports)
    assert "\n" not in str(caught.value)
    assert re.search(r"run (dvc repro|the stage)", str(caught.value))


def test_a_cut_off_image_is_refused(reports: Path) -> None:
    path = reports / "figures" / "poster-pair.png"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(RecordError, match="no complete PNG image"):
        build(reports)


def test_figures_come_by_paper_and_in_natural_order(sample_root: Path) -> None:
    found = [figure.study for figure in read_figures(sample_root / "reports")]
    assert found == list(sample_reports.STUDIES)
