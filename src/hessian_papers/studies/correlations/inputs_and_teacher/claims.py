"""The statements about inputs and teachers that D.3.3 of singh2026cracking leaves open."""

import itertools
from collections.abc import Iterator

import xarray as xr

from hessian_papers.ledger.bounds import at_least, at_most, needs
from hessian_papers.ledger.statements import Labels, Statements
from hessian_papers.studies.correlations.ensembles import of_the_time, require_finished
from hessian_papers.studies.correlations.inputs_and_teacher.derived import (
    WHITE,
    drawn_inputs,
    lead_where_alike,
    said,
)

INITIALISATION = 'Appendix D.3.3, "Impact of Initialization"'
POSITIVE = at_least(0.0, "the sign; chance rarely puts the whole interval on one side of 0")
NEGATIVE = at_most(0.0, "the sign", source="ours")
OURS = at_least(0.0, "the sign, for a paired difference", source="ours")
statements = Statements().having(paper="singh2026cracking", book="beyond")


def _settings(data: xr.Dataset) -> Iterator[Labels]:
    for inputs, scale in itertools.product(data["inputs"].values, data["scale"].values):
        words = f"{said(inputs)}, teacher's scale {scale:g}"
        yield {"inputs": str(inputs), "scale": float(scale), "words": words}


def _trained(data: xr.Dataset) -> Iterator[Labels]:
    return _settings(data) if "trained" in data["time"] else iter(())


def _at_first(data: xr.Dataset) -> xr.DataArray:
    """The lead of the alignment at initialisation, where matrices are alike."""
    return lead_where_alike(data.sel(time="initialisation"))


@statements.left_open(
    INITIALISATION,
    POSITIVE,
    each=_settings,
    shown=("words",),
    name="alignment-leads-{inputs}-{scale}",
)
def alignment_leads_by_inputs(
    data: xr.Dataset, inputs: str, scale: float, **_: str
) -> xr.DataArray:
    """At initialisation, where both matrices have similar entries, the sharpness correlates more
    with their alignment than with their norms: cases are inputs and teachers.

    Statistic: best r by an absolute alignment minus best r by a squared norm; interval: Student's t
    over teachers. Mean over the points at which the entries differ by a factor of at most 1.5.

    Remark: The argument has white inputs, the experiment 1024 samples, and the teacher's scale is
    not named.
    """
    return _at_first(data.sel(inputs=inputs, scale=scale))


# A run of narrower networks (width 25) had shown this before it was put into words, and is no
# evidence of it. The recorded run, at the paper's width, has draws of its own, and tests it.
@statements.everywhere(
    f"{INITIALISATION}, beyond the paper",
    NEGATIVE,
    each=_trained,
    shown=("words",),
    name="norms-lead-after-training-{inputs}-{scale}",
)
def norms_lead_after_training(
    data: xr.Dataset, inputs: str, scale: float, **_: str
) -> xr.DataArray:
    """After training the norms lead the alignment, whatever inputs and teacher are. The product of
    both matrices is then nearly the teacher's, the same in all networks.

    Statistic: best r by an absolute alignment minus best r by a squared norm, mean over the points
    of similar matrices at initialisation; interval: Student's t over teachers.
    """
    trained = data.sel(inputs=inputs, scale=scale, time="trained")
    require_finished(trained)
    return lead_where_alike(of_the_time(trained))


@statements.typically(f"{INITIALISATION}, beyond the paper", OURS, over=["scale"])
def white_inputs_raise_the_alignment(data: xr.Dataset) -> xr.DataArray:
    """At initialisation, white inputs raise the lead of the alignment over the norms.

    Statistic: that lead with white inputs minus that with the fewest samples, of the same networks,
    mean over the points of similar matrices; interval: Student's t over teachers.
    """
    leads = _at_first(data)
    return leads.sel(inputs=WHITE) - leads.sel(inputs=drawn_inputs(data)[0])


@statements.typically(f"{INITIALISATION}, beyond the paper", OURS, over=["inputs"])
def large_teachers_raise_the_alignment(data: xr.Dataset) -> xr.DataArray:
    """At initialisation, a larger teacher raises the lead of the alignment over the norms.

    Statistic: that lead with the largest teacher minus that with the smallest, of the same
    networks, mean over the points of similar matrices; interval: Student's t over teachers.
    """
    needs(data.sizes["scale"] >= 2, "this configuration has a single scale of the teacher")
    leads = _at_first(data).sortby("scale")
    return leads.isel(scale=-1) - leads.isel(scale=0)
