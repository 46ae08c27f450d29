import base64
import json
import posixpath
import re
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from html.parser import HTMLParser
from importlib import resources
from pathlib import Path
from unittest.mock import Mock

import pytest
import sample_reports

from hessian_papers.drawing.record import FigureRecord, image_size
from hessian_papers.ledger.record import StatementRecord
from hessian_papers.ledger.verdicts import VERDICTS
from hessian_papers.papers import PAPERS
from hessian_papers.report import FRONT, address, build, index, read
from hessian_papers.report.commands import cost, override
from hessian_papers.report.entries import anchor
from hessian_papers.report.findings import Finding, Opening
from hessian_papers.report.verdicts import strips, style
from hessian_papers.results import TIMES, Provenance
from hessian_spectra.files import DamagedFileError, MissingResultError, write_json

POSTER = "figures/singh2024poster"


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
    """A document that has all."""
    return build(read(sample_root / "reports"))


@pytest.fixture(scope="module")
def page(text: str) -> Reader:
    return Reader(text)


def test_equal_inputs_give_equal_bytes(text: str, sample_root: Path) -> None:
    assert build(read(sample_root / "reports")) == text


def test_elements_are_closed_and_ids_unique(page: Reader) -> None:
    assert page.open == []
    ids = page.values("id")
    assert len(ids) == len(set(ids))


def test_anchors_are_valid_and_keep_names_apart() -> None:
    names = ["thm-linear/eq. 1", "thm-linear/eq.1", "thm-linear eq.1", "λ", "μ", "a--b", "a/b c"]
    anchors = [anchor("claim", name) for name in names]
    assert len(set(anchors)) == len(names)
    assert all(re.fullmatch(r"claim-[A-Za-z0-9_-]+", actual) for actual in anchors)


def test_links_lead_to_something(page: Reader, sample_root: Path) -> None:
    links = [a["href"] or "" for a in page.all("a")]
    # What a search finds is no element: its words stand in the address.
    inside = {link[1:] for link in links if re.match("#(?!verdict=)", link)}
    assert inside <= set(page.values("id"))
    reports = sample_root / "reports"
    outside = [reports / link for link in links if not link.startswith("#")]
    # The code and the configuration of made-up studies are nowhere.
    made = [link for link in outside if not {"src", "conf"} & {*link.parts}]
    assert all(link.is_file() for link in made)
    runs = len(sample_reports.STUDIES) + 1
    names = Counter(link.suffix for link in made)
    assert names[".svg"] == 2 * runs, "each picture links its own, and the list those of the runs"
    assert names[".png"] == runs + 4, "one figure has a recorded run, and controls, which are twice"
    assert names[".nc"] == runs
    assert names[".json"] == 1, "the facts of that run"
    assert len(outside) - len(made) == 5 * len(sample_reports.STUDIES)


def test_each_run_says_on_which_packages_it_was_made_and_of_which_files(text: str) -> None:
    for name, version in sample_reports.VERSIONS["versions"].items():
        assert text.count(f"versions.{name}: {version}\n") == len(sample_reports.STUDIES)
    ((name, digest),) = sample_reports.FILES["files"].items()
    assert text.count(f"files.{name}: {digest}\n") == 1
    assert f"files.{name}" in figure(text, "poster-pair")
    assert text.count("own files it read</summary>") == 1
    assert text.count("on what, for how long</summary>") == 1, "of the recorded run"


def test_nothing_is_loaded_from_elsewhere(page: Reader, sample_root: Path) -> None:
    assert [a["href"].split(",")[0] for a in page.all("link")] == ["data:image/svg+xml"]
    policy = page.values("content")[-1]
    assert policy.startswith("default-src 'none'; img-src 'self' file: data:;")


