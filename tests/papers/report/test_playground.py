"""The page computes in the browser as the library does."""

import re

import numpy as np
import pytest

from hessian_papers.report import FRONT, build
from hessian_spectra import closed_form as cf

pytestmark = pytest.mark.browser

SEEDS = range(6)


@pytest.fixture
def page(browser, content, tmp_path):
    """The front of the report, on which nothing may complain."""
    file = tmp_path / FRONT
    file.write_text(build(content, part=FRONT))
    opened = browser.new_page(viewport={"width": 1280, "height": 900})
    complaints: list[str] = []
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.goto(file.as_uri())
    yield opened
    opened.close()
    assert complaints == []


def put(page, **values):
    """Move controls, and read what is shown."""
    for name, value in values.items():
        page.evaluate(
            """([name, value]) => {
              const field = document.querySelector(`#playground-controls [name=${name}]`);
              field.value = value;
              field.dispatchEvent(new Event("input", { bubbles: true }));
            }""",
            [name, value],
        )
    state = page.evaluate("""() => {
      const plain = (value) => ArrayBuffer.isView(value) ? [...value] : value;
      const state = window.playground.state();
      const data = Object.entries(state.data).map(([name, value]) => [name, plain(value)]);
      return { ...state, data: Object.fromEntries(data), weights: null, course: null };
    }""")
    assert isinstance(state, dict)
    return state


def drawn(page, seed):
    """A value for each control, by its own limits; the first two draws stand at the ends."""
    limits = page.locator("#playground-controls [type=range]").evaluate_all(
        "all => all.map((one) => [one.name, Number(one.min), Number(one.max)])"
    )
    generator = np.random.default_rng(seed)
    fractions = {0: np.zeros(len(limits)), 1: np.ones(len(limits))}
    drawn_ = fractions.get(seed, generator.random(len(limits)))
    return {
        name: low + f * (high - low) for (name, low, high), f in zip(limits, drawn_, strict=True)
    }


def spectrum(network, data):
    """The library's spectrum of the network that the page shows."""
    if network == "attention":
        bias = [data["sink"], *[0.0] * (len(data["x"][0]) - 1)]
        given = (data[name] for name in ("value", "query", "key", "x", "y"))
        return cf.self_attention(*given, score_bias=bias)
    closed_form = {"linear": cf.two_layer_linear, "relu": cf.two_layer_relu}[network]
    return closed_form(*(data[name] for name in "wvxy"))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("network", ["linear", "relu", "attention"])
def test_the_spectrum_is_the_librarys(page, network, seed):
    page.check(f"[value={network}]")
    state = put(page, **drawn(page, seed))
    expected = np.asarray(spectrum(network, state["data"]).eigenvalues)
    size = max(np.abs(expected).max(), 1e-300)
    assert np.abs(np.array(state["brute"]) - expected).max() <= 1e-12 * size
    # A triple root of the cubic is known to the third root of rounding alone.
    assert np.abs(np.array(state["theorem"]) - expected).max() <= 1e-7 * size
    assert state["difference"] <= 1e-7


def test_the_form_in_print_is_off_where_the_inputs_have_another_scale(page):
    right = put(page, moment=1.5)
    assert right["difference"] < 1e-13
    page.check("[name=printed]")
    state = put(page, moment=1.5)
    data = state["data"]
    w, v, x, y = (np.array(data[name]) for name in "wvxy")
    squares, product, inner = (x @ x) / len(x), (x @ y) / len(x), w @ v
    # The poster's last term lacks the inputs' second moment.
    under = squares**2 * ((w @ w - v @ v) ** 2 + 4 * ((w @ w) * (v @ v) - inner**2))
    root = np.sqrt(under + 4 * (2 * inner - product) ** 2)
    largest = (squares * (w @ w + v @ v) + root) / 2
    assert max(state["theorem"]) == pytest.approx(largest, rel=1e-12)
    assert state["difference"] > 1e-3
    assert put(page, moment=1.0)["difference"] < 1e-13, "the two forms are one where it is 1"


COURSE = ("sharpness", "loss")


