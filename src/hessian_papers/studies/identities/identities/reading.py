"""What claims and figure read from the identities: the theorems' texts, and their errors."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.results import StudyArrays


@dataclass(frozen=True, kw_only=True)
class Row:
    """A theorem of the catalogue, see :class:`hessian_papers.theorems.Theorem`, with its errors.

    Args:
        errors: one for each instance that it is about.
        printed_errors: those of what is in print; ``None`` if nothing is wrong there.
    """

    name: str
    label: str
    statement: str
    printed: str
    remark: str
    source: str
    reason: str
    tolerance: float
    needed: bool
    places: Mapping[str, str]
    errors: np.ndarray
    printed_errors: np.ndarray | None


class Reading(StudyArrays):
    """The catalogue, row by row."""

    @cached_property
    def rows(self) -> dict[str, Row]:
        """The theorems by name, in the order of the catalogue."""
        exact = self.closed_form
        papers, places = exact["paper"].tolist(), exact["place"].tolist()
        of_each = {name: exact[name].tolist() for name in exact.keys() - {"paper", "place"}}
        rows = {}
        for k, name in enumerate(of_each["name"]):
            placed = zip(papers, places[k], strict=True)
            printed = of_each["printed"][k]
            rows[name] = Row(
                **{field: values[k] for field, values in of_each.items()},
                places={paper: place for paper, place in placed if place},
                errors=self.numerics[f"error/{name}"],
                printed_errors=self.numerics[f"printed_error/{name}"] if printed else None,
            )
        return rows

    @property
    def identities(self) -> list[Row]:
        """Theorems that are right in print."""
        return [row for row in self.rows.values() if not row.printed and not row.needed]

    @property
    def errata(self) -> list[Row]:
        """Theorems that are not."""
        return [row for row in self.rows.values() if row.printed]


def worst(errors: np.ndarray | None) -> float:
    """The largest of some errors; NaN if one of them is.

    Raises:
        NothingToMeasure: there are none: a statement about no instance would hold without being
            looked at.
    """
    if errors is None or len(errors) == 0:
        raise NothingToMeasure("this configuration draws no instance of that kind")
    return float(np.max(errors))