def test_every_figure_is_a_file_beside_the_page_loaded_when_seen(
    page: Reader, sample_root: Path
) -> None:
    reports = sample_root / "reports"
    shown = [a for a in page.all("img") if "src" in a]
    files = {path.relative_to(reports).as_posix() for path in reports.rglob("*.png")}
    assert {a["src"] for a in shown} == files
    assert len(files) == len(sample_reports.STUDIES) + 3
    assert len(shown) == len(files) + len(sample_reports.STUDIES), "and a thumbnail of each figure"
    for attributes in shown:
        assert attributes["alt"] or attributes["class"] == "thumbnail"
        assert attributes["loading"] == "lazy"
        width, height = image_size((reports / attributes["src"]).read_bytes(), Path("x"), "")
        assert (attributes["width"], attributes["height"]) == (str(width), str(height))


def test_a_command_says_how_long_it_takes_where_that_is_known(sample_root: Path) -> None:
    known = {"processor": "some kind", "seconds": {"poster-pair": 100}}
    text = build(read(sample_root / "reports", known))
    said = "with all that it is made from; 2 min on one core of some kind"
    assert text.count("with all that it is made from") == len(sample_reports.STUDIES)
    assert text.count(said) == 1
    assert said in figure(text, "poster-pair")


def test_a_lead_sentence_is_said_where_its_statement_holds(sample_root: Path) -> None:
    text = build(read(sample_root / "reports", leads=sample_reports.LEADS))
    shown = figure(text, sample_reports.RECORDED)
    assert shown.count('<strong class="lead">Made-up lead') == 2
    assert "This is not so" not in text


def test_errors_and_controls_are_a_second_picture(sample_root: Path) -> None:
    text = build(read(sample_root / "reports"))
    shown = figure(text, sample_reports.RECORDED)
    assert text.count("<summary>Errors and controls</summary>") == 2
    for name in ("controls.png", "controls-recorded.png"):
        # The picture, what it links, and the list of files.
        assert shown.count(f'/{sample_reports.RECORDED}/{name}"') == 3
    assert "Made-up errors of cracking-fig7." in shown


def test_a_single_file_holds_every_picture_and_links_no_file(sample_root: Path) -> None:
    reports = sample_root / "reports"
    page = Reader(build(read(reports), embedded=True))
    shown = {base64.b64decode(a["src"].split(",")[1]) for a in page.all("img") if "src" in a}
    assert shown == {file.read_bytes() for file in reports.rglob("*.png")}
    assert all(a["href"].startswith("#") for a in page.all("a"))
    assert "img-src data:;" in page.values("content")[-1]


def name_of(entry: dict[str, object]) -> str:
    """The id of a made-up statement's row."""
    (first, *_) = entry["cases"]
    return anchor("claim", f"{first['study'] or 'singh2026cracking'}/{entry['id']}")


def test_every_statement_has_a_row(page: Reader) -> None:
    rows = {a["id"] for a in page.all("li") if (a.get("id") or "").startswith("claim-")}
    assert rows == {name_of(entry) for entry in sample_reports.statements()}


def test_text_from_files_is_escaped(text: str) -> None:
    assert "<img src=x" not in text
    assert text.count("&lt;img src=x onerror=alert(1)&gt;") == 1
    assert text.count("<script") == text.count("</script>") == 5


def test_each_figure_says_how_it_was_made(text: str) -> None:
    for study in sample_reports.STUDIES:
        config = sample_reports.config(study)
        change, meaning = override(study, config)
        for command in (
            f"dvc repro paper@{config['paper']}",
            f"dvc exp run -S {change}",
            f"python -m pipelines.figures only={study} {change}",
            meaning,
            f"../conf/studies/{config['paper']}/{study}.yaml",
        ):
            assert command in text


def test_the_paper_scale_is_offered_where_it_is_another(text: str) -> None:
    """With what the recorded run took, or the word that says how long it takes."""
    line = "python -m pipelines.evidence only={} scale=paper"
    article = figure(text, sample_reports.RECORDED)
    assert line.format(sample_reports.RECORDED) in article
    assert "recorded; took 26 min on one core of made-up" in article
    others = {study for study in sample_reports.STUDIES if line.format(study) in text}
    assert others == {sample_reports.RECORDED}


