"""The document that has all, and the pages that lead to each other."""

import base64
import json
import posixpath
import re
import shutil
from collections import Counter
from pathlib import Path

import pytest
import sample_reports
from documents import Reader, figure, section

from hessian_papers.drawing.record import image_size
from hessian_papers.papers import PAPERS
from hessian_papers.report import FRONT, address, build, index, read
from hessian_papers.report.commands import override
from hessian_papers.report.entries import anchor
from hessian_papers.report.findings import Finding, Group, Picture, measured
from hessian_spectra.files import DamagedFileError, MissingResultError, write_json


def test_equal_inputs_give_equal_bytes(text, sample_root):
    assert build(read(sample_root / "reports")) == text


def test_elements_are_closed_and_ids_unique(page):
    assert page.open == []
    ids = page.values("id")
    assert len(ids) == len(set(ids))


def test_anchors_are_valid_and_keep_names_apart():
    names = ["thm-linear/eq. 1", "thm-linear/eq.1", "thm-linear eq.1", "λ", "μ", "a--b", "a/b c"]
    anchors = [anchor("claim", name) for name in names]
    assert len(set(anchors)) == len(names)
    assert all(re.fullmatch(r"claim-[A-Za-z0-9_-]+", actual) for actual in anchors)


def test_links_lead_to_something(page, sample_root):
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
    assert names[".json"] == 1 + runs, "the facts of that run, and the charts of each"
    assert len(outside) - len(made) == 5 * len(sample_reports.STUDIES)


def test_each_run_says_on_which_packages_it_was_made_and_of_which_files(text):
    for name, version in sample_reports.VERSIONS["versions"].items():
        assert text.count(f"versions.{name}: {version}\n") == len(sample_reports.STUDIES)
    ((name, digest),) = sample_reports.FILES["files"].items()
    assert text.count(f"files.{name}: {digest}\n") == 1
    assert f"files.{name}" in figure(text, "poster-pair")
    assert text.count("own files it read</summary>") == 1
    assert text.count("on what, for how long</summary>") == 1, "of the recorded run"


def test_nothing_is_loaded_from_elsewhere(page):
    assert [a["href"].split(",")[0] for a in page.all("link")] == ["data:image/svg+xml"]
    policies = [text for text in page.values("content") if text.startswith("default-src")]
    assert [policy.partition("; style")[0] for policy in policies] == [
        "default-src 'none'; img-src 'self' file: data:"
    ]


def test_every_figure_is_a_file_beside_the_page_loaded_when_seen(page, sample_root):
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


def test_a_command_says_how_long_it_takes_where_that_is_known(sample_root):
    known = {"processor": "some kind", "seconds": {"poster-pair": 100}}
    text = build(read(sample_root / "reports", known))
    said = "with all that it is made from; 2 min on one core of some kind"
    assert text.count("with all that it is made from") == len(sample_reports.STUDIES)
    assert text.count(said) == 1
    assert said in figure(text, "poster-pair")


def test_a_lead_sentence_is_said_where_its_statement_holds(sample_root):
    text = build(read(sample_root / "reports", leads=sample_reports.LEADS))
    shown = figure(text, sample_reports.RECORDED)
    assert shown.count('<strong class="lead">Made-up lead') == 2
    assert "This is not so" not in text


def test_errors_and_controls_are_a_second_picture(text):
    shown = figure(text, sample_reports.RECORDED)
    assert text.count("<summary>Errors and controls</summary>") == 2
    for name in ("controls.png", "controls-recorded.png"):
        # The picture, what it links, and the list of files.
        assert shown.count(f'/{sample_reports.RECORDED}/{name}"') == 3
    assert "Made-up errors of cracking-fig7." in shown


def test_a_single_file_holds_every_picture_and_links_no_file(sample_root, content):
    reports = sample_root / "reports"
    page = Reader(build(content, embedded=True))
    shown = {base64.b64decode(a["src"].split(",")[1]) for a in page.all("img") if "src" in a}
    assert shown == {file.read_bytes() for file in reports.rglob("*.png")}
    assert all(a["href"].startswith("#") for a in page.all("a"))
    assert any("img-src data:;" in text for text in page.values("content"))


def test_text_from_files_is_escaped(text):
    assert "<img src=x" not in text
    assert text.count("&lt;img src=x onerror=alert(1)&gt;") == 1
    assert text.count("<script") == text.count("</script>") == 5


def test_each_figure_says_how_it_was_made(text):
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


def test_the_paper_scale_is_offered_where_it_is_another(text):
    """With what the recorded run took, or the word that says how long it takes."""
    line = "python -m pipelines.evidence only={} scale=paper"
    article = figure(text, sample_reports.RECORDED)
    assert line.format(sample_reports.RECORDED) in article
    assert "recorded; took 26 min on one core of made-up" in article
    others = {study for study in sample_reports.STUDIES if line.format(study) in text}
    assert others == {sample_reports.RECORDED}


