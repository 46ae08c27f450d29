"""The claims about overlaps of independently trained networks, and their figure."""

import math

import numpy as np
import pytest
import scipy
from claims_contract import Kind, Planted, contract, planted_data
from planted_overlaps import HEIGHTS, contrary, expected, monotone, sides

from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.studies.layerwise.model_overlaps.claims import (
    at_outputs,
    layer_of,
    over_networks,
    peak,
    statements,
)
from hessian_papers.studies.layerwise.model_overlaps.derived import layers, paired
from hessian_papers.studies.layerwise.model_overlaps.figure import (
    CORNERS,
    _free_corner,
    caption,
    controls,
    draw,
)
from hessian_papers.studies.layerwise.model_overlaps.study import VARIABLES
from hessian_spectra.pictures import style

KIND = Kind(statements, VARIABLES)

REDUCED = [
    sides(seeds=2),
    sides(top=3),
    sides(networks=("F-200^2",)),
    sides(networks=("F-200^2-BN",)),
    sides(layers=("fc3",)),
    sides(rank=False),
]


# LeNet5 stands for networks all of whose layers before the last peak.
LENET5 = {"networks": ("LeNet5",)}


@pytest.fixture(scope="module")
def planted():
    return [
        Planted(
            paper="wu2022dissecting",
            artifact=artifact,
            holds=sides(**of),
            fails=[
                sides(contrary, **of),
                sides(monotone, **of),
                sides(differing=0.5, **of),
                sides(broken=False, **of),
            ],
            reduced=REDUCED,
        )
        for artifact, of in {"Figure 4": {}, "Figure 6": LENET5}.items()
    ]


test_a_claim_holds_and_fails, test_a_claim_bears_a_missing_case = contract(*KIND)


def test_the_theorem_is_asked_where_its_condition_holds(planted):
    ids = [
        {entry.id for entry in planted[0].entries(KIND, "falls_beyond", sides_of)}
        for sides_of in (sides(), sides(rank=False))
    ]
    assert "planted/falls-beyond-F-200^2-fc1" in ids[0] - ids[1]
    peaks = {entry.id for entry in planted[0].entries(KIND, "peaks", sides(rank=False))}
    assert "planted/peaks-F-200^2-fc1" in peaks


def test_a_case_says_up_to_where_the_condition_holds(planted):
    first, second = planted[1].entries(KIND, "peaks", sides(**LENET5))
    assert first.labels["condition"] == "condition holds"
    assert second.labels["condition"] == "condition up to k = 3 of 20"
    assert first.explanation == second.explanation != ""


def test_what_is_said_of_minima_is_not_judged_elsewhere_and_a_theorem_is(planted):
    far = sides(late=0.5)
    for name in ("peaks", "above_chance", "early_low_peak", "condition_is_broken"):
        for entry in planted[0].entries(KIND, name, far):
            with pytest.raises(NothingToMeasure, match="50% of the fall came late"):
                entry.measure()
    for name in ("linear_growth", "falls_beyond", "height_at_outputs"):
        for entry in planted[0].entries(KIND, name, far):
            assert not math.isnan(entry.measure().value)


def test_what_the_paper_does_not_have_is_beyond_it(planted):
    of = {"networks": ("F-200^2", "F-50^2")}
    headings = [entry.heading for entry in planted[0].entries(KIND, "above_chance", sides(**of))]
    assert [heading.book for heading in headings] == ["readings", "beyond"]
    assert headings[1].id == "overlap-is-above-chance-elsewhere"


def test_only_layers_after_a_batch_norm_have_no_peak(planted):
    entries = planted[0].entries(KIND, "batch_norm_has_no_peak", sides())
    assert [entry.id for entry in entries] == ["planted/batch-norm-has-no-peak-F-200^2-BN-fc2"]


def data_of(arrays=None, **of):
    """The data set of planted arrays."""
    return planted_data(arrays or sides(**of), VARIABLES)


def without_variations(arrays):
    """A run that was recorded before there were variations."""
    return {
        "correlation": {
            name: values for name, values in arrays["correlation"].items() if name != "variation"
        }
    }


def test_the_interval_is_the_jackknife_over_networks():
    pairs = layer_of(data_of(noise=0.2), "F-200^2", "fc1")
    actual, values = over_networks(pairs, at_outputs), pairs["overlap"].sel(rank=20).values
    # Pairs without the network: (0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3).
    without = np.array(
        [values[list(rows)].mean() for rows in ((3, 4, 5), (1, 2, 5), (0, 2, 4), (0, 1, 3))]
    )
    error = math.sqrt(3 / 4 * ((without - without.mean()) ** 2).sum())
    interval = scipy.stats.t(3, values.mean(), error).interval(0.95)
    assert actual == pytest.approx((values.mean(), *interval))