@pytest.mark.parametrize(
    ("here", "recorded", "expected"),
    [
        ({}, None, ""),
        ({"mine": 46}, None, "46 s"),
        ({"mine": 46, "other": 9}, {"mine": 120.0, "networks": 3600.0}, "46 s, recorded 62 min"),
        ({}, {"mine": 5400.0}, "recorded 2 h"),
        ({}, {}, ""),
    ],
)
def test_a_figure_costs_what_it_takes_here_and_what_its_recorded_run_took(here, recorded, expected):
    run = None
    if recorded is not None:
        run = Mock(spec=FigureRecord, provenance=Mock(facts={TIMES["core"]: recorded}))
    figure = Mock(spec=FigureRecord, study="mine", recorded=run)
    assert cost(figure, {"seconds": here}) == expected


def test_the_time_of_a_gpu_is_told_apart_from_that_of_a_core():
    facts = {TIMES["core"]: {"mine": 120.0}, TIMES["GPU"]: {"networks": 660.0}}
    run = Mock(spec=FigureRecord, provenance=Mock(facts=facts))
    figure = Mock(spec=FigureRecord, study="mine", recorded=run)
    assert cost(figure, {}) == "recorded 2 min, recorded 11 min of a GPU"


@pytest.mark.parametrize(
    ("config", "change"),
    [
        ({"width": 10}, "studies.s.width=20"),
        ({"width": True, "seed": 4}, "studies.s.seed=5"),
        ({"learning_rate": 0.5, "width": 10}, "studies.s.learning_rate=0.25"),
        ({"cases": ["base", "all, alone"]}, 'studies.s.cases=["all, alone"]'),
        ({"top": 300}, "studies.s.top=150"),
        ({"parametrisations": ["sp"], "ensemble": "e"}, "networks.e.seed=1"),
        ({"widths": [1, 2, 3]}, "studies.s.widths=[1,2]"),
        ({"depth": 0, "momentum": 0.0}, "studies.s.seed=1"),
    ],
)
def test_the_override_changes_what_says_most(config: dict[str, object], change: str) -> None:
    assert override("s", config)[0] == change


def test_errata_show_both_forms_and_their_errors(text: str) -> None:
    errata = section(text, "errata", "section")
    for entry in sample_reports.statements():
        printed = f'data-label="in print"><div>{entry["printed"]}<'
        assert (printed in errata) == (entry["printed"] is not None)


def section(text: str, name: str, end: str) -> str:
    """The page from an id on, up to the next closing tag of a kind."""
    return text[text.index(f'id="{name}"') :].partition(f"</{end}>")[0]


def figure(text: str, study: str) -> str:
    """The entry of a study, from its id up to the next one's."""
    return text.partition(f'id="figure-{study}"')[2].partition('<details class="entry"')[0]


def test_a_recorded_run_and_todays_stand_in_one_place(text: str) -> None:
    article = figure(text, sample_reports.RECORDED)
    recorded, today = article.split('<figure class="card" data-run="')[1:]
    assert recorded.startswith('recorded"')
    assert today.startswith('today"')
    assert re.findall('type="radio".*?value="(.*?)"( checked)?', article) == [
        ("recorded", " checked"),
        ("today", ""),
    ]
    assert "<strong>Two networks, this run</strong>" in today
    assert (
        "<strong>Six networks of two teachers, recorded with the code of 2026-11-20</strong>"
        in recorded
    )
    assert "hardware.cores" not in today
    assert "hardware.cores: 2" in recorded
    assert "commit <code>abc</code>" in recorded
    assert "2 settings are not the paper’s" in today
    assert (
        "large_learning_rates.of_a_long_name: [0.1, 0.1, 0.1, …, 0.1] (9 values) "
        "(paper: [1.0, 1.0, 1.0, …, 1.0] (9 values))" in today
    )
    assert "1 setting is not the paper’s" in recorded
    assert f'href="figures/singh2026cracking/{sample_reports.RECORDED}/recorded.svg"' in recorded
    assert f'href="../reports/evidence/{sample_reports.RECORDED}/data.nc"' in recorded
    other = figure(text, "poster-pair")
    assert "Recorded run" not in other
    assert "radio" not in other
    assert "not the paper’s" not in other