def test_a_recorded_run_and_todays_stand_in_one_place(text):
    article = figure(text, sample_reports.RECORDED)
    recorded, today = article.split('<figure class="card" data-run="')[1:]
    assert recorded.startswith('recorded"')
    assert today.startswith('today"')
    switch = re.findall('type="radio".*?value="(.*?)"( checked)?', article)
    assert switch == [("recorded", " checked"), ("today", "")]
    for said in (
        "<strong>Two networks, this run</strong>",
        "2 settings are not the paper’s",
        "large_learning_rates.of_a_long_name: [0.1, 0.1, 0.1, …, 0.1] (9 values) "
        "(paper: [1.0, 1.0, 1.0, …, 1.0] (9 values))",
    ):
        assert said in today
    assert "hardware.cores" not in today
    for said in (
        "<strong>Six networks of two teachers, recorded with the code of 2026-11-20</strong>",
        "hardware.cores: 2",
        "commit <code>abc</code>",
        "1 setting is not the paper’s",
        f'href="figures/singh2026cracking/{sample_reports.RECORDED}/recorded.svg"',
        f'href="../reports/evidence/{sample_reports.RECORDED}/data.nc"',
    ):
        assert said in recorded
    other = figure(text, "poster-pair")
    assert not re.search("Recorded run|radio|not the paper’s", other)


def test_findings_have_a_picture_of_their_own_and_lead_to_their_statements(content):
    statements = content.statements[:2]
    picture = Picture("error of $λ_1$", "number", [Group("a < b", measured(statements))])
    said = {"setting": "Width 100.", "would_change": "Another width."}
    stated = Finding("one", "$λ_1 < 2$", True, statements, "cracking-fig7", **said, picture=picture)
    text = build(content, [stated, Finding("two", "x is not run", False, [], "no-study")])
    actual = section(text, "findings", "section")
    assert text.index('id="findings"') < text.index('id="verdicts"')
    assert "<mi>λ</mi>" in actual
    assert actual.count("<svg") == 1
    assert 'href="#figure-cracking-fig7"' in actual
    assert 'aria-label="error of λ_1. a &lt; b: ' in actual
    assert "Width 100. State: any weights." in actual
    assert "What would change it: Another width." in actual
    assert "<em>Not stated by this run:</em> x is not run." in actual
    led = re.findall('href="#claim-(.*?)"', actual)
    assert led == ["closed2024-fig1--sample-0", "closed2024-fig2--sample-1"]
    assert 'id="findings"' not in build(content)


@pytest.fixture(scope="module")
def pages(content):
    """The front, and the pages of all papers and figures, by their addresses."""
    finding = [Finding("one", "It holds.", True, [], "cracking-fig7")]
    texts = {address(part): build(content, finding, part=part) for part in content.parts}
    return texts | {"search-index.js": index(content)}


def test_links_from_page_to_page_lead_to_something(pages):
    known = {name: {*Reader(text).values("id")} for name, text in pages.items() if "html" in name}
    for name in known:
        links = [a["href"] or "" for a in Reader(pages[name]).all("a")]
        for link in links:
            path, _, target = link.partition("#")
            beside = posixpath.join(posixpath.dirname(name), path)
            place = posixpath.normpath(beside) if path else name
            if place in known and not target.startswith("verdict="):
                assert target in known[place], (name, link)
    papers = {paper for paper, _ in sample_reports.STUDIES.values()}
    assert len(known) == 2 + len(papers) + len(sample_reports.STUDIES)


def test_the_index_leads_to_every_figure_and_statement(pages):
    content = json.loads(pages["search-index.js"].removeprefix("window.searchIndex=").rstrip(";\n"))
    assert len(content["figures"]) == len(sample_reports.STUDIES)
    assert len(content["statements"]) == len(sample_reports.statements())
    places = {entry["artifact"] for entry in content["places"]}
    assert places == {
        *("Playground", "Findings", "Verdicts", "Misprints", "States", "Notation"),
        *("Paper", "Symbol"),
    }
    for entry in (*content["figures"], *content["statements"], *content["places"]):
        page, _, target = entry["href"].partition("#")
        assert f'id="{target}"' in pages[page]
    (named,) = [e for e in content["figures"] if e["artifact"] == "Figure 27"]
    assert named["image"] == "figures/singh2026cracking/cracking-fig27.png"
    assert "width 10" in named["settings"]
    assert "Made-up curve" in named["caption"]