def test_the_interval_holds_what_is_estimated():
    actual, draws = 0, np.random.default_rng(0)
    for seed in draws.integers(1 << 30, size=200).tolist():
        data = paired(data_of(noise=0.2, seed=seed, networks=("F-200^2",), layers=("fc1",)))
        value = over_networks(data["overlap"].isel(rank=19).squeeze(), float)
        actual += value.low <= HEIGHTS["fc1"] <= value.high
    assert 180 <= actual < 200


def test_two_networks_have_no_interval():
    pairs = layer_of(data_of(seeds=2), "F-200^2", "fc1")
    assert over_networks(pairs, lambda mean: 1.0) == (1.0, -math.inf, math.inf)


def test_what_is_within_the_error_of_eigenvalues_is_not_read():
    arrays = sides()
    arrays["correlation"]["hessian"][0, 0, 0, 2, 25:] = 1e-5
    own = layers(data_of(arrays).sel(network="F-200^2"))
    assert [layer.sizes["rank"] for layer in own] == [25, 30, 6]


def test_what_is_not_there_is_said():
    short = layer_of(data_of(top=22), "F-200^2", "fc1").mean("pair")
    with pytest.raises(
        NothingToMeasure, match="has 22 eigenpairs of a layer with 20 outputs: none"
    ):
        peak(short)
    with pytest.raises(NothingToMeasure, match=r"has fewer than 20 eigenpairs$"):
        at_outputs(layer_of(data_of(top=19), "F-200^2", "fc1"))


def drawn_lines(figure, panel):
    return [np.array(line.get_ydata()) for line in figure.axes[panel].lines]


def is_drawn(values, lines):
    """True if some line has these values where it has any."""
    finite = (line[np.isfinite(line)] for line in lines if len(line) > 2)
    return any(len(line) == len(values) and np.allclose(line, values) for line in finite)


def test_the_figures_show_the_means_and_the_theorem():
    data, mean = data_of(noise=0.0), expected("F-200^2", "fc1")
    main, (second, _) = draw(data), controls(data)
    assert len(main.axes) == len(second.axes) == 6
    for values in (mean, np.arange(1, 31) / 600):
        assert is_drawn(values, drawn_lines(main, 0))
    for values in (mean, 0.8 * np.arange(1, 21) / 20):
        assert is_drawn(values, drawn_lines(second, 0))
    assert is_drawn(np.full(4, 0.5), drawn_lines(second, 2))


def test_an_inset_has_the_early_part():
    main = draw(data_of(noise=0.0))
    # Of 30, 30 and 6 dimensions, with 4 classes.
    assert [len(axes.child_axes) for axes in main.axes] == [1, 1, 0] * 2
    (inset,) = main.axes[0].child_axes
    assert is_drawn(expected("F-200^2", "fc1")[:8], [line.get_ydata() for line in inset.lines])
    assert inset.get_xlim() == (1, 8)


def test_an_inset_stands_where_fewer_points_are():
    _, axes = style.panels()
    axes.plot(np.linspace(0, 1, 50), np.linspace(0.3, 0.2, 50))
    axes.set(xlim=(0, 1), ylim=(0, 1))
    upper_left = _free_corner(axes)
    axes.plot(np.linspace(0, 0.5, 80), np.full(80, 0.8))
    assert (upper_left, _free_corner(axes)) == (CORNERS[1], CORNERS[0])


def test_five_layers_take_two_rows():
    names = [f"fc{number}" for number in (1, 2, 3)]
    assert len(draw(data_of(layers=names)).axes) == 6
    data = data_of(networks=("LeNet5",))
    wider = data.isel(layer=[0, 0, 1, 1, 2]).assign_coords(layer=range(5))
    wider["layer_name"] = wider["layer_name"].copy(data=[["conv1", "conv2", "fc1", "fc2", "fc3"]])
    figure = draw(wider)
    places = [axes.get_subplotspec() for axes in figure.axes]
    assert [(each.rowspan.start, each.colspan.start) for each in places] == [
        (0, 0), (0, 1), (0, 2), (1, 0), (1, 1),
    ]  # fmt: skip


def test_pairs_that_were_trained_alike_are_drawn_apart():
    varied, mean = data_of(noise=0.0, differing=0.5), expected("F-200^2", "fc1")
    assert paired(varied)["differing"].values.tolist() == [True, False, True, True, False, True]
    for factor in (1.0, 4 / 6):
        assert is_drawn(factor * mean, drawn_lines(draw(varied), 0))
    assert "2 of 6 pairs were trained alike" in caption(varied)
    before = data_of(without_variations(sides()))
    assert not paired(before)["differing"].any()
    assert "trained with the same" not in caption(before)


def test_differently_trained_networks_are_compared_with_those_trained_alike(planted):
    entries = list(planted[0].entries(KIND, "same_after_other_training", sides(differing=0.7)))
    assert len(entries) == 6
    assert entries[0].measure().value == pytest.approx(0.7, abs=0.01)
    before = without_variations(sides())
    assert not list(planted[0].entries(KIND, "same_after_other_training", before))