def row(text: str, number: int) -> str:
    return section(text, name_of(sample_reports.statements()[number]), "li")


def cases(text: str, number: int) -> list[str]:
    """The rows of cases, without those of an axis and of an explanation."""
    rows = re.findall(r'<tr class="(.*?)</tr>', row(text, number))
    return [line for line in rows if not line.startswith(("axis", "why"))]


def test_a_case_says_which_run_decided_it_and_what_the_other_says(text: str) -> None:
    agreeing, flipped, undecided, weaker = (cases(text, number)[0] for number in (5, 14, 23, 32))
    assert agreeing.startswith('holds"')
    assert agreeing.endswith("<td>holds, recorded</td>")
    assert flipped.startswith('fails"')
    assert "<b>holds</b>" in flipped.partition('<span class="beside">')[2]
    assert undecided.startswith('open"')
    assert "<b>fails</b>" in undecided.partition('<span class="beside">')[2]
    assert weaker.endswith("<td>open*</td>")
    assert "beside" not in cases(text, 2)[0], "no other run was made"


def test_a_statement_says_what_decided_it(text: str) -> None:
    pooled = row(text, 2)
    assert "All cases together: 0.25 [0.125, 0.375]." in pooled
    assert "<i>typically</i>" in pooled
    assert "Statistic: largest error" in pooled
    assert "<code>sample-2</code>" in pooled
    assert len(cases(text, 2)) == 1
    assert [each.partition('"')[0] for each in cases(text, 14)] == ["fails", "holds"]


def test_a_statement_of_several_papers_names_them_all(text: str) -> None:
    assert "singh2024closed, Theorem 1; singh2026cracking, Theorem 3.1" in row(text, 3)


def test_where_a_tolerance_comes_from_is_said_once_for_all_cases(text: str) -> None:
    assert row(text, 5).count("Expected: made up. Tolerance: round-off.") == 1
    assert len(cases(text, 5)) == 2


def test_an_explanation_that_cases_share_is_given_once(reports: Path) -> None:
    own = [
        sample_reports.case(number, "poster-pair", "fails", explanation=why)
        for number, why in enumerate(["It is shared.", "It is shared.", "It is its own."])
    ]
    write_json(reports / "claims.json", [sample_reports.statement(0, "differs", own)])
    text = build(read(reports))
    assert text.count("It is shared.") == text.count("It is its own.") == 1


def test_settings_that_are_not_the_papers_stand_where_they_may_explain(text: str) -> None:
    """Where a case fails or is open, of the run that decides."""
    note = '<p class="departs">Settings that differ from the paper: {}.</p>'
    assert note.format("sizes") not in row(text, 5)
    assert note.format("sizes") in row(text, 14)
    assert note.format("sizes") in row(text, 23)
    assert note.format("large_learning_rates, networks") in row(text, 32)


def test_a_star_marks_a_smaller_setting(text: str) -> None:
    assert "<td>open*" in cases(text, 32)[0]
    assert "<td>open, recorded" in cases(text, 23)[0]


def test_the_summary_says_what_was_decided_by_what(text: str) -> None:
    said = re.sub("<.*?>", "", section(text, "verdicts", "section"))
    assert "36 statements with 40 cases, 8 figures of 3 papers" in said
    assert "Recorded runs, whose arrays are kept, decide 3 cases" in said
    assert "this run, which made this page, decides 33" in said
    assert "on 2 the two disagree" in said


def test_the_summary_counts_by_verdict_and_by_paper_and_book(text: str) -> None:
    summary = section(text, "verdicts", "section")
    first = section(text, "first", "section")
    pattern = r'<span class="count">(\d+)</span><b class="badge [a-z-]+">([a-z ]+)<'
    counted = [(name, count) for count, name in re.findall(pattern, first)]
    verdicts = Counter(str(entry["verdict"]) for entry in sample_reports.statements())
    assert {name: int(count) for name, count in counted} == verdicts
    books = re.findall(r'data-label="book">(.*?)<', summary)
    assert {*books} == {
        "theorems and printed numbers",
        "observations",
        "by our reading of a word",
        "beyond the papers",
    }
    assert books.count("beyond the papers") == 1