def trained(page, rate):
    page.emulate_media(reduced_motion="reduce")
    put(page, rate=rate)
    page.click("#playground-train")
    course = page.evaluate("() => window.playground.state().course")
    return {name: np.array(course[name]) for name in COURSE}


def drawn_start(page, network, seed):
    """A network and a learning rate with which it may be trained; the rate and the state."""
    page.check(f"[value={network}]")
    values = drawn(page, seed)
    # Of the ends of all controls the smallest rate: the largest takes the weights to infinity.
    rate = 0.01 if seed < 2 else round(0.5 * values["rate"], 2)
    return rate, put(page, **values | {"rate": rate})


def library(network, data, rate, steps):
    """Sharpness and loss by the library's map, and where the flow ends, of the same start.

    Of a ReLU network as long as no unit changes its cell.
    """
    w, v, x, y = (np.array(data[name], dtype=float) for name in "wvxy")
    start, kept = (w, v, x), np.full(steps + 1, True)
    if network == "relu":
        start = cf.relu_cells(w, v, x)
    path, flow = cf.gradient_descent(*start, y, rate, steps), cf.gradient_flow(*start, y)
    large, end = path.outliers[..., 0].numpy(), flow.outliers[0, ..., 0].numpy()
    if network == "relu":
        units = np.array([(v > 0).any(), (v < 0).any()])
        large, end = np.where(units, large, -np.inf).max(-1), np.where(units, end, -np.inf).max()
        kept = np.asarray(path.keeps_signs(*start[:2]).all(-1))
        ends = flow.weights(*start[:2])[1]
        end = end if bool((ends.sign() == start[1].sign()).all()) else np.nan
    return {"sharpness": large[kept], "loss": path.loss.numpy()[kept]}, float(end)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("network", ["linear", "relu"])
def test_the_predicted_course_is_the_librarys_and_that_of_training(page, network, seed):
    rate, state = drawn_start(page, network, seed)
    predicted = state["prediction"]
    steps = len(predicted["loss"]) - 1
    expected, end = library(network, state["data"], rate, steps)
    first = predicted["moves"][0] if predicted["moves"] else steps + 1
    assert len(expected["loss"]) == first
    seen = trained(page, rate)
    assert abs(len(seen["loss"]) - len(predicted["loss"])) <= 1
    for name in COURSE:
        actual = np.array(predicted[name])
        np.testing.assert_allclose(actual[:first], expected[name], rtol=1e-9)
        both = min(len(actual), len(seen[name]))
        np.testing.assert_allclose(seen[name][:both], actual[:both], rtol=1e-9)
    assert predicted["flow"] == pytest.approx(end, rel=1e-9, nan_ok=True)
    said = page.locator("#playground-predicted").inner_text()
    assert re.search("The trained network differs from that by .* at most", said)


def test_where_the_flow_is_caught_at_the_saddle_its_mark_is_there(page):
    """From w = v it cannot reach a falling line."""
    state = put(page, width=3, first=1, second=1, angle=0, target=-1, rate=0.1)
    x, y = (np.array(state["data"][name]) for name in "xy")
    assert state["prediction"]["flow"] == pytest.approx(abs(x @ y) / len(x))
    assert state["prediction"]["sharpness"][-1] == pytest.approx(abs(x @ y) / len(x), rel=1e-3)
    assert page.locator("#playground-course .flow").count() == 1


def test_the_prediction_stands_before_training_and_follows_the_controls(page):
    line = page.locator("#playground-course .curve").last
    before, said = line.get_attribute("d"), page.locator("#playground-predicted")
    assert said.inner_text().startswith("Predicted from the start: sharpness")
    put(page, rate=1, first=2, second=2)
    assert line.get_attribute("d") != before
    assert "training diverges" in said.inner_text()
    page.check("[value=attention]")
    assert page.locator("#playground-training").is_hidden()


def test_gradient_descent_ends_below_two_over_the_rate_or_leaves(page):
    put(page, width=5, moment=1.0, first=1.2, second=1.0, angle=60, target=1)
    low = trained(page, 0.1)
    assert low["loss"][-1] < low["loss"][0]
    assert low["sharpness"][-1] < 2 / 0.1
    assert (np.diff(low["loss"]) <= 1e-12).all()
    page.click("#playground-back")
    high = trained(page, 1.0)
    assert high["sharpness"][0] > 2 / 1.0
    assert max(high["loss"][:20]) > high["loss"][0]
    assert high["sharpness"][-1] < 2 / 1.0 or high["loss"][-1] > 1e6


