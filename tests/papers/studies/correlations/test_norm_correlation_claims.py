"""The claims about norms and sharpness, on ensembles in which one quantity was planted."""

from functools import cache

import numpy as np
import pytest
import xarray as xr
from claims_contract import Kind, Planted, changed, contract
from ensemble_arrays import NORMS, ensemble, replaced
from point_studies import norms_config

from hessian_papers.ledger.bounds import Estimate, NothingToMeasure
from hessian_papers.studies.correlations.ensembles import distance_from
from hessian_papers.studies.correlations.norm_correlation import claims as functions
from hessian_papers.studies.correlations.norm_correlation import deep_claims, study
from hessian_papers.studies.correlations.norm_correlation.claims import statements
from hessian_papers.studies.correlations.norm_correlation.regions import SIMILAR

PARAMETRISATIONS = ("sp", "mup", "ntp")
PAPER = "singh2026cracking"
KIND = Kind(statements, study.VARIABLES)


def correlation(networks, **changes):
    """The sides of a study on networks of all parametrisations."""
    config = norms_config(**({"parametrisations": list(PARAMETRISATIONS)} | changes))
    return {"correlation": study.correlation(config, networks)}


def along_depth(networks, **changes):
    chosen = {"along": "depth", "depths": [], "sizes": [1]}
    return correlation(networks, **(chosen | changes))


def read(*args, **changes):
    return correlation(*args, **changes)["correlation"]


@cache
def wide():
    return ensemble(PARAMETRISATIONS, sizes=(1, 3, 5), networks=96, teachers=8)


@cache
def deep():
    return ensemble(PARAMETRISATIONS, depths=(2, 3, 4), sizes=(1, 3), networks=96, teachers=8)


def with_target(networks, target):
    return replaced(networks, sharpness=target, trace=target)


def driven(networks, name, layer, norm, noise=0.3):
    """Networks whose sharpness and trace are one squared norm, up to noise; −1: the last layer's.

    Args:
        networks: an ensemble.
        name: ``norms`` (of matrices) or ``products``.
        layer: counted from 0.
        norm: the norm's name.
        noise: its deviation over that of the squared norm.
    """
    chosen = layer + 1 if layer >= 0 else networks["depth"] + layer + 1
    of_layer = networks[name].sel(norm=norm).sel(layer=chosen)
    square = of_layer.transpose(*networks["sharpness"].dims).values ** 2
    deviation = np.nanstd(square, axis=-1, keepdims=True)
    draw = np.random.default_rng(0).normal(size=square.shape)
    return with_target(networks, square + noise * deviation * draw)


def only_under_mup(networks):
    """Networks that the first product drives, but for those of μP."""
    first = driven(networks, "products", 0, "spectral")["sharpness"]
    target = networks["sharpness"].where(networks["parametrisation"] == "mup", first)
    return with_target(networks, target.values)


def unrelated(networks):
    """Networks with the target of others."""
    return with_target(networks, networks["sharpness"].values[..., ::-1].copy())


def twins(networks):
    """Networks whose second matrix has the norms of the first."""
    norms = networks["norms"].values.copy()
    norms[..., 1, :] = norms[..., 0, :]
    return replaced(networks, norms=norms)


def flat():
    """Deep networks of one and the same sharpness."""
    return replaced(deep(), sharpness=np.ones(deep()["sharpness"].shape))


def of_relu(networks):
    return replaced(networks, activation="relu")


def driven_where(networks, first, second, *, first_if_larger):
    """Driven as the first networks where the first matrix is larger, else as the second, or not."""
    frobenius = networks["norms"].sel(time="initialisation", norm="frobenius")
    ratio = (frobenius.sel(layer=1) / frobenius.sel(layer=2)).median("network")
    target = first["sharpness"].where((ratio > SIMILAR) == first_if_larger, second["sharpness"])
    return with_target(networks, target.values)


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


def with_r(sides, change):
    """With other correlations of each teacher."""
    data = sides["correlation"]
    r = data["each_correlation"]
    return {"correlation": data.assign(each_correlation=change(r).transpose(*r.dims))}


def at_times(sides, first, last, but=()):
    """With such parts of the correlations at initialisation and after training.

    Args:
        sides: of a study.
        first: the part at initialisation.
        last: the part after training.
        but: the parametrisations of which it is the other way round.
    """
    parts = xr.DataArray([first, last], dims="time")
    others = parts.isel(time=[1, 0])
    return with_r(sides, lambda r: r * xr.where(r["parametrisation"].isin(but), others, parts))


def mirrored(sides):
    """With a lead of the last product under NTP that is a twentieth of what it was."""

    def nearer(r):
        last = r.sel(layer=r["depth"])
        return r.where(r["parametrisation"] != "ntp", last + 0.05 * (r - last))

    return with_r(sides, nearer)