def test_a_page_without_recorded_runs_says_so(reports: Path) -> None:
    entries = [sample_reports.statement(0, "reproduced", [sample_reports.case(0, "poster-pair")])]
    write_json(reports / "claims.json", entries)
    assert "This run decides all cases." in build(read(reports))


def cells(text: str, paper: str) -> list[str]:
    """The cells of a paper in the overview."""
    table = text.partition('class="cards overview"')[2].partition("</table>")[0]
    rows = {row.partition('"')[0]: row for row in table.split('scope="row"><a href="#paper-')[1:]}
    return re.findall(r'<a class="cell".*?</a>', rows[paper], re.S)


def test_the_overview_has_a_cell_for_each_artifact_that_something_covers(text: str) -> None:
    for study, (paper, artifact) in sample_reports.STUDIES.items():
        label = artifact.removeprefix("Figure ")
        if artifact.startswith("Figure"):
            target = anchor("artifact", f"{paper}/{artifact}")
            (cell,) = [cell for cell in cells(text, paper) if f'href="#{target}"' in cell]
            assert re.search(rf">{label}(<|$)", cell), study
            assert f'id="{target}"' in text


def test_a_cell_of_the_overview_is_coloured_by_the_fractions_of_verdicts(text: str) -> None:
    own = Counter(
        style(str(entry["verdict"]))
        for entry in sample_reports.statements()
        if entry["cases"][0]["study"] == "cracking-fig9" and "singh2026cracking" in entry["places"]
    )
    (cell,) = [cell for cell in cells(text, "singh2026cracking") if "Figure-9" in cell]
    parts = re.findall(r"--([a-z-]+)-back\) (\d+)% (\d+)%", cell)
    widths = {name: float(end) - float(start) for name, start, end in parts}
    assert widths == {
        verdict: pytest.approx(100 * count / own.total(), abs=1) for verdict, count in own.items()
    }
    assert (f"≠{own['differs']}" in cell) == (own["differs"] > 0)


def test_findings_have_a_picture_and_lead_to_their_statements(sample_root: Path) -> None:
    content = read(sample_root / "reports")
    stated = Finding("one", "$λ_1 < 2$ holds", True, content.statements[:2], "cracking-fig7")
    text = build(content, [stated, Finding("two", "x is not run", False, [], "no-study")])
    actual = section(text, "findings", "section")
    assert text.index('id="findings"') < text.index('id="verdicts"')
    assert "<mi>λ</mi>" in actual
    assert actual.count("<img") == 1
    assert 'src="figures/singh2026cracking/cracking-fig7/recorded.png"' in actual
    assert "<em>Not stated by this run:</em> x is not run." in actual
    assert re.findall('href="#claim-(.*?)"', actual) == [
        "closed2024-fig1--sample-0",
        "closed2024-fig2--sample-1",
    ]
    assert 'id="findings"' not in build(content)


@pytest.fixture(scope="module")
def pages(sample_root: Path) -> dict[str, str]:
    """The front, and the pages of all papers and figures, by their addresses."""
    content = read(sample_root / "reports")
    parts = [part for section in content.sections for part in content.parts(section.key)]
    texts = {address(part): build(content, part=part) for part in (FRONT, *parts)}
    return texts | {"search-index.js": index(content)}


def test_links_from_page_to_page_lead_to_something(pages: dict[str, str]) -> None:
    known = {name: {*Reader(text).values("id")} for name, text in pages.items() if "html" in name}
    for name in known:
        links = [a["href"] or "" for a in Reader(pages[name]).all("a")]
        for link in links:
            path, _, target = link.partition("#")
            place = (
                posixpath.normpath(posixpath.join(posixpath.dirname(name), path)) if path else name
            )
            if place in known and not target.startswith("verdict="):
                assert target in known[place], (name, link)
    papers = {paper for paper, _ in sample_reports.STUDIES.values()}
    assert len(known) == 1 + len(papers) + len(sample_reports.STUDIES)


