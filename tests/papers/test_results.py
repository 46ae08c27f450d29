"""Which sides a study has, and records that lack a field."""

import pytest

from hessian_papers.results import SIDES, select_fields, sides_of
from hessian_spectra.files import DamagedFileError
from pipelines import schema


def test_a_study_of_an_ensemble_has_the_side_of_its_family():
    families = {kind: place.split(".")[1] for kind, place in schema.kinds("studies").items()}
    for kind, family in families.items():
        assert sides_of({"kind": kind}) == ("closed_form", "numerics")
        (side,) = sides_of({"kind": kind, "ensemble": "mine"})
        assert side in SIDES or family not in ("correlations", "gpt2", "layerwise", "pac_bayes")
    assert sides_of({"kind": "norm_correlation", "ensemble": "mine"}) == ("correlation",)


@pytest.mark.parametrize("record", [{"a": 1}, ["a", "b"], None])
def test_a_record_without_a_field_is_refused(record):
    with pytest.raises(DamagedFileError, match=r"^here: expected .*; run that$"):
        select_fields(record, ["a", "b"], "here", "that")
