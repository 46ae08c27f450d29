"""The stage `survey` sees what no dependency tells: packages, and own files changed in place."""

import hashlib
import json
import os
import sys

import numpy as np
import pytest
import yaml

from hessian_papers import labelled, memory
from hessian_papers.data.base import Storage
from hessian_papers.memory import KNOWN
from hessian_papers.provenance import code_of, versions
from pipelines import folders, inputs, survey
from pipelines.survey import remove_left_over
from tests.pipelines.workspace import ROOT, smallest

OWN = "leaves.npz"
FIGURES = "reports/figures/singh2026cracking"


def write_images(path, value, labels=(0, 1, 2)):
    """Own images of one grey value: the size of the file is always the same."""
    images = np.full((len(labels), 4, 4, 1), value, np.uint8)
    np.savez(path, images=images, labels=np.array(labels))


@pytest.fixture
def params():
    return yaml.load((ROOT / "params.yaml").read_text("utf-8"), yaml.CSafeLoader)


@pytest.fixture(scope="module")
def workspace(make_workspace):
    """A small copy of the project with images of one's own, all of it made."""
    workspace = smallest(make_workspace("survey"), "images")
    settings = workspace.path / "conf" / "data" / "images.yaml"
    settings.write_text(settings.read_text().replace("[digits]", f"[{workspace.path}/{OWN}]"))
    write_images(workspace.path / OWN, 1)
    workspace.repro("paper@singh2026cracking")
    return workspace


def test_figures_of_a_study_that_is_no_more_are_removed(tmp_path):
    own = tmp_path / "a-paper"
    for study in ("gone", "there"):
        (own / study).mkdir(parents=True)
        (own / study / "figure.json").write_text("{}")
        (own / f"{study}.png").write_bytes(b"")
    (own / "notes.txt").write_text("a user's own")
    assert remove_left_over(tmp_path, {"there": {}}) == ["gone"]
    assert sorted(file.name for file in own.iterdir()) == ["notes.txt", "there", "there.png"]
    assert remove_left_over(tmp_path, {"there": {}}) == []


