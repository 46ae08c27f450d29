import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import sample_reports
from playwright.sync_api import Browser, Locator, Page, sync_playwright

from hessian_papers.report import build

pytestmark = pytest.mark.browser

STUDIES = [*sample_reports.STUDIES]
NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    actual = next((path for name in NAMES if (path := shutil.which(name))), None)
    if actual is None:
        pytest.skip(f"no browser: expected one of {', '.join(NAMES)} on the path")
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=actual, args=list(FLAGS))
        yield running
        running.close()


@pytest.fixture(scope="module")
def url(sample_root: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page beside its pictures, opened from disk."""
    folder = shutil.copytree(sample_root / "reports", tmp_path_factory.mktemp("page") / "reports")
    file = Path(folder) / "index.html"
    file.write_text(build(Path(folder)))
    return file.as_uri()


class Visit:
    """A page, with what the browser complained about and asked for."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.complaints: list[str] = []
        self.requests: list[str] = []
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))

    def claims(self) -> int:
        """The number of claims that the filter leaves."""
        return self.page.locator(".claims > li:not([hidden])").count()

    def figures(self) -> list[str]:
        """The studies whose figures it leaves."""
        ids = "all => all.filter((one) => one.checkVisibility()).map((one) => one.id)"
        actual = self.page.locator("details.entry[id^='figure-']").evaluate_all(ids)
        return [str(name).removeprefix("figure-") for name in actual]

    def count(self) -> str:
        return self.page.locator("#filter-count").inner_text()

    def find(self, text: str) -> None:
        self.page.fill("#filter-text", text)


@pytest.fixture
def visit(browser: Browser, url: str) -> Iterator[Visit]:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    opened = Visit(page)
    page.goto(url)
    yield opened
    page.close()


def test_it_loads_without_complaint_and_no_picture_before_it_is_seen(
    visit: Visit, url: str
) -> None:
    assert visit.complaints == []
    assert [request for request in visit.requests if not request.startswith("data:")] == [url]
    entry = visit.page.locator("#figure-poster-pair")
    entry.locator("summary").first.click()
    image = entry.locator("img")
    image.scroll_into_view_if_needed()
    assert image.evaluate("async (image) => { await image.decode(); return image.naturalWidth; }")
    assert visit.requests[-1].endswith("/reports/figures/singh2024poster/poster-pair.png")
    assert visit.complaints == []


def row(number: int) -> str:
    """The id of a made-up statement's row."""
    (first, *_) = sample_reports.statements()[number]["cases"]
    return f"claim-{first['study']}--sample-{number}"


def test_the_filter_narrows_by_verdict_text_paper_and_book(visit: Visit) -> None:
    statements, page = sample_reports.statements(), visit.page
    total = len(statements)
    assert visit.claims() == total

    page.select_option("#filter-verdict", "corrected")
    corrected = [s for s in statements if s["verdict"] == "corrected"]
    assert visit.claims() == len(corrected)
    assert visit.count().startswith(f"{len(corrected)} of {total} statements, ")
    shown = {s["cases"][0]["study"] for s in corrected}
    assert visit.figures() == [study for study in STUDIES if study in shown]

    page.select_option("#filter-book", "theorems")
    assert visit.claims() == sum(s["book"] == "theorems" for s in corrected)

    page.get_by_role("button", name="show all").click()
    assert page.input_value("#filter-verdict") == ""
    assert visit.claims() == total, "at once: no moment at which the fields say otherwise"

    visit.find("NUMBER 16:  width")
    assert visit.claims() == 1
    assert page.locator(".claims > li:visible").get_attribute("id") == row(16)

    visit.find("λ_1 15:")
    assert visit.claims() == 1

    visit.find("")
    page.select_option("#filter-paper", "singh2024poster")
    assert visit.claims() == sum("singh2024poster" in s["places"] for s in statements)

    visit.find("no statement says this")
    assert visit.figures() == []
    assert page.locator("#filter-empty").is_visible()
    assert visit.complaints == []


def test_the_name_of_a_figure_finds_that_figure_and_no_other(visit: Visit) -> None:
    visit.find("figure 2")
    assert visit.figures() == ["closed2024-fig2", "cracking-fig2"], "and not Figure 27"
    shown = visit.page.locator("nav a[href^='#figure-']:visible").evaluate_all(
        "all => all.map((link) => link.hash)"
    )
    assert shown == ["#figure-closed2024-fig2", "#figure-cracking-fig2"]
    visit.page.press("#filter-text", "Enter")
    assert visit.page.locator("#figure-closed2024-fig2").get_attribute("open") is not None
    visit.find("singh2026cracking figure 7")
    assert visit.figures() == ["cracking-fig7"]
    visit.find("fig27")
    assert visit.figures() == ["cracking-fig27"]


