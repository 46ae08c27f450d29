"""The pictures of statements that no figure of a paper shows, from small and planted arrays."""

import math

import numpy as np
import pytest
from claims_contract import planted_data
from identities_arrays import both_sides

from hessian_papers.drawing.curves import series
from hessian_papers.studies.attention.uniform_attention import figure as uniform_attention
from hessian_papers.studies.correlations.output_scale import figure as output_scale
from hessian_papers.studies.identities.identities import figure as identities
from hessian_papers.studies.images.raw_inputs import figure as raw_inputs
from hessian_papers.studies.images.raw_inputs.study import VARIABLES as RAW
from hessian_papers.studies.images.training_courses import figure as training_courses
from hessian_papers.studies.images.training_courses.study import VARIABLES as COURSES
from hessian_papers.studies.layerwise.output_spaces import figure as output_spaces
from hessian_papers.studies.layerwise.output_spaces.study import VARIABLES as SPACES
from hessian_papers.studies.scalar.learning_phases import figure as learning_phases
from hessian_papers.studies.scalar.spectrum_in_training import figure as spectrum_in_training
from tests.papers.studies.attention.uniform_attention_arrays import sides as attention
from tests.papers.studies.correlations.output_scale_arrays import sides as outputs
from tests.papers.studies.images.test_raw_inputs_claims import planted_runs as raw_runs
from tests.papers.studies.images.test_training_courses_claims import planted_runs
from tests.papers.studies.layerwise.output_spaces_arrays import sides as spaces
from tests.papers.studies.layerwise.pictures import require_readable
from tests.papers.studies.scalar.learning_phases_sides import both as phases
from tests.papers.studies.scalar.spectrum_in_training_sides import COORDINATES, EIGENSPACE, data_of
from tests.papers.studies.scalar.spectrum_in_training_sides import sides as trainings
from tests.prose import long_captions

DRAWN = {
    "identities": (identities, lambda: data_of(both_sides())),
    "uniform attention": (uniform_attention, lambda: data_of(attention())),
    "output scale": (output_scale, lambda: data_of(outputs())),
    "learning phases": (learning_phases, lambda: data_of(phases())),
    "output spaces": (output_spaces, lambda: planted_data(spaces(), SPACES)),
    "courses": (training_courses, lambda: planted_data(planted_runs(), COURSES)),
    "raw inputs": (raw_inputs, lambda: planted_data({"numerics": raw_runs()}, RAW)),
    "eigenspaces": (spectrum_in_training, lambda: data_of(trainings(EIGENSPACE))),
    "coordinates": (spectrum_in_training, lambda: data_of(trainings(COORDINATES))),
}


@pytest.fixture(scope="module", params=DRAWN)
def drawn(request):
    """The module of figures and the data of a kind."""
    module, data = DRAWN[request.param]
    return module, data()


def test_a_picture_is_readable_and_its_caption_short(drawn):
    module, data = drawn
    figure, caption = module.draw(data), module.caption(data)
    assert all(panel["curves"] or panel["bands"] for panel in series(figure))
    assert long_captions("", [caption]) == []
    require_readable(figure, caption)


def test_round_off_moves_nothing():
    """Numbers that differ in their last bits, as between processors, are drawn in one place."""
    data = data_of(both_sides())
    noise = np.random.default_rng(0).uniform(0, 1e-13, data["error"].shape)
    first, second = (
        series(identities.draw(each)) for each in (data, data.assign(error=data["error"] + noise))
    )
    for before, after in zip(first, second, strict=True):
        for mine, its in zip(before["curves"], after["curves"], strict=True):
            assert mine["x"] == pytest.approx(its["x"], rel=1e-2)
        corrected = next(curve for curve in before["curves"] if curve["name"] == "as corrected")
        # Agreement is a power of ten: of what is ill-conditioned a larger one.
        assert {math.log10(mark) % 1 for mark in corrected["x"]} == {0.0}
        assert corrected["x"].count(identities.FLOOR) > 0.8 * len(corrected["x"])


def test_every_misprint_is_a_row_and_a_wrong_correction_is_said():
    data = data_of(both_sides())
    names = data["theorem"].values[(data["printed"] != "").values].tolist()
    rows = identities.misprints(data)
    assert len(rows) == len(names)
    assert rows[0].printed.max() == max(row.printed.max() for row in rows)
    assert identities.caption(data).startswith("All corrections agree with brute force, for ")
    broken = data.copy(deep=True)
    broken["error"].loc[{"theorem": names[0], "form": "corrected"}] = 0.25
    assert identities.caption(broken).startswith("A correction deviates from brute force by 0.2")


def test_a_share_is_drawn_where_it_is():
    data = planted_data(planted_runs(), COURSES)
    sooner, sharper, closer = training_courses.draw(data).axes
    assert {line.get_xdata()[0] for line in sooner.lines if "loss" in line.get_label()} == {1.0}
    values = {line.get_label(): line.get_xdata()[0] for line in sharper.lines}
    assert values["whitened inputs, one"] == pytest.approx(1.0)
    assert values["raw inputs, one"] == pytest.approx(np.log2(4 / 3))
    assert all(line.get_xdata()[0] < 0 for line in closer.lines if "one" in line.get_label())


def test_only_optimizers_that_turn_the_bulk_are_named():
    caption = spectrum_in_training.caption(data_of(trainings(EIGENSPACE)))
    assert caption.endswith("It turns with adam, random velocity alone.")


def test_least_squares_is_a_level_and_the_product_a_curve():
    axes, _ = raw_inputs.draw(planted_data({"numerics": raw_runs()}, RAW)).axes
    drawn = [np.asarray(line.get_ydata(), dtype=float) for line in axes.lines]
    assert sum(np.allclose(values, 1e4) for values in drawn) == 2
    curves = [values for values in drawn if len(values) == 4]
    assert sum(np.allclose(values, [1.5, 3.2, 8.008, 20.02]) for values in curves) == 2


def test_a_controls_panel_has_each_number_of_layers():
    figure, _ = raw_inputs.controls(planted_data({"numerics": raw_runs()}, RAW))
    (axes,) = figure.axes
    assert sum(len(line.get_xdata()) == 3 and line.get_linewidth() > 1 for line in axes.lines) == 2
