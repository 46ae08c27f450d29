"""The statements of the catalogue of theorems: a row each, with the cases of all its parts.

A theorem that is a part of another one is a case of that one's row, which keeps its own sentence
and print; each is a case for each paper that has it.

All texts come from :mod:`hessian_papers.theorems`, by the data set of the study.
"""

from collections.abc import Callable, Iterator

import numpy as np
import xarray as xr

from hessian_papers.ledger.bounds import Bound, at_least, needs, within
from hessian_papers.ledger.conditions import ANY_STATE
from hessian_papers.ledger.statements import Cases, Labels, Statements

# A case's name ends with its paper, where a statement is one of several papers.
SUFFIXES = {"singh2024closed": "-2024", "singh2024poster": "-poster"}
# What a statement is cited by that other studies measure as well, or that says what is needed.
CITED = {
    "linear-rank-one": "rank-one-at-the-solution",
    "labels-loss": "sharpness-from-labels-at-least-squares",
    "bias-assumptions": "each-assumption-of-bias-is-needed",
    "decorrelation": "decorrelation-is-needed",
}

statements = Statements().having(
    paper="{paper}", id="{cited}", name="{name}{suffix}", shown=("paper", "place")
)


def _cases(*, needed: bool) -> Cases:
    def cases(data: xr.Dataset) -> Iterator[Labels]:
        chosen = data["theorem"][data["needed"] == needed]
        texts = data.drop_dims(["form", "instance"]).sel(theorem=chosen)
        table = texts.to_dataframe(["theorem", "paper"]).reset_index()
        table = table.rename(columns={"printed": "in_print"})
        rows = table[table["place"] != ""].to_dict("records")
        # A statement has the sentence of its first case, so parts come last.
        for row in sorted(rows, key=lambda row: row["of"] != ""):
            name, suffix = row["theorem"], SUFFIXES.get(row["paper"], "")
            of = row["of"] or name
            yield {**row, "name": name, "cited": CITED.get(of, of), "suffix": suffix}

    return cases


def _bound(relation: Callable[..., Bound]) -> Callable[[Labels], Bound]:
    return lambda case: relation(case["tolerance"], case["reason"], source=case["source"])


def errors(data: xr.Dataset, theorem: str, form: str = "corrected") -> np.ndarray:
    """The errors of a theorem, one for each instance that it is about.

    Args:
        data: of the study.
        theorem: its name.
        form: ``corrected``, or what is ``printed`` of an erratum.
    """
    chosen = data.sel(theorem=theorem, form=form)
    return np.asarray(chosen["error"].values[: int(chosen["instances"])])


def worst(values: np.ndarray) -> float:
    """The largest of some errors; NaN if one of them is.

    Raises:
        NothingToMeasure: there are none: a statement about no instance would hold without being
            looked at.
    """
    needs(len(values), "this configuration draws no instance of that kind")
    return float(np.max(values))


@statements.identity(
    "{place}",
    _bound(within),
    each=_cases(needed=False),
    book=lambda case: "beyond" if case["ours"] else None,
)
def identity(data: xr.Dataset, name: str, printed: bool = False, **case: object) -> float:
    """{statement}

    In print: {in_print}

    Remark: {remark}
    """
    return worst(errors(data, name, "printed" if printed else "corrected"))


@statements.beyond.always("{place}", _bound(at_least), each=_cases(needed=True), state=ANY_STATE)
def assumption(data: xr.Dataset, name: str, **case: object) -> float:
    """{statement}"""
    return -worst(-errors(data, name))