def test_a_count_filters_and_a_link_to_a_statement_shows_it(visit: Visit) -> None:
    page = visit.page
    page.locator("[data-show='differs']").click()
    differing = [s for s in sample_reports.statements() if s["verdict"] == "differs"]
    assert visit.claims() == len(differing)
    hidden = page.locator(f"#{row(0)}")
    assert hidden.is_hidden()
    page.evaluate(f"location.hash = '#{row(0)}'")
    hidden.wait_for(state="visible")
    assert page.locator("#filter-verdict").input_value() == ""


def test_a_cell_of_the_overview_opens_its_figure_and_the_contents_mark_it(visit: Visit) -> None:
    page = visit.page
    page.locator(".cell[href='#figure-cracking-fig7']").click()
    entry = page.locator("#figure-cracking-fig7")
    entry.locator("img").first.wait_for(state="visible")
    assert entry.get_attribute("open") is not None
    page.locator("nav [aria-current][href='#figure-cracking-fig7']").wait_for(state="visible")


def test_the_switch_shows_one_run_at_a_time(visit: Visit) -> None:
    entry = visit.page.locator("#figure-cracking-fig7")
    entry.locator("summary").first.click()
    runs = [entry.locator(f".card[data-run='{run}']") for run in ("recorded", "today")]
    assert [run.is_visible() for run in runs] == [True, False]
    entry.locator("input[value='today']").focus()
    visit.page.keyboard.press("Space")
    assert [run.is_visible() for run in runs] == [False, True]


def test_a_picture_is_enlarged_and_put_back_by_keyboard(visit: Visit) -> None:
    page = visit.page
    page.locator("#figure-poster-pair summary").first.click()
    page.locator("#figure-poster-pair .plate").focus()
    page.keyboard.press("Enter")
    enlarged = page.locator("#enlarged img")
    assert enlarged.is_visible()
    assert str(enlarged.get_attribute("src")).endswith("singh2024poster/poster-pair/figure.svg")
    page.keyboard.press("Escape")
    assert enlarged.is_hidden()


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 700), (900, 300)])
def test_an_enlarged_picture_fits_the_window(visit: Visit, width: int, height: int) -> None:
    page = visit.page
    page.set_viewport_size({"width": width, "height": height})
    entry = page.locator("#figure-poster-pair")
    entry.locator("summary").first.click()
    entry.locator(".plate").click()
    image = page.locator("#enlarged img")
    image.evaluate("async (image) => image.decode()")
    box = image.bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= width
    assert box["y"] >= 0
    assert box["y"] + box["height"] <= height
    assert box["height"] > height / 2
    dialog = page.locator("#enlarged")
    assert dialog.evaluate("(one) => one.scrollHeight <= one.clientHeight"), "nothing to scroll"
    assert visit.complaints == []


def explored(visit: Visit, study: str = "poster-pair") -> Locator:
    """The charts of a figure's numbers, opened."""
    entry = visit.page.locator(f"#figure-{study}")
    entry.locator("summary").first.click()
    entry.locator(".explore summary").first.click()
    entry.locator(".chart svg").first.wait_for(state="visible")
    return entry


def shown_value(entry: Locator) -> tuple[float, float]:
    line = entry.locator(".values li").first
    return float(line.get_attribute("data-x") or ""), float(line.get_attribute("data-y") or "")


def recorded_points(url: str, study: str = "poster-pair") -> list[tuple[float, float]]:
    reports = Path(url.removeprefix("file://")).parent
    (path,) = reports.glob(f"figures/*/{study}/figure-series.json")
    (panel,) = json.loads(path.read_text())
    (curve,) = panel["curves"]
    return [*zip(curve["x"], curve["y"], strict=True)]


def test_numbers_are_loaded_when_a_reader_asks_for_them(visit: Visit) -> None:
    def scripts() -> int:
        return sum(request.endswith(".js") for request in visit.requests)

    assert scripts() == 0
    explored(visit)
    assert scripts() == 1
    assert visit.complaints == []


def test_pointing_at_a_chart_shows_a_number_of_the_record(visit: Visit, url: str) -> None:
    entry, points = explored(visit), recorded_points(url)
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


def test_the_slider_chooses_the_place_by_keyboard(visit: Visit, url: str) -> None:
    entry, points = explored(visit), recorded_points(url)
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


