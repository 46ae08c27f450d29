"""The study of the identities: the texts and errors of the catalogue, as a data set."""

import numpy as np
from identities_arrays import both_sides, config

from hessian_papers.studies.identities.identities.claims import errors
from hessian_papers.theorems import THEOREMS


def test_the_catalogue_comes_back_from_the_data_set():
    data = both_sides()["closed_form"]
    assert data["theorem"].values.tolist() == list(THEOREMS)
    for name, theorem in THEOREMS.items():
        row = data.sel(theorem=name)
        for field in (
            "label",
            "of",
            "ours",
            "statement",
            "printed",
            "remark",
            "source",
            "tolerance",
        ):
            assert row[field] == getattr(theorem, field)
        places = zip(row["paper"].values, row["place"].values, strict=True)
        assert {paper: place for paper, place in places if place} == theorem.places
        assert row["needed"] == (theorem.assumption is not None)


def test_errors_are_those_of_single_instances():
    data = both_sides()["numerics"]
    for form in ("corrected", "printed"):
        for name, theorem in THEOREMS.items():
            drawn = errors(data, name, form)
            assert np.isfinite(drawn).all()
            assert bool(len(drawn)) == (form == "corrected" or bool(theorem.printed))
    right, printed = (data["instances"].sel(form=form) for form in ("corrected", "printed"))
    assert right.sel(theorem="linear-spectrum") == 13 + config().instances
    zero, aligned = {"theorem": "linear-zero-vector"}, {"theorem": "balanced-alignment"}
    assert right.sel(zero) == printed.sel(zero) < 13
    assert right.sel(aligned) > printed.sel(aligned)
    assert right.sel(theorem="bias-assumptions") == 5