# The boxes of all texts, and of the drawings that they stand in.
BOXES = """() => ["spectrum", "course"].map((name) => {
  const box = (one) => {
    const { left, right, top, bottom } = one.getBoundingClientRect();
    return [left, right, top, bottom];
  };
  const drawing = document.getElementById(`playground-${name}`);
  const texts = [...drawing.querySelectorAll("text")];
  return [box(drawing), texts.map((one) => [one.textContent, box(one)])];
})"""
# What moves values onto each other: a bulk at zero, outliers beside it, one outlier alone, a wide
# network, steps that leave.
CROWDED: list[dict[str, float]] = [
    {},
    {"width": 2, "angle": 90},
    {"width": 30, "moment": 0.1},
    {"first": 0, "second": 0, "target": 0},
    {"first": 2, "second": 2, "angle": 0, "target": 2},
    {"angle": 180, "rate": 1, "moment": 3},
    {"angle": 120, "rate": 0.05, "target": -1.5, "moment": 0.6},
]


def crowded(page):
    """The texts that touch another one, or leave their drawing."""
    wrong = []
    for (left, right, top, bottom), texts in page.evaluate(BOXES):
        assert all(b[1] > b[0] for _, b in texts)
        for place, (text, a) in enumerate(texts):
            if not (left <= a[0] and a[1] <= right and top <= a[2] and a[3] <= bottom):
                wrong.append(text)
            for other, b in texts[:place]:
                if a[0] < b[1] and b[0] < a[1] and a[2] < b[3] and b[2] < a[3]:
                    wrong.append((text, other))
    return wrong


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("settings", CROWDED)
def test_no_label_lies_on_another_after_training(page, width, settings):
    page.set_viewport_size({"width": width, "height": 900})
    put(page, **{"rate": 0.3, **settings})
    assert page.locator("#playground-spectrum text").count() >= 3
    trained(page, settings.get("rate", 0.3))
    for printed in (False, True):
        page.set_checked("[name=printed]", printed)
        assert crowded(page) == []


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("network", ["linear", "relu", "attention"])
def test_no_label_lies_on_another_wherever_the_controls_stand(page, width, network):
    page.set_viewport_size({"width": width, "height": 900})
    page.check(f"[value={network}]")
    for seed in SEEDS:
        put(page, **drawn(page, seed))
        assert crowded(page) == []


def test_the_drawing_follows_the_width_of_its_place(page):
    drawing = page.locator("#playground-spectrum")
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_function("""() => {
          const one = document.getElementById("playground-spectrum");
          return one.viewBox.baseVal.width === one.clientWidth;
        }""")
        assert drawing.bounding_box()["height"] == pytest.approx(212, abs=3)


def test_the_switch_is_there_where_a_print_is_wrong(page):
    page.check("[name=printed]")
    assert page.locator("#playground-form").inner_text() == "print"
    said = page.locator("#playground-agreement")
    assert re.search("print and brute force differ by [0-9.]+ % of the largest", said.inner_text())
    page.check("[value=relu]")
    assert page.locator("[name=printed]").is_hidden()
    assert "theorem and brute force" in said.inner_text()
    page.check("[value=linear]")
    assert not page.locator("[name=printed]").is_checked()


def test_it_is_drawn_as_it_is_counted_and_says_how_far_both_agree(page):
    state = put(page, width=4)
    assert page.locator("#playground-spectrum .brute").count() == len(state["brute"]) == 8
    assert page.locator("#playground-spectrum .theorem").count() == 8
    said = page.locator("#playground-agreement").inner_text()
    assert said.startswith("8 eigenvalues; theorem and brute force differ by")


def test_without_javascript_a_sentence_stands_in_its_place(content):
    text = build(content, part=FRONT)
    section = text.partition('id="playground"')[2].partition("</section>")[0]
    assert "<noscript><p>With JavaScript" in section
    assert '<div id="playground-app" hidden>' in section
