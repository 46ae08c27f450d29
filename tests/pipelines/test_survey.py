"""The stage `survey` sees what no dependency tells: packages, and own files changed in place."""

import hashlib
import json
import os

import numpy as np
import pytest
import yaml

from hessian_papers import labelled
from hessian_papers.data.base import Storage
from hessian_papers.provenance import code_of, versions
from pipelines import files, inputs
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


@pytest.fixture
def read_files(tmp_path, monkeypatch):
    """The files whose content was read, and a clock that shows when they are settled."""
    monkeypatch.setattr(files, "KNOWN", tmp_path / "kept" / "digests.json")
    read = []

    def file_digest(file, name, take=hashlib.file_digest):
        read.append(os.path.basename(file.name))
        return take(file, name)

    monkeypatch.setattr(files.hashlib, "file_digest", file_digest)
    return read


def test_a_file_is_read_again_only_when_it_has_changed(tmp_path, read_files, monkeypatch):
    first, second, lost = (tmp_path / name for name in ("first", "second", "lost"))
    first.write_bytes(b"one")
    second.write_bytes(b"two")
    monkeypatch.setattr(files, "SETTLED_SECONDS", -1.0)
    sums = files.digests([first, second, lost])
    assert sums[str(first)] == hashlib.sha256(b"one").hexdigest()
    assert sums[str(lost)] == files.MISSING
    assert read_files == ["first", "second"]
    assert files.digests([first]) | files.digests([second, lost]) == sums
    assert read_files == ["first", "second"]
    times = first.stat()
    first.write_bytes(b"six")
    os.utime(first, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert files.digests([first, second])[str(first)] == hashlib.sha256(b"six").hexdigest()
    assert read_files == ["first", "second", "first"]


def test_a_file_that_has_just_changed_is_read_each_time(tmp_path, read_files):
    """Within one tick of the clock it may change again, and nothing but its content tells."""
    (tmp_path / "new").write_bytes(b"one")
    for _ in range(2):
        files.digests([tmp_path / "new"])
    assert read_files == ["new", "new"]


@pytest.mark.parametrize("content", ["", "{", "[1]"])
def test_damaged_notes_about_files_cost_a_reading(tmp_path, read_files, content):
    (tmp_path / "own").write_bytes(b"one")
    files.KNOWN.parent.mkdir()
    files.KNOWN.write_text(content)
    digest = hashlib.sha256(b"one").hexdigest()
    assert files.digests([tmp_path / "own"]) == {str(tmp_path / "own"): digest}


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


def test_own_files_of_a_study_stand_beside_its_versions(params, tmp_path, monkeypatch):
    monkeypatch.setattr(files, "KNOWN", tmp_path / "digests.json")
    path = tmp_path / OWN
    write_images(path, 1)
    params["data"]["sets"]["images"]["sources"] = [str(path)]
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert inputs.sources(params, "data-fig3")["files"] == {str(path): digest}
    assert "files" not in inputs.sources(params, "data-fig1a")
