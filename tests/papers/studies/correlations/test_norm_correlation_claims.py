"""The claims about norms and sharpness, on ensembles in which one quantity was planted."""

from functools import cache

import numpy as np
import pytest
from claims_contract import Planted, changed, contract
from ensemble_arrays import NORMS, ensemble

from hessian_papers.ledger.bounds import Estimate, NothingToMeasure
from hessian_papers.studies.correlations.norm_correlation import claims as functions
from hessian_papers.studies.correlations.norm_correlation import study
from hessian_papers.studies.correlations.norm_correlation.claims import statements
from hessian_papers.studies.correlations.norm_correlation.reading import Reading
from hessian_papers.studies.correlations.norm_correlation.regions import SIMILAR
from hessian_papers.studies.correlations.reading import distance_from

PARAMETRISATIONS = ("sp", "mup", "ntp")
PAPER = "singh2026cracking"


def correlation(networks, **changes):
    """The sides of a study on networks of all parametrisations."""
    fields = {
        "kind": "norm_correlation",
        "paper": PAPER,
        "artifact": "test",
        "title": "test",
        "ensemble": "test",
        "seed": 0,
        "target": "sharpness",
        "quantities": ["matrices"],
        "norms": list(NORMS),
        "highlighted": "spectral",
        "parametrisations": list(PARAMETRISATIONS),
        "along": "size",
        "depths": [2],
        "sizes": [],
        "resamples": 100,
        "confidence": 0.95,
    }
    config = study.Config(**(fields | changes))
    return {"correlation": study.correlation(config, networks)}


def along_depth(networks, **changes):
    chosen = {"along": "depth", "depths": [], "sizes": [1]}
    return correlation(networks, **(chosen | changes))


def read(*args, **changes):
    return Reading(correlation(*args, **changes))


@cache
def wide():
    return ensemble(PARAMETRISATIONS, sizes=(1, 3, 5), networks=40)


@cache
def deep():
    return ensemble(PARAMETRISATIONS, depths=(2, 3, 4), sizes=(1, 3), networks=40)


def with_target(networks, target):
    return networks | {"sharpness": target, "trace": target}


def driven(networks, name, layer, norm, noise=0.3):
    """Networks whose sharpness and trace are one squared norm, up to noise; −1: the last layer's.

    Args:
        networks: an ensemble.
        name: ``norms`` (of matrices) or ``products``.
        layer: counted from 0.
        norm: the norm's name.
        noise: its deviation over that of the squared norm.
    """
    chosen = layer if layer >= 0 else networks["depth"] + layer
    rows = np.arange(len(networks["depth"]))
    square = networks[name][rows, :, :, chosen, NORMS.index(norm)] ** 2
    deviation = np.nanstd(square, axis=-1, keepdims=True)
    draw = np.random.default_rng(0).normal(size=square.shape)
    return with_target(networks, square + noise * deviation * draw)


def only_under_mup(networks):
    """Networks that the first product drives, but for those of μP."""
    chosen = (networks["parametrisation"] == "mup")[:, None, None]
    first = driven(networks, "products", 0, "spectral")["sharpness"]
    target = np.where(chosen, networks["sharpness"], first)
    return with_target(networks, target)


def unrelated(networks):
    """Networks with the target of others."""
    return with_target(networks, networks["sharpness"][:, :, ::-1].copy())


def twins(networks):
    """Networks whose second matrix has the norms of the first."""
    norms = networks["norms"].copy()
    norms[..., 1, :] = norms[..., 0, :]
    return networks | {"norms": norms}


def flat():
    """Deep networks of one and the same sharpness."""
    return deep() | {"sharpness": np.ones_like(deep()["sharpness"])}


def of_relu(networks):
    return networks | {"activation": np.array("relu")}


def driven_where(networks, first, second, *, first_if_larger):
    """Driven as the first networks where the first matrix is larger, else as the second, or not."""
    frobenius = networks["norms"][:, 0, :, :, NORMS.index("frobenius")]
    ratio = np.median(frobenius[..., 0] / frobenius[..., 1], axis=-1)
    chosen = ((ratio > SIMILAR) == first_if_larger)[:, None, None]
    return with_target(networks, np.where(chosen, first["sharpness"], second["sharpness"]))


