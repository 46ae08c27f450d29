import io
import json
import re
import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import sample_reports
from matplotlib import image as images

from hessian_papers.report import FRONT, INDEX, STATES, address, build, index, read
from hessian_papers.report.findings import Finding
from hessian_papers.report.verdicts import UNDECIDED
from hessian_spectra.pictures import style
from tests.pages import ROOT
from tests.papers.report.test_colours import contrast

pytestmark = pytest.mark.browser

STUDIES = [*sample_reports.STUDIES]
PICTURES = ROOT / "reports" / "pictures"


@pytest.fixture(scope="module")
def folder(sample_root, tmp_path_factory):
    """The pages beside their pictures: all of them, and one document that has all."""
    root = shutil.copytree(sample_root / "reports", tmp_path_factory.mktemp("page") / "reports")
    content = read(Path(root))
    statement = content.statements[:1]
    findings = [
        Finding("one", "It holds.", True, statement, "cracking-fig7"),
        Finding("two", f"It holds{' for every width' * 40}.", True, statement, "poster-pair"),
    ]
    for part in content.parts:
        file = Path(root) / address(part)
        file.parent.mkdir(exist_ok=True)
        file.write_text(build(content, findings, part=part))
    shutil.copytree(PICTURES, Path(root) / "pictures")
    (Path(root) / INDEX).write_text(index(content))
    (Path(root) / "whole.html").write_text(build(content))
    return Path(root)


class Visit:
    """A page, with what the browser complained about and asked for."""

    def __init__(self, page, folder):
        self.page, self.folder = page, folder
        self.complaints: list[str] = []
        self.requests: list[str] = []
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))

    def go(self, address_):
        self.page.goto(f"{self.folder.as_uri()}/{address_}")

    def find(self, text):
        """The addresses of what a search finds, in order."""
        self.page.fill("#search-text", text)
        links = self.page.locator("#results a")
        return [
            str(link)
            for link in links.evaluate_all("all => all.map((a) => a.getAttribute('href'))")
        ]

    def figures(self, text):
        """The studies whose figures a search finds, in order."""
        return [link.partition("#figure-")[2] for link in self.find(text) if "#figure-" in link]


@pytest.fixture
def visit(browser, folder):
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    opened = Visit(page, folder)
    opened.go(FRONT)
    yield opened
    page.close()


@pytest.fixture
def whole(visit):
    """The document that has all."""
    visit.go("whole.html")
    return visit


def on_screen(page):
    """The text that stands wholly within the window, and the pictures' descriptions."""
    return str(
        page.evaluate("""() => {
        const seen = (box) => box.width > 0 && box.top >= 0 && box.bottom <= window.innerHeight;
        const texts = [];
        const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
        while (walk.nextNode()) {
          const range = document.createRange();
          range.selectNodeContents(walk.currentNode);
          if (seen(range.getBoundingClientRect())) texts.push(walk.currentNode.textContent);
        }
        for (const image of document.images) {
          if (seen(image.getBoundingClientRect())) texts.push(`[${image.alt}]`);
        }
        return texts.join(" ");
    }""")
    )


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 844)])
def test_the_first_screen_has_the_playground_and_its_switch(visit, width, height):
    visit.page.set_viewport_size({"width": width, "height": height})
    said = re.sub(r"\s+", " ", on_screen(visit.page))
    assert "whether each holds." in said
    assert "as printed in 2024" in said
    for drawn in ("#playground-spectrum", "#search-text", "header [href='../README.md']"):
        box = visit.page.locator(drawn).bounding_box()
        assert box is not None
        assert box["y"] + box["height"] <= height, drawn