def test_the_index_leads_to_every_figure_and_statement(pages: dict[str, str]) -> None:
    content = json.loads(pages["search-index.js"].removeprefix("window.searchIndex=").rstrip(";\n"))
    assert len(content["figures"]) == len(sample_reports.STUDIES)
    assert len(content["statements"]) == len(sample_reports.statements())
    for entry in (*content["figures"], *content["statements"]):
        page, _, target = entry["href"].partition("#")
        assert f'id="{target}"' in pages[page]
    (named,) = [e for e in content["figures"] if e["artifact"] == "Figure 27"]
    assert named["image"] == "figures/singh2026cracking/cracking-fig27.png"
    assert "width 10" in named["settings"]
    assert "Made-up curve" in named["caption"]


def test_a_figure_stands_between_its_neighbours(pages: dict[str, str]) -> None:
    page = pages["singh2026cracking/cracking-fig7.html"]
    beside = re.findall(r'<a href="(.*?)#.*?" rel="(prev|next)">', page)
    assert [rel for _, rel in beside] == ["prev", "next"]
    assert "<h1>" in page
    assert page.count("<figure") == 2
    (only,) = re.findall(r'rel="(prev|next)"', pages["singh2026cracking/cracking-fig1.html"])
    assert only == "next"


def test_the_first_screen_has_what_was_chosen_for_it(sample_root: Path) -> None:
    content = read(sample_root / "reports")
    misprint = next(s for s in content.statements if s.printed is not None)
    finding = Finding("one", "It holds.", True, [], "cracking-fig7")
    text = build(content, [finding], opening=Opening(misprint, finding), part=FRONT)
    first = section(text, "first", "section")
    assert str(misprint.printed) in first
    assert "It holds." in first
    assert first.count("<img") == 1
    for paper in PAPERS.values():
        assert (paper.title in first) == (paper.key in first)


def test_a_case_lies_on_the_axis_of_its_statement() -> None:
    entries = [
        sample_reports.case(number, "poster-pair", measured=value, interval=interval, expected=1.0)
        | {"tolerance": 0.0}
        for number, (value, interval) in enumerate([(0.5, [0.0, 1.0]), (2.0, None)])
    ]
    whole = sample_reports.statement(0, "in part", entries)
    first, second = strips(StatementRecord.of(whole, "made up", "nothing").cases)
    known = dict(part.split(":") for part in first.split(";"))
    # The axis spans 0 to 2 with 6 % of room at both ends; at most 1 is allowed.
    place = {name.strip("-"): float(text.rstrip("%")) for name, text in known.items()}
    assert place["a"] == 0.0
    assert place["l"] == pytest.approx(100 * 0.12 / 2.24, abs=0.1)
    assert place["v"] == pytest.approx(100 * 0.62 / 2.24, abs=0.1)
    assert place["h"] == place["b"] == pytest.approx(50.0, abs=0.1)
    assert "--l" not in second


def test_of_many_cases_only_those_that_do_not_follow_stand_open(reports: Path) -> None:
    own = [
        sample_reports.case(number, "poster-pair", "fails" if number == 7 else "holds")
        for number in range(20)
    ]
    write_json(reports / "claims.json", [sample_reports.statement(0, "in part", own)])
    actual = build(read(reports))
    said = actual.partition('id="claim-poster-pair--sample-0"')[2].partition("</li>")[0]
    open_, _, folded = said.partition("19 further cases: 19 hold")
    assert len(re.findall("<tr class=", open_)) == 1
    assert len(re.findall("<tr class=", folded)) == 19


def colours() -> dict[str, dict[str, str]]:
    """The colours of the light and the dark scheme, by their names."""
    css = resources.files("hessian_papers.report").joinpath("style.css").read_text("utf-8")
    blocks = re.findall(r":root \{(.*?)\}", css, re.DOTALL)
    return {
        name: dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", block))
        for name, block in zip(("light", "dark"), blocks, strict=True)
    }


