import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import sample_reports
from playwright.sync_api import Browser, Page, sync_playwright

from hessian_spectra.report import build

pytestmark = pytest.mark.browser

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
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip(f"no browser: expected one of {', '.join(NAMES)} on the path")
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=found, args=list(FLAGS))
        yield running
        running.close()


@pytest.fixture(scope="module")
def url(sample_root: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("page") / "index.html"
    file.write_text(build(sample_root / "reports"))
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

    def rows(self) -> int:
        """How many claims are visible."""
        return self.page.locator("#claims tbody tr:visible").count()

    def count(self) -> str:
        return self.page.locator("#filter-count").inner_text()


@pytest.fixture
def visit(browser: Browser, url: str) -> Iterator[Visit]:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    opened = Visit(page)
    page.goto(url)
    yield opened
    page.close()


def test_it_loads_without_complaint_and_without_network(visit: Visit, url: str) -> None:
    images = visit.page.evaluate("""() => Promise.all([...document.images].map(
        async (image) => { await image.decode(); return image.naturalWidth; }))""")
    assert len(images) == len(sample_reports.STUDIES) + 1
    assert all(width > 0 for width in images)
    assert visit.complaints == []
    assert [request for request in visit.requests if not request.startswith("data:")] == [url]


def test_the_filter_narrows_by_verdict_text_paper_and_kind(visit: Visit) -> None:
    claims, page = sample_reports.claims(), visit.page
    total = len(claims)
    assert visit.rows() == total
    assert visit.count() == f"{total} of {total} entries"

    page.select_option("#filter-verdict", "corrected")
    corrected = [c for c in claims if c["verdict"] == "corrected"]
    assert visit.rows() == len(corrected)
    assert visit.count() == f"{len(corrected)} of {total} entries"

    page.select_option("#filter-kind", "value")
    assert visit.rows() == sum(c["kind"] == "value" for c in corrected)

    page.get_by_role("button", name="show all").click()
    page.wait_for_function("document.querySelector('#filter-verdict').value === ''")
    assert visit.rows() == total

    page.fill("#filter-text", "NUMBER 17:  width")
    assert visit.rows() == 1
    assert page.locator("#claims tbody tr:visible").get_attribute("id") == "claim-sample--claim-17"

    page.fill("#filter-text", "λ_1 15:")
    assert visit.rows() == 1

    page.fill("#filter-text", "")
    page.select_option("#filter-paper", "singh2024poster")
    assert visit.rows() == sum(c["paper"] == "singh2024poster" for c in claims)

    page.fill("#filter-text", "no claim says this")
    assert visit.rows() == 0
    assert page.locator("#filter-empty").is_visible()
    assert visit.complaints == []


def test_a_count_in_the_summary_filters_and_a_link_to_a_claim_shows_it(visit: Visit) -> None:
    page = visit.page
    page.locator("[data-show='differs']").click()
    assert visit.rows() == sum(c["verdict"] == "differs" for c in sample_reports.claims())
    hidden = page.locator("#claim-sample--claim-0")
    assert hidden.is_hidden()
    page.locator("#figure-closed2024-fig1 .claims a").first.click()
    page.wait_for_function("document.querySelector('#claim-sample--claim-0 details').open")
    assert hidden.is_visible()
    assert hidden.get_by_text("tolerance because").is_visible()


def test_the_filter_tells_the_runs_apart(visit: Visit) -> None:
    page, claims = visit.page, sample_reports.claims()
    page.select_option("#filter-run", "recorded decides")
    assert visit.rows() == sum(bool(c["recorded"]) for c in claims) == 3
    page.select_option("#filter-run", "the two disagree")
    assert visit.rows() == 2
    page.select_option("#filter-verdict", "undecided")
    assert visit.rows() == 1
    page.locator("[data-field='run'][data-show='recorded decides']").click()
    assert page.input_value("#filter-verdict") == ""
    assert visit.rows() == 3


def test_a_verdict_that_disagrees_stands_out_and_one_that_agrees_does_not(visit: Visit) -> None:
    def ground(number: int) -> str:
        badge = visit.page.locator(f"#claim-sample--claim-{number} .beside .badge")
        return str(badge.evaluate("(e) => getComputedStyle(e).backgroundColor"))

    assert ground(5) == "rgba(0, 0, 0, 0)"
    assert ground(14) == "rgb(223, 241, 229)"


def test_text_that_looks_like_markup_stays_text(visit: Visit) -> None:
    shown = visit.page.locator("#claim-sample--claim-0 td").nth(2).inner_text()
    assert sample_reports.AWKWARD in shown


def test_it_can_be_worked_by_keyboard(visit: Visit) -> None:
    page = visit.page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("location.hash") == "#summary"
    summary = page.locator("#claims details summary").first
    summary.focus()
    page.keyboard.press("Enter")
    assert page.locator("#claims details").first.get_attribute("open") is not None


@pytest.mark.parametrize("width", [320, 400, 760, 1280])
def test_nothing_runs_off_the_screen(visit: Visit, width: int) -> None:
    visit.page.set_viewport_size({"width": width, "height": 900})
    visit.page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    wide = visit.page.evaluate("document.documentElement.scrollWidth")
    assert wide <= width


def test_the_notation_tables_break_no_name_at_1280_pixels(visit: Visit) -> None:
    """A name in code that needs two lines is broken in its middle: its column is too narrow."""
    names = visit.page.evaluate("""() => [...document.querySelectorAll('#notation td code')]
        .filter((code) => !code.textContent.includes(' '))
        .map((code) => [code.textContent, code.getClientRects().length])""")
    assert len(names) > 50
    assert [name for name, lines in names if lines != 1] == []


def test_the_columns_of_the_notation_tables_are_wide_enough_at_1280_pixels(visit: Visit) -> None:
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
