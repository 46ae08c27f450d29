"""The figures of recorded runs: what their captions name is drawn, of their own numbers."""

import numpy as np
import pytest
import yaml

from hessian_papers import labelled
from hessian_papers.drawing import curves
from pipelines import schema
from pipelines.figures import controls, painted
from pipelines.folders import EVIDENCE
from tests.papers.studies.layerwise.pictures import require_readable
from tests.pipelines.workspace import ROOT

STUDIES = yaml.load((ROOT / "params.yaml").read_text("utf-8"), yaml.CSafeLoader)["studies"]


def smallest_runs():
    """The smallest recorded run of each kind that draws a figure, by the kind's name."""
    runs = {}
    for path in sorted(
        (ROOT / EVIDENCE).glob(f"*/{labelled.WHOLE}"), key=lambda p: -p.stat().st_size
    ):
        config = STUDIES.get(path.parent.name, {})
        if config:
            runs[config["kind"]] = (config, path)
    return runs


RUNS = smallest_runs()


@pytest.fixture(scope="module", params=sorted(RUNS))
def run(request):
    """A kind's module of figures, and the data set of its run."""
    config, path = RUNS[request.param]
    return schema.figure_of(config), labelled.read(path, "")


def pictures(module, data):
    return [pair for pair in (painted(module, data), controls(module, data)) if pair is not None]


def disturbed(data):
    """The data set with each positive number changed by a factor, and so some orders as well."""
    draws = np.random.default_rng(0)
    floats = [name for name, values in data.data_vars.items() if values.dtype.kind == "f"]
    return data.assign(
        {name: data[name] * 4.0 ** draws.uniform(-1, 1, data[name].shape) for name in floats}
    )


def test_what_a_caption_names_is_drawn(run):
    for figure, text in pictures(*run):
        require_readable(figure, text)


def test_each_panel_draws_the_numbers_of_its_own_run(run):
    module, data = run
    for (figure, _), (other, _) in zip(
        pictures(module, data), pictures(module, disturbed(data)), strict=True
    ):
        for panel, changed in zip(curves.series(figure), curves.series(other), strict=True):
            assert panel != changed, panel["title"]
            assert panel["title"] or panel["x"] or panel["y"]