def test_the_first_screen_says_what_there_is_without_a_click(visit):
    said = re.sub(r"\s+", " ", on_screen(visit.page))
    own = [s for s in sample_reports.statements() if s["book"] != "beyond"]
    counted = Counter(str(s["verdict"]) for s in own)
    for verdict in counted.keys() - UNDECIDED:
        assert f"{counted[verdict]} {verdict}" in said
    undecided = sum(counted[verdict] for verdict in UNDECIDED)
    assert f"{undecided} undecided, because" in said
    assert f"{len(sample_reports.statements()) - len(own)} statements of ours" in said
    assert "hessian-spectra inspect mine:factory" in said
    assert "[Of a small convolutional network: the spectral density" in said
    size = "async (i) => { await i.decode(); return [i.naturalWidth, i.naturalHeight]; }"
    image = visit.page.locator("#inspect img")
    assert image.evaluate(size) == [int(image.get_attribute(side)) for side in ("width", "height")]


@pytest.mark.parametrize(
    "address_", [FRONT, STATES, "singh2026cracking.html", "singh2026cracking/cracking-fig7.html"]
)
def test_every_page_leads_to_documentation_readme_and_repository(visit, address_):
    visit.go(address_)
    links = visit.page.locator("header .project a")
    assert links.all_inner_texts() == ["Docs", "README", "Repository"]
    # From a folder of the repository that is named as this one.
    asked = links.evaluate_all("all => all.map((link) => link.href)")
    root = visit.folder.parent.as_uri()
    paths = [str(link).removeprefix(root) for link in asked]
    assert paths == ["/docs/guides/library.md", "/README.md", "/"]
    assert all((ROOT / path[1:]).exists() for path in paths)


def test_pages_load_without_complaint_and_pictures_when_they_are_seen(visit):
    assert visit.complaints == []
    asked = {request.rpartition("/")[2] for request in visit.requests}
    assert asked == {FRONT, INDEX, "inspection.png"}, "findings draw their own"
    visit.go("singh2024poster/poster-pair.html")
    image = visit.page.locator(".card img").first
    assert image.evaluate("async (image) => { await image.decode(); return image.naturalWidth; }")
    shown = "/reports/figures/singh2024poster/poster-pair.png"
    assert [request for request in visit.requests if request.endswith(shown)]
    assert visit.complaints == []


def row(number):
    """The id of a made-up statement's row."""
    (first, *_) = sample_reports.statements()[number]["cases"]
    return f"claim-{first['study']}--sample-{number}"


def test_the_name_of_a_figure_finds_it_first(visit):
    assert visit.page.locator("#results").is_hidden()
    assert {*visit.figures("figure 2")[:2]} == {"closed2024-fig2", "cracking-fig2"}
    assert visit.figures("fig 27")[0] == "cracking-fig27", "by a synonym of figure"
    assert visit.figures("singh2026cracking figure 7")[0] == "cracking-fig7"
    assert visit.complaints == []


def test_words_add_and_never_hide(visit):
    every = {*visit.figures("made-up")}
    assert every == {*STUDIES}
    assert {*visit.figures("made-up curve")} == every, "a word of the captions"
    assert visit.figures("width 50")[0] == "cracking-fig7", "a setting of this one alone"
    assert any(row(16) in link for link in visit.find("number 16: width"))
    assert visit.find("nothing says this") == []
    assert visit.page.locator("#results-count").inner_text() == "0 figures, 0 statements"


def test_a_count_shows_the_statements_of_its_verdict(visit):
    visit.page.locator("#first .counts a", has_text="differs").click()
    differing = [s for s in sample_reports.statements() if s["verdict"] == "differs"]
    ours = [s for s in differing if s["book"] == "beyond"]
    visit.page.locator("#results .badge").first.wait_for(state="visible")
    # The papers' come first, as many as are counted, and ours are counted apart.
    said = visit.page.locator("#results-count").inner_text()
    assert f"{len(differing) - len(ours)} statements and {len(ours)} of ours" in said
    rows = visit.page.locator("#results li", has=visit.page.locator(".badge")).all_inner_texts()
    assert ["beyond the papers:" in row for row in rows] == sorted(
        "beyond the papers:" in row for row in rows
    )
    assert sum("beyond the papers:" in row for row in rows) == len(ours) > 0
    assert visit.page.locator("#results .badge.differs").count() == len(differing)
    assert visit.page.locator("#results .badge").count() == len(differing)


