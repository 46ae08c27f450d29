import numpy as np
import pytest

from hessian_papers import results
from hessian_papers.results import StudyArrays, stacked
from hessian_spectra.files import MissingResultError, write_arrays


def test_kinds_stand_once_where_all_spectra_of_a_stack_agree_on_them():
    rows = [
        {
            "eigenvalues": np.array([-1.0, 1.0, 3.0]),
            "kind": np.array(kinds),
            "cell": np.array([""] * 3),
        }
        for kinds in (["bulk", "bulk", "outlier"], ["bulk", "outlier", "bulk"])
    ]
    alike, different = stacked(rows[:1] * 2), stacked(rows)
    assert alike["kind"].shape == alike["cell"].shape == different["cell"].shape == (3,)
    assert different["kind"].shape == different["eigenvalues"].shape == (2, 3)
    chosen = [
        StudyArrays({"closed_form": arrays}).select("outlier") for arrays in (alike, different)
    ]
    assert [values.tolist() for values in chosen] == [[[3.0], [3.0]], [[3.0], [1.0]]]
    numeric = StudyArrays({"closed_form": alike}).select("bulk", of=np.arange(3.0)[None])
    assert numeric.tolist() == [[0.0, 1.0]]


def test_an_array_that_no_side_has_names_all_files(tmp_path):
    for side in results.SIDES[:2]:
        write_arrays(tmp_path / f"{side}.npz", {"a": np.ones(1)})
    offered = results.sides_of({"width": 3})
    reading = StudyArrays.read(tmp_path, offered)
    first, second = (tmp_path / f"{side}.npz" for side in offered)
    message = f"^{first} or {second} holds no array 'b': it comes from an older version"
    with pytest.raises(MissingResultError, match=message):
        reading["b"]
    with pytest.raises(MissingResultError, match=message):
        StudyArrays.read(tmp_path)["b"]
    second.unlink()
    with pytest.raises(MissingResultError, match=f"^{second} is missing: run the stage"):
        StudyArrays.read(tmp_path, offered)["b"]


def test_a_missing_correlation_is_named_as_that(tmp_path):
    reading = StudyArrays.read(tmp_path, results.sides_of({"ensemble": "mine"}))
    for read in (lambda: reading["r"], lambda: reading.part("one", StudyArrays)["r"]):
        with pytest.raises(MissingResultError, match=r"/correlation\.npz is missing: run"):
            read()