def test_numbers_that_are_gone_are_said_to_be(visit: Visit) -> None:
    entry = visit.page.locator("#figure-closed2024-fig1")
    entry.locator("summary").first.click()
    missing = "(one) => { one.dataset.numbers = 'figures/missing.js'; }"
    entry.locator(".explore").evaluate(missing)
    entry.locator(".explore summary").click()
    entry.get_by_text("The numbers are missing beside this page: figures/missing.js").wait_for()


def test_without_scripts_pictures_cases_and_links_remain(browser: Browser, url: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(url)
    entry = page.locator("#figure-cracking-fig7")
    entry.locator("summary").first.click()
    assert entry.locator(".plate img").first.is_visible()
    assert str(entry.locator(".plate").first.get_attribute("href")).endswith(".svg")
    assert entry.locator(".forest circle").first.is_visible()
    assert entry.locator(".explore").first.is_hidden()
    context.close()


def test_a_command_is_copied(visit: Visit) -> None:
    page = visit.page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    entry = page.locator("#figure-poster-pair")
    entry.locator("summary").first.click()
    entry.locator(".copy").first.click()
    entry.get_by_role("button", name="copied").wait_for(state="visible")
    line = entry.locator(".commands code").first.inner_text()
    assert page.evaluate("getSelection().toString()") == line
    assert page.evaluate("navigator.clipboard.readText()") == line


def test_the_filter_tells_the_runs_apart(visit: Visit) -> None:
    page = visit.page
    page.select_option("#filter-run", "recorded")
    assert visit.claims() == 3
    page.select_option("#filter-run", "disagree")
    assert visit.claims() == 2
    page.select_option("#filter-verdict", str(sample_reports.statements()[14]["verdict"]))
    assert visit.claims() == 1
    page.locator("[data-field='run'][data-show='recorded']").click()
    assert page.input_value("#filter-verdict") == ""
    assert visit.claims() == 3


def test_text_that_looks_like_markup_stays_text(visit: Visit) -> None:
    shown = str(visit.page.locator(f"#{row(0)}").text_content())
    # Of a formula the exponent is a letter like others, and the spaces are its own.
    said, letters = re.sub("[$^ ]", "", sample_reports.AWKWARD), shown.replace(" ", "")
    assert said in letters


def test_it_can_be_worked_by_keyboard(visit: Visit) -> None:
    page = visit.page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("location.hash") == "#verdicts"
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "filter-text"
    summary = page.locator("details.entry summary").first
    summary.focus()
    page.keyboard.press("Enter")
    assert page.locator("details.entry").first.get_attribute("open") is not None


@pytest.mark.parametrize("width", [320, 390, 760, 1280])
def test_nothing_runs_off_the_screen(visit: Visit, width: int) -> None:
    visit.page.set_viewport_size({"width": width, "height": 900})
    visit.page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    wide = visit.page.evaluate("document.documentElement.scrollWidth")
    assert wide <= width


def test_the_notation_tables_break_no_name_at_1280_pixels(visit: Visit) -> None:
    """A name in code that needs two lines is broken in its middle: its column is too narrow."""
    visit.page.evaluate("document.querySelector('#notation details').open = true")
    names = visit.page.evaluate("""() => [...document.querySelectorAll('#notation td code')]
        .filter((code) => !code.textContent.includes(' '))
        .map((code) => [code.textContent, code.getClientRects().length])""")
    assert len(names) > 50
    assert [name for name, lines in names if lines != 1] == []


def test_the_columns_of_the_notation_tables_are_wide_enough_at_1280_pixels(visit: Visit) -> None:
    visit.page.evaluate("document.querySelector('#notation details').open = true")
    cells = visit.page.evaluate("""() => ['th', 'td']
        .flatMap((kind) => [...document.querySelectorAll(`#notation ${kind}`)])
        .map((cell) => [cell.textContent, cell.clientWidth, cell.scrollWidth])""")
    assert len(cells) > 300
    assert [text for text, shown, needed in cells if needed > shown or shown < 100] == []


def test_dark_mode_turns_the_page_dark_and_leaves_figures_white(visit: Visit) -> None:
    page = visit.page

    def background(selector: str) -> str:
        script = "(e) => getComputedStyle(e).backgroundColor"
        return page.locator(selector).first.evaluate(script)

    light = background("body")
    page.emulate_media(color_scheme="dark")
    assert light == "rgb(250, 250, 247)"
    assert background("body") == "rgb(22, 24, 28)"
    assert background(".plate") == "rgb(255, 255, 255)"


def test_paper_shows_what_is_folded_away(visit: Visit) -> None:
    page = visit.page
    closed = page.locator("details:not([open])").count()
    assert closed > 0
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details:not([open])").count() == 0
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.locator("details:not([open])").count() == closed
