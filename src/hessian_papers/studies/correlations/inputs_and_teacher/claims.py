"""The statements about inputs and teachers that D.3.3 of singh2026cracking leaves open."""

import itertools
from collections.abc import Iterator

import xarray as xr

from hessian_papers.ledger.bounds import NothingToMeasure, at_least
from hessian_papers.ledger.statements import Labels, Statements
from hessian_papers.ledger.verdicts import left_open, typically
from hessian_papers.studies.correlations.ensembles import TIMES, require_finished
from hessian_papers.studies.correlations.inputs_and_teacher.derived import (
    WHITE,
    drawn_inputs,
    lead_where_alike,
    said,
)

INITIALISATION = 'Appendix D.3.3, "Impact of Initialization"'
POSITIVE = at_least(0.0, "the sign; chance rarely puts the whole interval on one side of 0")
OURS = at_least(0.0, "the sign, for a paired difference", source="ours")
statements = Statements(values=TIMES).having(paper="singh2026cracking", book="beyond")


def _settings(data: xr.Dataset) -> Iterator[Labels]:
    axes = (data[name].values.tolist() for name in ("inputs", "scale", "time"))
    for inputs, scale, time in itertools.product(*axes):
        words = f"{said(inputs)}, teacher's scale {scale:g}"
        yield {"inputs": inputs, "scale": scale, "words": words, "time": time}


def _leads(data: xr.Dataset) -> xr.DataArray:
    """The lead of the alignment where matrices are alike, of networks that ended their training."""
    require_finished(data)
    return lead_where_alike(data)


@statements.statement(
    INITIALISATION,
    left_open,
    POSITIVE,
    each=_settings,
    shown=("words", "time"),
    name="alignment-leads-{inputs}-{scale}-{time}",
    otherwise="The argument has white inputs, the experiment 1024 samples, and the teacher's "
    "scale is not named.",
)
def alignment_leads_by_inputs(
    data: xr.Dataset, inputs: str, scale: float, time: str, **_: str
) -> xr.DataArray:
    """Where both matrices begin with similar entries, the sharpness correlates more with their
    alignment than with their norms: cases are inputs, teachers and times.

    Statistic: best r by an absolute alignment minus best r by a squared norm; interval: Student's t
    over teachers. Mean over the points at which the entries differ by a factor of at most 1.5.
    """
    return _leads(data.sel(inputs=inputs, scale=scale, time=time))


@statements.statement(
    f"{INITIALISATION}, beyond the paper", typically, OURS, over=["scale", "time"]
)
def white_inputs_raise_the_alignment(data: xr.Dataset) -> xr.DataArray:
    """White inputs raise the lead of the alignment over the norms.

    Statistic: that lead with white inputs minus that with the fewest samples, of the same networks,
    mean over the points of similar matrices; interval: Student's t over teachers.
    """
    leads = _leads(data)
    return leads.sel(inputs=WHITE) - leads.sel(inputs=drawn_inputs(data)[0])


@statements.statement(
    f"{INITIALISATION}, beyond the paper", typically, OURS, over=["inputs", "time"]
)
def large_teachers_raise_the_alignment(data: xr.Dataset) -> xr.DataArray:
    """A larger teacher raises the lead of the alignment over the norms.

    Statistic: that lead with the largest teacher minus that with the smallest, of the same
    networks, mean over the points of similar matrices; interval: Student's t over teachers.
    """
    if data.sizes["scale"] < 2:
        raise NothingToMeasure("this configuration has a single scale of the teacher")
    leads = _leads(data).sortby("scale")
    return leads.isel(scale=-1) - leads.isel(scale=0)