def about(number, holds, fails, reduced=()):
    return Planted(
        paper=PAPER, artifact=f"Figure {number}", holds=holds, fails=fails, reduced=reduced
    )


@cache
def smaller_wide():
    """One parametrisation; one size, at which all norms are one or not; a norm; deep networks."""
    return [
        *(correlation(wide(), parametrisations=[name]) for name in PARAMETRISATIONS),
        *(correlation(wide(), sizes=[size]) for size in (1, 5)),
        correlation(wide(), norms=["nuclear"], highlighted="nuclear"),
        correlation(wide(), quantities=["products"]),
        correlation(wide(), target="trace"),
        along_depth(deep()),
    ]


def smaller_deep(**fields):
    """One parametrisation; one depth; another norm; another group; two-layer networks."""
    return [
        *(along_depth(deep(), parametrisations=[name], **fields) for name in PARAMETRISATIONS),
        *(along_depth(deep(), depths=[depth], **fields) for depth in (2, 4)),
        along_depth(deep(), **(fields | {"norms": ["nuclear"], "highlighted": "nuclear"})),
        along_depth(deep(), **(fields | {"quantities": ["matrices"]})),
        correlation(wide()),
    ]


def lowered(sides, name):
    """With half of some correlations: of so few networks no norm can lead and be weak."""
    names = (name, f"{name}_low", f"{name}_high")
    return changed(sides, "correlation", **{each: lambda r: 0.5 * r for each in names})


def growing(sides, name, by=1.0):
    """With a lead that grows: noise that falls is not enough where the lead is small."""
    names = (name, f"{name}_low", f"{name}_high")
    return changed(sides, "correlation", **{each: lambda r: by + r for each in names})


def wide_figures():
    """Figures 4, 14, 15, 16 and 26: two layers, along size."""
    first, second = (driven(wide(), "norms", layer, "spectral") for layer in (0, 1))
    frobenius, nuclear = (driven(wide(), "norms", 0, name, 0.05) for name in NORMS[1:])
    two = {"parametrisations": ["sp", "mup"]}
    by_size, not_by_size = (
        driven_where(wide(), first, second, first_if_larger=larger) for larger in (True, False)
    )
    others = (first, second, frobenius, unrelated(wide()))
    yield about(
        4,
        growing(
            lowered(correlation(by_size, **two), "mean_best_correlation"),
            "mean_best_norm_growth",
        ),
        [
            growing(correlation(networks, **two), "mean_best_norm_growth", by=-1.0)
            for networks in (*others, not_by_size)
        ],
        smaller_wide(),
    )
    alike = correlation(driven(twins(wide()), "norms", 0, "spectral"), parametrisations=["ntp"])
    others = [correlation(networks) for networks in others]
    yield about(14, lowered(alike, "mean_best_correlation"), others, smaller_wide())
    aligned = {"quantities": ["alignments", "matrices"]}
    alignment = wide()["alignments"][..., 0] + 0.05 * wide()["alignments"][..., 2]
    by_alignment = with_target(wide(), alignment)
    rising, falling = (
        driven_where(wide(), first, by_alignment, first_if_larger=larger)
        for larger in (True, False)
    )
    yield about(
        15,
        correlation(rising, **aligned),
        [correlation(each, **aligned) for each in (first, falling)],
        [
            *smaller_wide(),
            correlation(wide(), parametrisations=["mup"], **aligned),
            correlation(wide(), sizes=[1], **aligned),
            correlation(wide(), quantities=["matrices", "alignments"]),
        ],
    )
    frobenius_of_relu = lowered(correlation(of_relu(frobenius)), "correlation")
    others = [correlation(of_relu(networks)) for networks in (first, nuclear)]
    yield about(16, frobenius_of_relu, others, [*smaller_wide(), correlation(first)])
    trace = {"target": "trace"}
    others = [correlation(networks, **trace) for networks in (first, nuclear, unrelated(wide()))]
    yield about(26, correlation(frobenius, **trace), others, smaller_wide())


