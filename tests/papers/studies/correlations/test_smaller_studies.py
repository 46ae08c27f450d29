"""The studies of ensembles with less of everything: claims are measured of what there is."""

import importlib
import math
from functools import cache

import numpy as np
import pytest
from ensemble_arrays import configurations, ensemble

from hessian_papers.ledger.bounds import Estimate, NothingToMeasure
from hessian_papers.ledger.statements import Study

FAMILY = "hessian_papers.studies.correlations"
KINDS = ("norm_correlation", "sharpness_bounds")
STUDIES = {name: fields for kind in KINDS for name, fields in configurations(kind).items()}
DEPTHS, SIZES = (2, 3, 4), (1, 3, 10)
PARAMETRISATIONS = ("sp", "mup", "ntp")


@cache
def networks():
    return ensemble(PARAMETRISATIONS, DEPTHS, SIZES, networks=12)


def part(fields, name):
    """A module of a study's kind."""
    return importlib.import_module(f"{FAMILY}.{fields['kind']}.{name}")


def smaller(name, **changes):
    """A study's configuration with changes, and its data set."""
    fields = STUDIES[name] | changes
    if fields["kind"] == "norm_correlation":
        fields = fields | {"resamples": 100}
    study = part(fields, "study")
    return fields, study.correlation(study.Config(**fields), networks())


def measured(name, fields, data):
    """What each claim of a study measures, or why it does not; no value is NaN."""
    actual = {}
    statements = part(fields, "claims").statements
    for entry in statements.entries(Study(name, fields), data):
        assert entry.problems() == []
        claim = entry.id.removeprefix(f"{name}/")
        try:
            value = entry.measure()
            if entry.measure_printed is not None:
                entry.measure_printed()
        except NothingToMeasure as missing:
            actual[claim] = str(missing)
        else:
            actual[claim] = float(value.value if isinstance(value, Estimate) else value)
            assert not math.isnan(actual[claim]), claim
    missing = [actual for actual in actual.values() if isinstance(actual, str)]
    assert all(text.startswith("this configuration ") for text in missing)
    return actual


def drawn(fields, data):
    """The panels and the caption of a study that has a figure of its own, and of another none."""
    if fields["kind"] == "sharpness_bounds":
        return [], ""
    figure = part(fields, "figure")
    return figure.draw(data).axes, figure.caption(data)


def whose(claim):
    """The parametrisation that a claim's name has, if any."""
    return next((name for name in PARAMETRISATIONS if name in claim.split("-")), None)


def test_there_are_thirteen():
    assert len(STUDIES) == 13


@pytest.mark.parametrize("parametrisation", PARAMETRISATIONS)
@pytest.mark.parametrize("name", STUDIES)
def test_one_parametrisation_is_measured_for_what_it_has(name, parametrisation):
    fields, data = smaller(name, parametrisations=[parametrisation])
    for claim, actual in measured(name, fields, data).items():
        if whose(claim) in (None, parametrisation):
            assert not isinstance(actual, str) or "parametrisation" not in actual
        else:
            assert actual == f"this configuration leaves out parametrisation {whose(claim)}"
    panels, caption = drawn(fields, data)
    assert panels or fields["kind"] == "sharpness_bounds"
    assert "nan" not in caption


def test_a_claim_about_another_parametrisation_says_so():
    fields, data = smaller("cracking-fig4", parametrisations=["sp"])
    actual = measured("cracking-fig4", fields, data)
    missing = "this configuration leaves out parametrisation mup"
    assert actual["first-matrix-trained-mup"] == missing
    assert isinstance(actual["second-matrix-trained-sp"], float)
    assert "spectral-most-mup-trained" not in actual


@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("name", STUDIES)
def test_fewer_sizes_or_depths_are_measured_for_what_they_have(name, number):
    along = {"size": ("sizes", SIZES), "depth": ("depths", DEPTHS)}
    field, positions = along[STUDIES[name]["along"]]
    everything = measured(name, *smaller(name))
    for first in range(len(positions) - number + 1):
        fields, data = smaller(name, **{field: list(positions[first : first + number])})
        assert list(measured(name, fields, data)) == list(everything)
        panels, _ = drawn(fields, data)
        assert all(np.isfinite(axes.get_ylim()).all() for axes in panels)
