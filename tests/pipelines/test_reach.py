"""The recorded code of a stage holds all that the stage is seen to run."""

import json
import sys
import threading
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from hessian_papers import labelled
from hessian_papers.provenance import CARRIERS
from pipelines import inputs
from pipelines.yaml_files import read_yaml
from tests.pipelines.overrides import Override, Sampler, compose
from tests.pipelines.workspace import ROOT

SOURCES = (ROOT / "src", ROOT)
# Of networks, data and posteriors one each, and what makes it quicker.
STUDIES = {
    "cracking-fig4": [],
    "data-fig1c": [],
    "dissecting-fig2": ["networks.digit-classifiers.networks=[F-6]"],
    "dissecting-table10": [],
}


def place_of(file):
    """The name under which the project's code is recorded; ``None`` of other code."""
    path = Path(file)
    root = next((source for source in SOURCES if path.is_relative_to(source)), None)
    place = path.relative_to(root).as_posix() if root else ""
    ours = place.startswith(("hessian_spectra/", "hessian_papers/", "pipelines/"))
    return place if ours else None


def is_loading(frame):
    """Whether a module is being loaded, which runs what it has on its first level."""
    while frame is not None and frame.f_code.co_name != "<module>":
        frame = frame.f_back
    return frame is not None and place_of(frame.f_code.co_filename) is not None


@contextmanager
def seen():
    """The project's files of which a function is called in the block, in whatever thread."""
    actual, known = set(), set()

    def called(frame, event, argument):
        code = frame.f_code
        if code not in known and not is_loading(frame):
            known.add(code)
            actual.add(place_of(code.co_filename))

    before = sys.gettrace()
    sys.settrace(called)
    threading.settrace(called)
    try:
        yield actual
    finally:
        sys.settrace(before)
        threading.settrace(before)
        actual.discard(None)


def unrecorded(files, *recorded):
    """The files that are neither recorded nor carry values."""
    carriers = tuple(f"{name.replace('.', '/')}{end}" for name in CARRIERS for end in ("/", ".py"))
    return sorted(file for file in files.difference(*recorded) if not file.startswith(carriers))


@pytest.fixture(scope="module")
def code(tmp_path_factory):
    """The recorded code of a stage, by the stage's file."""
    folder = tmp_path_factory.mktemp("inputs")
    inputs.write(folder, read_yaml(ROOT / "params.yaml"))

    def recorded(name):
        return {*json.loads((folder / f"{name}.json").read_text("utf-8"))["code"]}

    return recorded


@pytest.fixture(scope="module")
def sampler():
    with closing(Sampler(compose())) as actual:
        yield actual


@pytest.mark.parametrize("study", STUDIES)
def test_the_code_that_is_run_for_a_study_is_recorded(study, sampler, code):
    entries = sampler._entries(Override(study, tuple(STUDIES[study])))
    config, module = entries["studies"][1], sampler._module(entries, "study")
    if "data" in entries:
        with seen() as files:
            sampler._data(entries)
        assert not unrecorded(files, code("prepare"))
    if "networks" in entries:
        name, networks = entries["networks"]
        of = [networks, *([entries["data"][1]] if "data" in entries else [])]
        with seen() as files:
            sampler._once(lambda: sampler._networks(entries), "networks", *of)
        assert not unrecorded(files, code(f"{name}/computes"))
    with seen() as files:
        sides = sampler._sides(entries, module)
    assert f"{module.__name__.replace('.', '/')}.py" in files
    assert not unrecorded(files, code(f"{study}/computes"))
    data = labelled.joined([*sides.values()])
    with seen() as files:
        problems = [*sampler._figure(entries, data), *sampler._claims(entries, data)]
    assert not problems
    assert not unrecorded(files, code(f"{config.paper}/paper"))