def of_width(sides, width):
    return changed(sides, "correlation", width=np.array(width))


def ending(sides, share, r):
    """With so many networks in other minima, and that r of loss and sharpness, at D = m."""
    planted = {
        "above_best": lambda old: np.full(old.shape, share),
        "loss_correlation": lambda old: np.full(old.shape, r),
    }
    return changed(sides, "correlation", width=np.array(5), **planted)


def wide_figures():
    """Figures 4, 14, 15, 16 and 26: two layers, along size."""
    first, second = (driven(wide(), "norms", layer, "spectral") for layer in (0, 1))
    frobenius, nuclear = (driven(wide(), "norms", 0, name, 0.05) for name in NORMS[1:])
    two = {"parametrisations": ["sp", "mup"]}
    by_size, not_by_size = (
        driven_where(wide(), first, second, first_if_larger=larger) for larger in (True, False)
    )
    others = (first, second, frobenius, unrelated(wide()))
    holds = at_times(correlation(by_size, **two), 0.2, 1.0)
    fails = [
        at_times(correlation(networks, **two), 1.0, 0.2) for networks in (*others, not_by_size)
    ]
    for which in (4, "4 (narrow networks)", "4 (narrow networks, more samples)"):
        yield about(which, holds, [of_width(holds, 1), *fails], smaller_wide())
    alike = correlation(driven(twins(wide()), "norms", 0, "spectral"), parametrisations=["ntp"])
    others = [correlation(networks) for networks in others]
    yield about(14, at_times(alike, 0.5, 1.0), others, smaller_wide())
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
    frobenius_of_relu = at_times(correlation(of_relu(frobenius)), 0.5, 0.5)
    frobenius_of_relu = ending(frobenius_of_relu, 0.6, 0.3)
    others = [ending(correlation(of_relu(networks)), 0.1, -0.3) for networks in (first, nuclear)]
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
        holds = mirrored(along_depth(under_mup[number], sizes=[size], **products))
        fails = [
            at_times(along_depth(each, sizes=[size], **products), 1.0, 0.2)
            for each in (first, unrelated(deep()), last)
        ]
        first_leads = ["sp", "ntp"] if number == 18 else []
        yield about(number, at_times(holds, 0.2, 1.0, but=first_leads), fails, smaller)
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


def low_dimension():
    """Section 4.2: the product without the last matrix drives at one size, without the first at
    the other."""
    last, first = (driven(deep(), "products", layer, "spectral", 0.0) for layer in (-1, 0))
    fields = {"norms": ["spectral"], "quantities": ["products"], "sizes": [1, 3]}
    holds, fails = (
        along_depth(
            with_target(
                deep(),
                last["sharpness"].where(deep()["size"] == size, first["sharpness"]).values,
            ),
            parametrisations=["sp", "mup"],
            **fields,
        )
        for size in (1, 3)
    )
    alone = along_depth(deep(), parametrisations=["sp"], **fields)
    stopped = changed(alone, "correlation", epoch_limit=lambda counts: np.full_like(counts, 96))
    smaller = [alone, stopped, along_depth(deep(), depths=[3], **fields)]
    yield Planted(paper=PAPER, artifact="Section 4.2", holds=holds, fails=[fails], reduced=smaller)


@pytest.fixture(scope="module")
def planted():
    return [*wide_figures(), *deep_figures(), *low_dimension()]


test_a_claim_holds_and_fails, test_a_claim_bears_a_missing_case = contract(
    statements, study.VARIABLES
)


def test_the_switch_is_where_the_lines_between_logarithms_cross():
    """The r of the first matrix, of all teachers alike, at D = 1, 3 and 5; the second's is 0."""
    planted = xr.DataArray([[0.6, 0.2, -0.2], [0.0] * 3], dims=("layer", "size"))
    place = {"parametrisation": "sp", "time": "trained"}
    falling, never = (
        with_r(correlation(wide()), lambda r, other=other: 0 * r + other)["correlation"].sel(place)
        for other in (planted, abs(planted))
    )
    np.testing.assert_allclose(functions.driver_switches(falling), np.full(3, np.sqrt(15) / 6))
    with pytest.raises(NothingToMeasure, match="no sizes between which the driver switches"):
        functions.driver_switches(never)


