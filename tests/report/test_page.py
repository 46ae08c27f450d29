import base64
import json
import re
import shutil
from collections import Counter
from collections.abc import Callable
from html.parser import HTMLParser
from importlib import resources
from pathlib import Path

import pytest
import sample_reports

from hessian_spectra.ledger.bounds import VERDICTS
from hessian_spectra.report import build
from hessian_spectra.report.figures import override
from hessian_spectra.report.html import anchor
from hessian_spectra.report.verdicts import badge
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
    assert len(outside) == len(sample_reports.STUDIES) + 1, "one figure has a recorded run"
    assert all((sample_root / "reports" / link).is_file() for link in outside)


def test_nothing_is_loaded_from_elsewhere(page: Reader) -> None:
    assert all(source.startswith("data:") for source in page.values("src"))
    assert [a["href"].split(",")[0] for a in page.all("link")] == ["data:image/svg+xml"]
    assert "default-src 'none'" in page.values("content")[-1]


def test_every_figure_is_shown_as_it_is(page: Reader, sample_root: Path) -> None:
    shown = {base64.b64decode(a["src"].split(",")[1]) for a in page.all("img")}
    files = list((sample_root / "reports" / "figures").rglob("*.png"))
    assert len(files) == len(sample_reports.STUDIES) + 1
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


def section(text: str, name: str, end: str) -> str:
    """The page from an id on, up to the next closing tag of a kind."""
    return text[text.index(f'id="{name}"') :].partition(f"</{end}>")[0]


def test_a_recorded_run_stands_beside_todays(text: str) -> None:
    article = section(text, f"figure-{sample_reports.RECORDED}", "article")
    today, recorded = article.split("<figure>")[1:]
    assert "<strong>Today’s run (demo)</strong>" in today
    assert "<strong>Recorded run (paper)</strong>" in recorded
    assert "hardware.cores" not in today
    assert "hardware.cores" in recorded
    assert "2 settings are not the paper’s" in today
    assert '<th scope="row">large_learning_rates.of_a_long_name</th>' in today
    assert "1 setting is not the paper’s" in recorded
    assert f'href="figures/{sample_reports.RECORDED}/recorded.pdf"' in recorded
    other = section(text, "figure-poster-pair", "article")
    assert "Recorded run" not in other
    assert "not the paper’s" not in other


def row(text: str, number: int) -> str:
    return section(text, f"claim-sample--claim-{number}", "tr")


def test_a_claim_says_which_run_decided_it_and_what_the_other_says(text: str) -> None:
    agreeing, flipped, undecided, weaker = (row(text, number) for number in (5, 14, 23, 32))
    assert 'badge reproduced"' in agreeing
    assert '</span><p class="run">recorded run (paper)</p>' in agreeing
    assert '<p class="beside agrees">today’s run (demo) measured ' in agreeing
    assert "departs" not in agreeing
    assert '</span><p class="run">recorded run (paper)</p>' in flipped
    assert "measured 1.84 × 10<sup>−13</sup>" in flipped.partition('<p class="beside">')[2]
    assert 'badge reproduced"' in flipped.partition('<p class="beside">')[2]
    assert "not run" not in flipped
    assert 'badge undecided"' in undecided
    assert 'badge differs"' in undecided.partition('<p class="beside">')[2]
    assert '</span><p class="run">today’s run (demo)</p>' in weaker
    assert '<p class="beside agrees">recorded run (paper) measured 32.5: ' in weaker


def test_settings_that_are_not_the_papers_stand_where_they_may_explain(text: str) -> None:
    """Under what differs or is undecided, of the run that decides; of the other if it disagrees."""
    note = "et otherwise than in the paper: "
    assert note not in row(text, 5)
    assert row(text, 14).count(note) == 1
    assert f'<p class="departs">S{note}sizes.</p>' in row(text, 14)
    assert f'<p class="departs">S{note}sizes.</p>' in row(text, 23)
    assert f"; s{note}large_learning_rates, networks</p>" in row(text, 23)
    assert f'<p class="departs">S{note}large_learning_rates, networks.</p>' in row(text, 32)
    assert row(text, 32).count(note) == 1


def test_the_filter_knows_the_runs_of_a_claim(page: Reader) -> None:
    known = {a["id"]: a["data-run"] for a in page.all("tr") if "data-run" in a}
    expected = {
        0: "today’s decides",
        5: "recorded decides",
        8: "",
        14: "recorded decides|the two disagree",
        32: "today’s decides",
    }
    for number, runs in expected.items():
        assert known[f"claim-sample--claim-{number}"] == runs
    options = {a["value"] for a in page.all("option")}
    assert {run for runs in known.values() for run in runs.split("|")} <= options


def test_the_summary_says_what_was_decided_by_what(text: str) -> None:
    summary = section(text, "summary", "section")
    said = re.sub("<.*?>", "", summary)
    assert "35 claims in 36 entries, 8 figures of 3 papers" in said
    assert "3 claims are decided by recorded runs" in said
    assert "28 by today’s run" in said
    assert "on 2 the two disagree" in said


def test_the_summary_counts_a_statement_of_several_papers_once(text: str) -> None:
    summary = section(text, "summary", "section")
    found = re.findall(r'data-show="([a-z ]+)"><span class="count">(\d+)<', summary)
    entries = Counter(entry["verdict"] for entry in sample_reports.claims())
    # One is reproduced in one paper and differs in another.
    assert {name: int(count) for name, count in found} == entries - Counter(["reproduced"])


def test_a_page_without_recorded_runs_says_so(reports: Path) -> None:
    entries = [sample_reports.claim(0, "poster-pair", "reproduced")]
    write_json(reports / "claims.json", entries)
    assert "Today’s run decides all of them." in build(reports)


def luminance(color: str) -> float:
    parts = (int(color[place : place + 2], 16) / 255 for place in (1, 3, 5))
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return sum(w * p for w, p in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_every_verdict_has_a_sign_and_enough_contrast_in_light_and_dark() -> None:
    style = resources.files("hessian_spectra.report").joinpath("style.css").read_text("utf-8")
    schemes = style.split("@media (prefers-color-scheme: dark)")
    assert len(schemes) == 2
    signs = set()
    for verdict in VERDICTS:
        (name,) = re.findall(r'class="badge (.*?)"', badge(verdict))
        signs.add(re.findall(">([^<a-z]+)</span>", badge(verdict))[0])
        for scheme in schemes:
            colors = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", scheme))
            assert contrast(colors[name], colors[f"{name}-back"]) >= 4.5, (verdict, colors[name])
    assert len(signs) == len(VERDICTS)


def test_a_page_without_pdfs_has_no_links_to_them(reports: Path) -> None:
    (reports / "figures" / "poster-pair" / "figure.pdf").unlink()
    text = build(reports)
    assert "poster-pair/figure.pdf" not in text
    assert "cracking-fig7/figure.pdf" in text


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
        (remove("figures/*/*.json"), r"figure\.json is missing: run dvc repro 'figures@"),
        (
            lambda reports: shutil.rmtree(reports / "figures"),
            r"figures holds no figures: run the stage figures",
        ),
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
        (write("figures/poster-pair/figure.json", b"{"), r"poster-pair/figure\.json is no JSON"),
        (change("figures/poster-pair/figure.json", caption=None), r"expected caption, found none"),
        (
            change("figures/poster-pair/figure.json", study="x"),
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