def test_what_was_searched_stands_in_the_address(visit):
    page = visit.page
    visit.find("figure 27")
    page.select_option("#search-verdict", "differs")
    assert page.evaluate("location.hash") == "#q=figure+27&verdict=differs"
    page.reload()
    assert page.input_value("#search-text") == "figure 27"
    assert page.input_value("#search-verdict") == "differs"
    page.keyboard.press("Escape")
    assert page.locator("#results").is_hidden()


def test_results_lead_from_any_page_and_show_their_pictures(visit):
    visit.go("singh2024poster/poster-pair.html")
    assert visit.figures("figure 27")[0] == "cracking-fig27"
    image = visit.page.locator("#results img").first
    assert image.evaluate("async (image) => { await image.decode(); return image.naturalWidth; }")
    visit.page.press("#search-text", "Enter")
    visit.page.keyboard.press("Enter")
    visit.page.wait_for_url("**/singh2026cracking/cracking-fig27.html#*")


def test_a_document_that_has_all_searches_itself(whole):
    assert whole.find("figure 27")[0] == "#figure-cracking-fig27"
    whole.page.locator("#results a").first.click()
    assert whole.page.locator("#figure-cracking-fig27").get_attribute("open") is not None


def test_a_link_to_a_statement_opens_its_figure(whole):
    page = whole.page
    assert page.locator(f"#{row(0)}").is_hidden()
    page.evaluate(f"location.hash = '#{row(0)}'")
    page.locator(f"#{row(0)}").wait_for(state="visible")


def test_the_switch_shows_one_run_at_a_time(visit):
    visit.go("singh2026cracking/cracking-fig7.html")
    runs = [visit.page.locator(f".card[data-run='{run}']") for run in ("recorded", "today")]
    assert [run.is_visible() for run in runs] == [True, False]
    visit.page.locator("input[value='today']").focus()
    visit.page.keyboard.press("Space")
    assert [run.is_visible() for run in runs] == [False, True]


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 700), (900, 300)])
def test_a_picture_is_enlarged_to_the_window_and_put_back_by_keyboard(visit, width, height):
    page = visit.page
    page.set_viewport_size({"width": width, "height": height})
    visit.go("singh2024poster/poster-pair.html")
    page.locator(".card .plate").first.focus()
    page.keyboard.press("Enter")
    image = page.locator("#enlarged img")
    image.evaluate("async (image) => image.decode()")
    assert str(image.get_attribute("src")).endswith("singh2024poster/poster-pair/figure.svg")
    box = image.bounding_box()
    assert min(box["x"], box["y"]) >= 0
    assert box["x"] + box["width"] <= width
    assert box["y"] + box["height"] <= height
    assert box["height"] > height / 2
    dialog = page.locator("#enlarged")
    assert dialog.evaluate("(one) => one.scrollHeight <= one.clientHeight"), "nothing to scroll"
    page.keyboard.press("Escape")
    assert image.is_hidden()
    assert visit.complaints == []


def explored(visit, study="poster-pair"):
    """The charts of a figure's numbers, opened."""
    visit.go(f"{sample_reports.STUDIES[study][0]}/{study}.html")
    entry = visit.page.locator(f"#figure-{study}")
    entry.locator(".explore summary").first.click()
    entry.locator(".chart svg").first.wait_for(state="visible")
    return entry


def shown_value(entry):
    line = entry.locator(".values li").first
    return float(line.get_attribute("data-x") or ""), float(line.get_attribute("data-y") or "")


def recorded_points(visit, study="poster-pair"):
    (path,) = visit.folder.glob(f"figures/*/{study}/figure-series.json")
    (panel,) = json.loads(path.read_text())
    (curve,) = panel["curves"]
    return [*zip(curve["x"], curve["y"], strict=True)]


def test_numbers_are_loaded_when_a_reader_asks_for_them(visit):
    def scripts():
        return sum(request.endswith("series.js") for request in visit.requests)

    assert scripts() == 0
    explored(visit)
    assert scripts() == 1
    assert visit.complaints == []