@pytest.fixture
def looks(tmp_path, monkeypatch):
    """Runs `survey` in a small project, and says whether it looked at anything anew."""
    for name in ("src", "conf"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text("a")
    (tmp_path / "params.yaml").write_text("studies: {}\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(survey, "FOLDERS", (tmp_path / "src", tmp_path / "conf"))
    monkeypatch.setattr(sys, "path", [str(tmp_path / "packages"), *sys.path])
    monkeypatch.setattr("hessian_papers.memory.SETTLED_SECONDS", -1.0)
    looked, own = [], []

    def texts(params):
        looked.append(params)
        return {"a.json": "1", "b/c.json": "2"}, bool(own)

    monkeypatch.setattr(inputs, "texts", texts)

    def run(**changes):
        own.extend(changes)
        before = len(looked)
        survey.survey()
        assert (folders.INPUTS / "b" / "c.json").read_text() == "2"
        return len(looked) > before

    return run


def test_what_has_not_changed_is_not_looked_at_again(looks, tmp_path):
    assert [looks(), looks()] == [True, False]
    for name in ("src/file", "conf/file", "params.yaml"):
        times = (tmp_path / name).stat()
        (tmp_path / name).write_text((tmp_path / name).read_text()[::-1])
        os.utime(tmp_path / name, ns=(times.st_atime_ns, times.st_mtime_ns))
        (tmp_path / "params.yaml").write_text("studies: {}\n")
        assert [looks(), looks()] == [True, False]
    (tmp_path / "src" / "another").touch()
    assert [looks(), looks()] == [True, False]
    (tmp_path / "packages" / "scipy-99.0.dist-info").mkdir(parents=True)
    assert [looks(), looks()] == [True, False]


def test_what_a_stage_depends_on_is_put_right_without_a_look(looks):
    looks()
    (folders.INPUTS / "b" / "c.json").write_text("damaged")
    (folders.INPUTS / "a.json").unlink()
    (folders.INPUTS / "left.json").touch()
    assert not looks()
    assert sorted(file.name for file in folders.INPUTS.rglob("*.json")) == ["a.json", "c.json"]


def test_own_files_are_looked_at_each_time(looks):
    assert [looks(own=True), looks()] == [True, True]


@pytest.mark.parametrize("content", ["", "{}", "0\n{}"])
def test_a_damaged_memory_costs_a_look(looks, content):
    looks()
    KNOWN.write_text(content)
    memory._memory.cache_clear()
    assert looks()


def prepared(workspace):
    folder = workspace.path / "results" / "data"
    return {path.stem: labelled.read(path) for path in sorted(folder.glob("*.nc"))}


@pytest.mark.pipeline
@pytest.mark.xdist_group("survey")
def test_own_images_that_are_rewritten_in_place_are_noticed(workspace):
    file = workspace.path / OWN
    times = file.stat()
    before = prepared(workspace)
    assert before["images"]["images:leaves"].max() == 1
    write_images(file, 2)
    # As careless tools do: size and time of change are those of the old file.
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert file.stat().st_size == times.st_size
    assert workspace.repro("prepare") == ["survey", "prepare"]
    after = prepared(workspace)
    assert after["images"]["images:leaves"].min() == 2
    assert after["wedge"].identical(before["wedge"])
    # Of other data no number is computed again.
    assert workspace.repro("paper@singh2026cracking") == ["survey"]
    assert "survey" in workspace.run("dvc", "status").stdout


@pytest.mark.pipeline
@pytest.mark.xdist_group("survey")
def test_another_version_of_a_package_runs_again_what_runs_on_it(workspace, tmp_path, monkeypatch):
    folder = tmp_path / "scipy-99.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: scipy\nVersion: 99.0\n")
    workspace.repro("paper@singh2026cracking")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    # The closed form and brute force use scipy; the data and, on it, the drawing do not change.
    stages = workspace.repro("paper@singh2026cracking")
    assert {"survey", "closed_form@cracking-fig1", "numerics@cracking-fig1"} <= {*stages}
    assert "prepare" not in stages
    record = json.loads(
        (workspace.path / "reports/figures/singh2026cracking/cracking-fig1/figure.json").read_text(
            "utf-8"
        )
    )
    assert record["provenance"]["facts"]["versions"]["scipy"] == "99.0"


def test_another_network_in_the_folder_that_trainings_start_from_is_noticed(tmp_path, params):
    folder, weights = tmp_path / "inputs", tmp_path / "own" / "model.safetensors"
    weights.parent.mkdir()
    params["networks"]["gpt2"]["start"] = str(weights.parent)

    def written(content):
        weights.write_bytes(content)
        inputs.write(folder, params)
        record = json.loads((folder / "gpt2" / "computes.json").read_text("utf-8"))
        return record["files"], (folder / "gpt2-arms" / "computes.json").read_bytes()

    (before, others), (after, same) = written(b"one"), written(b"two")
    assert [*before] == [*after] == [str(weights)]
    assert before != after
    assert others == same


def test_all_versions_are_known_without_an_import():
    known = versions(["numpy", "sklearn", "yaml", "no_such_package"])
    assert {*known} == {"python", "numpy", "sklearn", "yaml"}
    assert known["numpy"] == np.__version__


def test_a_package_behind_an_optional_import_counts():
    packages = code_of("hessian_papers.data.images").packages
    assert {"sklearn", "torchvision", "torch", "numpy"} <= packages
    assert not {"os", "hessian_spectra", "tqdm", "jaxtyping", "pipeline"} & packages
    # There the module is named at run time only.
    assert "curvlinops" in code_of("hessian_spectra.curvature.curvlinops_operators").packages


def test_another_version_is_another_fingerprint_and_the_code_the_same(monkeypatch):
    def looked_up():
        actual = code_of("hessian_spectra.curvature.lanczos")
        return actual.digest, actual.fingerprint

    digest, fingerprint = looked_up()
    monkeypatch.setattr("hessian_papers.provenance._version", lambda name: "0.1")
    assert looked_up()[0] == digest
    assert looked_up()[1] != fingerprint


def test_a_vocabulary_and_tokens_are_own_files_as_well(tmp_path):
    for name in ("gpt2/vocab.json", "gpt2/merges.txt", "openwebtext/ab/train.uint16", "other.npz"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "openwebtext" / "downloads").mkdir()
    (tmp_path / "openwebtext" / "downloads" / "part").touch()
    storage = Storage(tmp_path, download=False)

    def named(**settings):
        return {path.relative_to(tmp_path).as_posix() for path in storage.own_files(settings)}

    assert named(sources=["books.txt"], tokenizer="gpt2") == {
        *("books.txt", "gpt2/vocab.json", "gpt2/merges.txt")
    }
    assert named(sources=["openwebtext"], tokenizer="bpe") == {"openwebtext/ab/train.uint16"}
    assert named(sources=["digits", "mnist"], kind="gpt2") == set()


def test_own_files_may_stand_in_a_folder_that_is_called_like_a_number(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "2024").mkdir()
    (tmp_path / "2024" / "books.txt").write_text("text")
    settings = {"data": {"root": 2024}}
    assert {*inputs.own_files(settings, {"sources": ["books.txt"]})} == {"2024/books.txt"}


def test_of_each_study_it_is_known_what_its_numbers_are_made_of(params):
    networks = inputs.sources(params, "cracking-fig5")
    assert {"torch", "transformers", "tokenizers", "numpy"} <= {*networks["versions"]}
    assert "files" not in networks
    assert "transformers" not in inputs.sources(params, "cracking-fig1")["versions"]


def test_own_files_of_a_study_stand_beside_its_versions(params, tmp_path):
    path = tmp_path / OWN
    write_images(path, 1)
    params["data"]["sets"]["images"]["sources"] = [str(path)]
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert inputs.sources(params, "data-fig3")["files"] == {str(path): digest}
    assert "files" not in inputs.sources(params, "data-fig1a")