def luminance(colour: str) -> float:
    """Relative luminance by WCAG 2.2."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(item: str, other: str) -> float:
    high, low = sorted((luminance(item), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_the_contrast_that_wcag_aa_asks_for(scheme: str) -> None:
    known = colours()[scheme]
    pairs = [(f, b) for f in ("text", "quiet", "link") for b in ("page", "card", "code", "target")]
    # In the overview a cell's text stands on the colours of verdicts.
    fronts = ["reproduced", "corrected", "differs", "open", "not-tested"]
    pairs += [(front, f"{name}-back") for name in fronts for front in (name, "text")]
    low = {pair: contrast(known[pair[0]], known[pair[1]]) for pair in pairs}
    assert {pair: round(value, 2) for pair, value in low.items() if value < 4.5} == {}


def test_every_verdict_has_a_sign_and_a_colour() -> None:
    css = resources.files("hessian_papers.report").joinpath("verdicts.css").read_text("utf-8")
    signs = {*re.findall(r"\.badge\.([a-z-]+)::before", css)}
    # What has no verdict has the sign of any badge.
    assert signs == {style(verdict) for verdict in VERDICTS} - {"shown", "not-tested"}
    assert {style(verdict) for verdict in VERDICTS} <= {*re.findall(r"^\.([a-z-]+)[ ,]", css, re.M)}
    known = resources.files("hessian_papers.report").joinpath("style.css").read_text("utf-8")
    assert all(f"--{style(verdict)}-back:" in known for verdict in VERDICTS)


def test_a_page_without_drawings_of_lines_has_no_links_to_them(reports: Path) -> None:
    (reports / "figures/singh2024poster/poster-pair/figure.svg").unlink()
    text = build(read(reports))
    assert "poster-pair/figure.svg" not in text
    assert "cracking-fig7/figure.svg" in text


OTHER = asdict(Provenance(study="x", config={}, scale="demo"))


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
        (remove("figures/*/*/*.json"), r"figure\.json is missing: run dvc repro paper@"),
        (
            lambda reports: shutil.rmtree(reports / "figures"),
            r"figures holds no figures: run dvc repro",
        ),
        (
            remove(f"{POSTER}/poster-pair.png"),
            r"poster-pair\.png is missing: run dvc repro paper@",
        ),
        (remove("claims.json"), r"claims\.json is missing: run dvc repro ledger"),
        (write("claims.json", b"[{"), r"claims\.json is no JSON .*: delete it and run"),
        (write("claims.json", b"\xff"), r"claims\.json is no JSON .*: delete it and run"),
        (write("claims.json", b"[]"), r"expected a list of statements, got none; run dvc repro"),
        (write("claims.json", b"[1]"), r"claims\.json, entry 0: expected an object, got 1"),
        (change("claims.json", verdict="proved"), r"expected verdict to be one of reproduced, .*"),
        (change("claims.json", cases=None), r"entry 0: expected cases, found none"),
        (write(f"{POSTER}/poster-pair/figure.json", b"{"), r"poster-pair/figure\.json is no JSON"),
        (
            change(f"{POSTER}/poster-pair/figure.json", caption=None),
            r"expected caption, found none",
        ),
        (
            change(f"{POSTER}/poster-pair/figure.json", provenance=OTHER),
            r"expected the study 'poster-pair', got 'x'",
        ),
        (write(f"{POSTER}/poster-pair.png", b"no image"), r"poster-pair\.png is no complete PNG"),
    ],
)
def test_bad_inputs_are_one_line_that_names_the_remedy(
    reports: Path, damage: Callable[[Path], None], message: str
) -> None:
    damage(reports)
    with pytest.raises((MissingResultError, DamagedFileError), match=message) as caught:
        build(read(reports))
    assert "\n" not in str(caught.value)
    assert re.search(r"run (dvc repro|the stage)", str(caught.value))