def test_pointing_at_a_chart_shows_a_number_of_the_record(visit):
    entry, points = explored(visit), recorded_points(visit)
    chart = entry.locator(".chart svg")
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    assert box is not None
    values = set()
    for part in (0.3, 0.6, 0.9):
        visit.page.mouse.move(box["x"] + part * box["width"], box["y"] + box["height"] / 2)
        values.add(shown_value(entry))
    assert len(values) == 3
    assert values <= set(points)
    assert "made-up y" in str(chart.get_attribute("aria-label"))
    assert "made-up x" in chart.inner_html()
    assert visit.complaints == []


def test_the_slider_chooses_the_place_by_keyboard(visit):
    entry, points = explored(visit), recorded_points(visit)
    slider = entry.get_by_role("slider", name="made-up x")
    cursor = entry.locator(".chart .cursor")
    slider.focus()
    places = []
    for key, point in (("Home", points[0]), ("ArrowRight", points[1]), ("End", points[-1])):
        visit.page.keyboard.press(key)
        assert shown_value(entry) == point
        places.append(float(cursor.get_attribute("x1") or ""))
    assert places == sorted(set(places))
    assert str(slider.get_attribute("aria-valuetext")).startswith("made-up x ")


def test_numbers_that_are_gone_are_said_to_be(visit):
    visit.go("singh2024closed/closed2024-fig1.html")
    entry = visit.page.locator("#figure-closed2024-fig1")
    missing = "(one) => { one.dataset.numbers = 'figures/missing.js'; }"
    entry.locator(".explore").evaluate(missing)
    entry.locator(".explore summary").click()
    entry.get_by_text("The numbers are missing beside this page: figures/missing.js").wait_for()


def test_without_scripts_pictures_cases_and_links_remain(browser, folder):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((folder / "singh2026cracking" / "cracking-fig7.html").as_uri())
    entry = page.locator("#figure-cracking-fig7")
    assert entry.locator(".plate img").first.is_visible()
    assert str(entry.locator(".plate").first.get_attribute("href")).endswith(".svg")
    assert entry.locator(".strip").first.is_visible()
    assert entry.locator(".explore").first.is_hidden()
    context.close()


def test_a_command_is_copied(visit):
    page = visit.page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    visit.go("singh2024poster/poster-pair.html")
    page.locator(".copy").first.click()
    page.get_by_role("button", name="copied").wait_for(state="visible")
    line = page.locator(".commands code").first.inner_text()
    assert page.evaluate("getSelection().toString()") == line
    assert page.evaluate("navigator.clipboard.readText()") == line


def test_text_that_looks_like_markup_stays_text(whole):
    shown = str(whole.page.locator(f"#{row(0)}").text_content())
    # Of a formula the exponent is a letter like others, and the spaces are its own.
    said, letters = re.sub("[$^ ]", "", sample_reports.AWKWARD), shown.replace(" ", "")
    assert said in letters


def test_it_can_be_worked_by_keyboard(whole):
    page = whole.page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "content"
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "search-text"
    summary = page.locator("details.entry summary").first
    summary.focus()
    page.keyboard.press("Enter")
    assert page.locator("details.entry").first.get_attribute("open") is not None


PAGES = [
    FRONT,
    STATES,
    "singh2026cracking.html",
    "singh2026cracking/cracking-fig7.html",
    "whole.html",
]


@pytest.mark.parametrize("address_", PAGES)
@pytest.mark.parametrize("width", [320, 390, 760, 1280])
def test_nothing_runs_off_the_screen(visit, width, address_):
    visit.go(address_)
    visit.page.set_viewport_size({"width": width, "height": 900})
    visit.page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    wide = visit.page.evaluate("document.documentElement.scrollWidth")
    assert wide <= width


def test_no_number_of_a_case_is_cut_on_a_phone(visit):
    """A column of a few letters breaks words and numbers at any of them."""
    visit.go("whole.html")
    visit.page.set_viewport_size({"width": 390, "height": 900})
    visit.page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    cells = visit.page.evaluate("""() => [...document.querySelectorAll('.cases td:nth-child(3)')]
        .map((cell) => [cell.textContent, cell.clientWidth, cell.clientHeight])""")
    assert len(cells) > 10
    assert [text for text, wide, high in cells if high > 50 or wide < 150] == []