def deep_figures():
    """Figures 17 to 22: along depth."""
    spectral = {"norms": ["spectral"]}
    products = spectral | {"quantities": ["products"]}
    last, first = (driven(deep(), "products", layer, "spectral") for layer in (-1, 0))
    smaller = smaller_deep(**products)
    under_mup = {17: last, 18: only_under_mup(last)}
    for number, size in ((17, 1), (18, 3)):
        others = (first, unrelated(deep()), *([last] if number == 18 else []))
        yield about(
            number,
            growing(along_depth(under_mup[number], sizes=[size], **products), "mean_last_growth"),
            [
                growing(along_depth(each, sizes=[size], **products), "mean_last_growth", by=-1.0)
                for each in others
            ],
            smaller,
        )
    compared = spectral | {"quantities": ["matrices", "products"]}
    product, matrix = (driven(deep(), name, 1, "spectral") for name in ("products", "norms"))
    smaller = smaller_deep(**compared)
    for number, size in ((19, 1), (20, 3)):
        yield about(
            number,
            along_depth(product, sizes=[size], **compared),
            [along_depth(matrix, sizes=[size], **compared)],
            smaller,
        )
    frobenius = {"norms": ["frobenius"], "highlighted": "frobenius"}
    for number, fields, pair in (
        (21, products | frobenius, (("products", -1), ("products", 0))),
        (22, compared | frobenius, (("products", 1), ("norms", 1))),
    ):
        holds, fails = (
            along_depth(driven(deep(), *item, "frobenius"), sizes=[1], **fields) for item in pair
        )
        yield about(number, holds, [fails], smaller_deep(**fields))


@pytest.fixture(scope="module")
def planted():
    return [*wide_figures(), *deep_figures()]


test_a_claim_holds_and_fails, test_a_claim_bears_a_missing_case = contract(statements)


def test_the_printed_sentence_is_the_opposite_of_ours(planted):
    figure_4 = planted[0]
    *_, entry = figure_4.entries(statements, "driver_trained", figure_4.holds)
    assert entry.id == "planted/first-matrix-trained-mup"
    assert entry.measure_printed().value == pytest.approx(-entry.measure().value)
    assert entry.measure().low > 0.1


def test_the_norm_with_the_smallest_or_largest_correlation_decides():
    networks = driven(wide(), "norms", 1, "nuclear", noise=0.1)
    reading, of_trace = read(networks), read(networks, target="trace")
    best = reading["mean_best_correlation"]
    for row, name in enumerate(PARAMETRISATIONS):
        assert functions.all_norms(of_trace, name, "trained").value == best[row, 0, 1].min()
        assert functions.weak_where_similar(reading, name).value == best[row, 2, 0].max()
        assert functions.weak_where_similar(reading, name).value > 0.9


def test_the_weaker_matrix_decides():
    reading = read(driven(wide(), "norms", 1, "spectral"))
    actual = functions.both_matrices_trained_ntp(reading)
    row = PARAMETRISATIONS.index("ntp")
    assert actual.value == reading["mean_correlation"][row, 0, 1, 0, 0]
    assert actual.low < actual.value < actual.high


def test_the_furthest_correlation_decides():
    reading = read(of_relu(driven(wide(), "norms", 0, "spectral", noise=0.1)))
    actual = functions.spectral_between(reading, "trained")
    assert actual.value == np.nanmax(np.abs(reading["correlation"][:, :, 1, 0, 0] - 0.5))
    assert actual.low <= actual.value <= actual.high


def test_the_last_product_is_followed_through_the_depths():
    reading = Reading(along_depth(deep(), sizes=[3], quantities=["products"]))
    r = reading["correlation"][PARAMETRISATIONS.index("mup"), :, 1, :, 0]
    expected = min(r[position, depth - 1] for position, depth in enumerate((2, 3, 4)))
    assert functions.last_well(reading, "mup").value == expected
    leads = reading["last_lead"][:, :, 1, 0]
    assert functions.last_most_everywhere(reading).value == np.nanmin(leads)


def test_of_several_inputs_the_text_names_mup_alone():
    for size, expected in ((1, list(PARAMETRISATIONS)), (3, ["mup"])):
        sides = along_depth(deep(), sizes=[size], quantities=["products"])
        single = about(18, sides, [])
        actual = [entry.id for entry in single.entries(statements, "last_most", sides)]
        assert actual == [
            f"planted/last-most-{name}-{time}"
            for name in expected
            for time in ("initialisation", "trained")
        ]