def test_a_page_says_which_settings_an_experiment_left(content):
    """On the front and on that of a figure, and how they are taken back; else nothing."""
    for part in (FRONT, "singh2026cracking/cracking-fig7"):
        text = build(content, part=part, kept="studies.mine.width=50 (conf/ has 10)")
        said = "Settings of an experiment: studies.mine.width=50 (conf/ has 10)."
        assert text.index(said) < text.index("<h1>")
        assert "<code>dvc repro --force configure</code>" in text
        assert "Settings of an experiment" not in build(content, part=part)


def test_a_figure_stands_between_its_neighbours(pages):
    page = pages["singh2026cracking/cracking-fig7.html"]
    beside = re.findall(r'<a href="(.*?)#.*?" rel="(prev|next)">', page)
    assert [rel for _, rel in beside] == ["prev", "next"]
    assert "<h1>" in page
    assert page.count("<figure") == 2
    (only,) = re.findall(r'rel="(prev|next)"', pages["singh2026cracking/cracking-fig1.html"])
    assert only == "next"


def test_a_page_says_what_it_is_to_those_who_link_it(pages):
    front, paper_, figure_ = (
        pages[name]
        for name in (FRONT, "singh2026cracking.html", "singh2026cracking/cracking-fig7.html")
    )
    facts = [
        {a.get("property", a.get("name")): a.get("content") for a in Reader(text).all("meta")}
        for text in (front, paper_, figure_)
    ]
    assert [page_["twitter:card"] for page_ in facts] == ["summary_large_image"] * 3
    assert all(0 < len(page_["description"]) < 400 for page_ in facts)
    assert all(page_["og:description"] == page_["description"] for page_ in facts)
    assert facts[0]["og:title"] == "Hessian spectra"
    assert facts[1]["description"].startswith(PAPERS["singh2026cracking"].title)
    assert facts[2]["og:title"].startswith("Figure 7: Made-up test data")
    assert facts[2]["og:image"] == "../figures/singh2026cracking/cracking-fig7/recorded.png"
    assert facts[0]["og:image"] == "pictures/inspection.png"


def test_the_menu_has_titles_and_a_document_that_has_all_leads_nowhere_else(pages, text):
    entries = 'title="([^"]*)"( aria-current="page")?>([^<]*)</a></li>'
    menu = re.findall(entries, pages["singh2026cracking.html"].partition("</header>")[0])
    assert [(full, short) for full, _, short in menu] == [
        (p.title, p.short) for p in PAPERS.values()
    ]
    assert [short for _, here, short in menu if here] == ["Cracking the Hessian"]
    assert len({paper.short for paper in PAPERS.values()}) == len(PAPERS)
    assert "og:image" not in text
    assert "README" not in text


def test_a_page_without_drawings_of_lines_has_no_links_to_them(reports):
    (reports / "figures/singh2024poster/poster-pair/figure.svg").unlink()
    text = build(read(reports))
    assert "poster-pair/figure.svg" not in text
    assert "cracking-fig7/figure.svg" in text


def breaks(content):
    """Another content of the file."""
    return lambda path: path.write_bytes(content)


def changes(**entries):
    """Other entries of the record in the file, or of the first one there."""

    def change(path):
        content = json.loads(path.read_text())
        (content[0] if isinstance(content, list) else content).update(entries)
        write_json(path, content)

    return change


FIGURE = "figures/singh2024poster/poster-pair"


@pytest.mark.parametrize(
    ("name", "damage", "message"),
    [
        (f"{FIGURE}/figure.json", Path.unlink, r"figure\.json is missing: run dvc repro paper@"),
        (f"{FIGURE}/figure.json", breaks(b"{"), r"poster-pair/figure\.json is no JSON"),
        (f"{FIGURE}/figure.json", changes(provenance=None), r"expected an object, got None"),
        (f"{FIGURE}.png", Path.unlink, r"poster-pair\.png is missing: run dvc repro paper@"),
        (f"{FIGURE}.png", breaks(b"no image"), r"poster-pair\.png is no complete PNG"),
        ("figures", shutil.rmtree, r"figures holds no figures: run dvc repro"),
        ("claims.json", Path.unlink, r"claims\.json is missing: run dvc repro ledger"),
        ("claims.json", breaks(b"\xff"), r"claims\.json is no JSON .*: delete it and run"),
        ("claims.json", breaks(b"[]"), r"expected a list of statements, got none; run dvc repro"),
        ("claims.json", changes(verdict="proved"), r"expected verdict to be one of reproduced, .*"),
    ],
)
def test_bad_inputs_are_one_line_that_names_the_remedy(reports, name, damage, message):
    damage(reports / name)
    with pytest.raises((MissingResultError, DamagedFileError), match=message) as caught:
        build(read(reports))
    assert "\n" not in str(caught.value)
    assert re.search(r"run (dvc repro|the stage)", str(caught.value))