def test_the_notation_tables_are_wide_enough_at_1280_pixels(visit):
    """A name in code that needs two lines is broken in its middle: its column is too narrow."""
    visit.page.evaluate("document.querySelector('#notation details').open = true")
    names = visit.page.evaluate("""() => [...document.querySelectorAll('#notation td code')]
        .filter((code) => !code.textContent.includes(' '))
        .map((code) => [code.textContent, code.getClientRects().length])""")
    assert len(names) > 50
    assert [name for name, lines in names if lines != 1] == []
    cells = visit.page.evaluate("""() => ['th', 'td']
        .flatMap((kind) => [...document.querySelectorAll(`#notation ${kind}`)])
        .map((cell) => [cell.textContent, cell.clientWidth, cell.scrollWidth])""")
    assert len(cells) > 300
    assert [text for text, shown, needed in cells if needed > shown or shown < 100] == []


def colours(element):
    """The colours of an element as it is seen, the most frequent first."""
    pixels = images.imread(io.BytesIO(element.screenshot()))[..., :3].reshape(-1, 3)
    values, counts = np.unique((255 * pixels).round().astype(int), axis=0, return_counts=True)
    return ["#{:02x}{:02x}{:02x}".format(*values[i]) for i in np.argsort(-counts)]


CARD = "#1e2126"


@pytest.mark.parametrize(
    ("address_", "picture"),
    [
        (FRONT, "#inspect .plate"),
        ("singh2026cracking.html", ".thumbnail"),
        ("singh2026cracking/cracking-fig7.html", ".card .plate"),
        ("singh2026cracking/cracking-fig7.html", "#enlarged"),
    ],
)
def test_in_the_dark_pictures_are_as_dark_as_their_cards(visit, address_, picture):
    page = visit.page
    page.emulate_media(color_scheme="dark")
    visit.go(address_)
    assert page.locator("body").evaluate("(e) => getComputedStyle(e).backgroundColor") == (
        "rgb(22, 24, 28)"
    )
    if picture == "#enlarged":
        page.locator(".card .plate").first.click()
    shown = page.locator(picture).first
    shown.scroll_into_view_if_needed()
    shown.evaluate("async (one) => (one.querySelector('img') ?? one).decode()")
    actual = colours(shown)
    assert actual[0] == CARD
    assert max(contrast(colour, CARD) for colour in actual) > 12, "what was black is white"
    page.emulate_media(media="print")
    assert shown.evaluate("(e) => getComputedStyle(e.querySelector('img') ?? e).filter") == "none"


def test_in_the_dark_all_that_was_to_be_read_can_be_read(visit):
    """Letters and lines that stand out from white stand out from the card as well."""
    page = visit.page
    page.emulate_media(color_scheme="dark")
    for colour in (style.BLACK, style.BLUE, style.VERMILION, style.GREEN, style.GREY):
        square = (
            f"<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'><rect width='9' "
            f"height='9' fill='{colour}'/></svg>"
        ).replace("#", "%23")
        image = page.locator("#inspect img")
        image.evaluate(
            "async (one, svg) => { one.src = `data:image/svg+xml,${svg}`; await one.decode(); }",
            square,
        )
        (actual, *_) = colours(image)
        assert contrast(actual, CARD) >= 4.5, (colour, actual)
        # Its hue is the same: the largest part stays the largest, the smallest the smallest.
        parts = [[int(c[i : i + 2], 16) for i in (1, 3, 5)] for c in (colour, actual)]
        if len({*parts[0]}) == 3:
            assert np.array_equal(*map(np.argsort, parts)), (colour, actual)


def test_paper_shows_what_is_folded_away(whole):
    page = whole.page
    closed = page.locator("details:not([open])").count()
    assert closed > 0
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details:not([open])").count() == 0
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.locator("details:not([open])").count() == closed
