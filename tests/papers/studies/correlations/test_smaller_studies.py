"""The studies of ensembles with less of everything: claims are measured of what there is."""

import importlib
import math
from functools import cache

import numpy as np
import pytest
from ensemble_arrays import configurations, ensemble

from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.ledger.statements import Study

KINDS = ("norm_correlation", "sharpness_bounds")
STUDIES = {name: fields for kind in KINDS for name, fields in configurations(kind).items()}
AXES = {"size": ("sizes", (1, 3, 10)), "depth": ("depths", (2, 3, 4))}
PARAMETRISATIONS = ("sp", "mup", "ntp")


@cache
def networks():
    return ensemble(PARAMETRISATIONS, depths=(2, 3, 4), sizes=(1, 3, 10), networks=12)


def part(fields, name):
    """A module of a study's kind."""
    return importlib.import_module(f"hessian_papers.studies.correlations.{fields['kind']}.{name}")


@cache
def smaller(name, field="", values=()):
    """A study's configuration with less of something, its data set, and what each claim measures.

    A text says why a claim is not measured; no value is NaN.
    """
    fields = STUDIES[name] | ({field: list(values)} if field else {})
    study, statements = part(fields, "study"), part(fields, "claims").statements
    data = study.correlation(study.Config(**fields), networks())
    actual = {}
    for entry in statements.entries(Study(name, fields), data):
        assert entry.problems() == []
        for measure in filter(None, (entry.measure_printed, entry.measure)):
            try:
                value = np.atleast_1d(measure())[0]
                assert not math.isnan(value), entry.id
            except NothingToMeasure as missing:
                value = str(missing)
                assert value.startswith("this configuration ")
        actual[entry.id.removeprefix(f"{name}/")] = value
    return fields, data, actual


def whose(claim):
    """The parametrisation that a claim's name has, if any."""
    return next((name for name in PARAMETRISATIONS if name in claim.split("-")), None)


def at(claim):
    """The size that a claim's name ends in, if it does."""
    end = claim.rsplit("-", 1)[-1]
    return int(end) if end.isdigit() else None


def test_there_are_fifteen():
    assert len(STUDIES) == 15


@pytest.mark.parametrize("parametrisation", PARAMETRISATIONS)
@pytest.mark.parametrize("name", STUDIES)
def test_one_parametrisation_is_measured_for_what_it_has(name, parametrisation):
    fields, data, measured = smaller(name, "parametrisations", (parametrisation,))
    for claim, actual in measured.items():
        if whose(claim) in (None, parametrisation):
            assert not isinstance(actual, str) or "parametrisation" not in actual
        else:
            assert actual == f"this configuration leaves out parametrisation {whose(claim)}"
    if fields["kind"] == "norm_correlation" and parametrisation == PARAMETRISATIONS[-1]:
        figure = part(fields, "figure")
        assert figure.draw(data).axes
        assert "nan" not in figure.caption(data)


@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("name", STUDIES)
def test_fewer_sizes_or_depths_are_measured_for_what_they_have(name, number):
    field, positions = AXES[STUDIES[name]["along"]]
    _, _, everything = smaller(name)
    for first in range(len(positions) - number + 1):
        chosen = positions[first : first + number]
        fields, data, measured = smaller(name, field, chosen)
        assert list(measured) == [claim for claim in everything if at(claim) in (None, *chosen)]
        if fields["kind"] == "norm_correlation" and first == 0:
            panels = part(fields, "figure").draw(data).axes
            assert all(np.isfinite(axes.get_ylim()).all() for axes in panels)