@pytest.mark.parametrize(
    ("measure", "reading", "message"),
    [
        (
            lambda r: functions.driver_trained(r, "first", "second", "mup", "", "D"),
            lambda: read(wide(), parametrisations=["sp"]),
            "leaves out parametrisation mup",
        ),
        (
            lambda r: functions.spectral_most(r, "sp", "trained"),
            lambda: read(wide(), norms=["nuclear"], highlighted="nuclear"),
            "leaves out norm spectral",
        ),
        (
            lambda r: functions.spectral_most(r, "sp", "trained"),
            lambda: read(wide(), sizes=[1]),
            "has no size at which correlations of two norms differ",
        ),
        (
            lambda r: functions.spectral_most(r, "sp", "trained"),
            lambda: read(wide(), norms=["spectral"]),
            "has no size at which correlations of two norms differ",
        ),
        (
            lambda r: functions.spectral_most(r, "sp", "trained"),
            lambda: read(deep(), depths=[3]),
            "is not one of two layers and their sizes",
        ),
        (
            lambda r: functions.last_well(r, "sp"),
            lambda: read(wide(), quantities=["products"]),
            "is not one of several depths",
        ),
        (
            lambda r: functions.alignment_where_similar(r, "sp"),
            lambda: read(wide(), quantities=["matrices", "alignments"]),
            "does not study alignments, then matrices",
        ),
        (
            lambda r: functions.first_matrix_initialisation(r, "ntp"),
            lambda: read(wide()),
            r"has no size at which the entries of the first matrix are more than 1\.5 times those "
            "of the last",
        ),
        (
            lambda r: functions.magnitude_drives(r, "sp", "trained"),
            lambda: read(wide(), sizes=[1]),
            "has no second size to compare with",
        ),
        (
            lambda r: functions.products_more(r, "sp", "trained"),
            lambda: Reading(along_depth(deep(), depths=[2], quantities=["matrices", "products"])),
            "has no depth at which correlations of two groups of factors differ",
        ),
        (
            lambda r: functions.weak_where_similar(r, "sp"),
            lambda: read(wide(), target="trace"),
            "studies the trace instead",
        ),
        (
            lambda r: functions.all_norms(r, "sp", "trained"),
            lambda: read(wide()),
            "studies the sharpness instead",
        ),
        (
            lambda r: functions.spectral_between(r, "trained"),
            lambda: read(wide()),
            "has no ReLU networks",
        ),
        (
            lambda r: functions.last_most_everywhere(r),
            lambda: Reading(along_depth(flat(), quantities=["products"])),
            "has no depth at which correlations of two factors differ",
        ),
    ],
)
def test_what_a_configuration_leaves_out_is_named(measure, reading, message):
    with pytest.raises(NothingToMeasure, match=f"^this configuration {message}$"):
        measure(reading())


def test_networks_that_were_stopped_say_nothing_about_the_end_of_training():
    status = np.zeros_like(wide()["status"])
    stopped = (wide()["parametrisation"] == "ntp") & (wide()["size"] > 1)
    status[stopped] = 1
    reading = read(of_relu(wide() | {"status": status}))
    message = "^the epochs end before most networks reach their plateau, at D = 3, 5$"
    for measure in (
        lambda time: functions.frobenius_over(reading, "nuclear", "ntp", time),
        lambda time: functions.spectral_between(reading, time),
    ):
        assert np.isfinite(measure("initialisation").value)
        with pytest.raises(NothingToMeasure, match=message):
            measure("trained")
    assert np.isfinite(functions.frobenius_over(reading, "nuclear", "sp", "trained").value)


def test_the_distance_from_a_value_is_zero_within_its_interval():
    actual = distance_from(0.5, Estimate(0.2, 0.1, 0.9))
    np.testing.assert_allclose(actual, (0.3, 0.0, 0.4))
    actual = distance_from(0.9, Estimate(0.4, 0.3, 0.5))
    np.testing.assert_allclose(actual, (0.5, 0.4, 0.6))