def test_other_minima_are_those_above_the_lowest_loss_of_the_same_teacher():
    networks = of_relu(ensemble(("ntp",), sizes=(3,), networks=12, teachers=2))
    draws = np.random.default_rng(1)
    # The first network was stopped and the last one diverged: neither counts.
    losses = np.array([0.01, 1.0, 1.04, 1.06, 2.0, 1.049, 9.0, 9.0, 9.4, 9.46, 20.0, np.nan])
    sharpness = draws.normal(size=12)
    changed_losses = networks["loss"].values.copy()
    changed_losses[0, 0, 0, 1] = losses
    ends = networks["sharpness"].values.copy()
    ends[0, 0, 0, 1, :11] = sharpness[:11]
    data = read(
        replaced(networks, loss=changed_losses, sharpness=ends), parametrisations=["ntp"], sizes=[]
    )
    np.testing.assert_allclose(data["above_best"].values.ravel(), [2 / 5, 2 / 5])
    expected = [
        np.corrcoef(losses[own], sharpness[own])[0, 1] for own in (slice(1, 6), slice(6, 11))
    ]
    np.testing.assert_allclose(data["loss_correlation"].values.ravel(), expected)


def test_of_several_inputs_the_text_names_mup_alone():
    for size, expected in ((1, list(PARAMETRISATIONS)), (3, ["mup"])):
        sides = along_depth(deep(), sizes=[size], quantities=["products"])
        single = about(18, sides, [])
        actual = [entry.id for entry in single.entries(KIND, "last_most", sides)]
        assert actual == [
            f"planted/last-most-{name}-{time}"
            for name in expected
            for time in ("initialisation", "trained")
        ]


ONE_NORM = "has no size at which correlations of two norms differ"
SMALL_FIRST = (
    r"has no size at which the entries of the first matrix are more than 1\.5 times those "
    "of the last"
)
ONE_GROUP = "has no depth at which correlations of two groups of factors differ"
ONE_SIZE = {"parametrisations": ["sp"], "sizes": [1]}
NUCLEAR = {"norms": ["nuclear"], "highlighted": "nuclear"}
OF_TWO_LAYERS = {"along": "depth", "depths": [2], "sizes": [1]}


@pytest.mark.parametrize(
    ("number", "name", "changes", "message"),
    [
        (4, "driver_trained", {"parametrisations": ["sp"]}, "leaves out parametrisation mup"),
        (4, "spectral_most", NUCLEAR, "leaves out norm spectral"),
        (4, "spectral_most", {"sizes": [1]}, ONE_NORM),
        (4, "spectral_most", {"norms": ["spectral"]}, ONE_NORM),
        (4, "spectral_most", OF_TWO_LAYERS, "is not one of two layers and their sizes"),
        (17, "last_well", {"quantities": ["products"]}, "is not one of several depths"),
        (15, "alignment_where_similar", {}, "does not study alignments, then matrices"),
        (4, "first_matrix_initialisation", {}, SMALL_FIRST),
        (4, "magnitude_drives", ONE_SIZE, "has no second size to compare with"),
        (19, "products_more", OF_TWO_LAYERS | {"quantities": ["matrices", "products"]}, ONE_GROUP),
        (4, "weak_where_similar", {"target": "trace"}, "studies the trace instead"),
        (26, "all_norms", {}, "studies the sharpness instead"),
        (16, "spectral_between", {}, "has no ReLU networks"),
    ],
)
def test_what_a_configuration_leaves_out_is_named(number, name, changes, message):
    sides = correlation(wide(), **changes)
    *_, entry = about(number, sides, []).entries(KIND, name, sides)
    with pytest.raises(NothingToMeasure, match=f"^this configuration {message}$"):
        entry.measure()


def test_products_of_one_sharpness_do_not_lead():
    data = along_depth(flat(), quantities=["products"])["correlation"]
    with pytest.raises(NothingToMeasure, match="no depth at which correlations of two factors"):
        deep_claims.last_most_everywhere(data)


def test_networks_that_were_stopped_say_nothing_about_the_end_of_training():
    status = xr.zeros_like(wide()["status"])
    status.loc[{"parametrisation": "ntp", "size": [3, 5]}] = 1
    data = read(of_relu(wide().assign(status=status)))
    message = "^the epochs end before most networks reach their plateau, at D = 3, 5$"
    for measure in (
        lambda time: functions.frobenius_over(data, "nuclear", "ntp", time),
        lambda time: functions.spectral_between(data.sel(time=time)),
    ):
        assert np.isfinite(measure("initialisation").value)
        with pytest.raises(NothingToMeasure, match=message):
            measure("trained")
    assert np.isfinite(functions.frobenius_over(data, "nuclear", "sp", "trained").value)


def test_the_distance_from_a_value_is_zero_within_its_interval():
    actual = distance_from(0.5, Estimate(0.2, 0.1, 0.9))
    np.testing.assert_allclose(actual, (0.3, 0.0, 0.4))
    actual = distance_from(0.9, Estimate(0.4, 0.3, 0.5))
    np.testing.assert_allclose(actual, (0.5, 0.4, 0.6))
