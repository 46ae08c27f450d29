"""What claims and figure read from the identities: every check, on every instance."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.results import StudyArrays
from hessian_papers.studies.identities.identities.attention import checks as attention
from hessian_papers.studies.identities.identities.bias import checks as bias
from hessian_papers.studies.identities.identities.comparison import (
    Check,
    Compared,
    Error,
    Where,
    relative,
    same,
)
from hessian_papers.studies.identities.identities.deep import checks as deep
from hessian_papers.studies.identities.identities.linear import checks as linear
from hessian_papers.studies.identities.identities.relu import checks as relu
from hessian_papers.studies.identities.identities.terms import checks as terms
from hessian_papers.studies.identities.identities.wide import checks as wide

STATEMENTS = yaml.safe_load(Path(__file__).with_name("statements.yaml").read_text("utf-8"))

# Our Hessians against another library's, where that one was asked.
_SECOND_LIBRARY = Check(
    lambda one: relative(one.measured("hessian"), one.measured("second_hessian")),
    where=lambda one: len(one.measured("second_hessian")) > 0,
)
EVERY_THEOREM = ""
_OF_THEOREMS: dict[str, dict[str, Check]] = {
    **linear.CHECKS,
    **relu.CHECKS,
    **terms.CHECKS,
    **bias.CHECKS,
    **wide.CHECKS,
    **attention.CHECKS,
    **deep.CHECKS,
    EVERY_THEOREM: {"second-library": _SECOND_LIBRARY},
}
# What is compared, by name, in the order in which it is drawn, and on whose instances.
CHECKS = {name: check for checks in _OF_THEOREMS.values() for name, check in checks.items()}
_THEOREM = {name: theorem for theorem, checks in _OF_THEOREMS.items() for name in checks}
ERRATA = {name: check for name, check in CHECKS.items() if check.printed is not None}
IDENTITIES = {name: check for name, check in CHECKS.items() if check.printed is None}


class Reading(StudyArrays):
    """Both sides of the study, instance by instance."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._parts: dict[tuple[str, str], list[np.ndarray]] = {}

    def _part(self, side: str, theorem: str, number: int, quantity: str) -> np.ndarray:
        """The numbers of one instance, flat; see ``theorem.ragged``."""
        name = f"{theorem}.{quantity}"
        if (side, name) not in self._parts:
            ends = np.cumsum(self.side(side)[f"{name}.counts"])
            self._parts[side, name] = np.split(self.side(side)[name], ends[:-1])
        return self._parts[side, name][number]

    def instances(self, theorem: str = EVERY_THEOREM) -> list[Compared]:
        """The instances of a theorem, or of all of them."""
        losses = [name for name in self.numerics if name.endswith(".loss")]
        return [
            Compared(*(partial(self._part, side, name, k) for side in ("closed_form", "numerics")))
            for name in sorted(loss.removesuffix(".loss") for loss in losses)
            if theorem in (EVERY_THEOREM, name)
            for k in range(len(self.numerics[f"{name}.loss"]))
        ]

    def _measure(self, name: str, error: Error, where: Where) -> np.ndarray:
        return np.array([error(one) for one in self.instances(_THEOREM[name]) if where(one)])

    def errors(self, name: str) -> np.ndarray:
        """The errors of a check, one for each instance that its statement is about."""
        return self._measure(name, CHECKS[name].error, CHECKS[name].where)

    def printed_errors(self, name: str) -> np.ndarray:
        """Those of what is in print, for an erratum."""
        check = CHECKS[name]
        assert check.printed is not None
        return self._measure(name, check.printed, check.printed_where or check.where)

    @staticmethod
    def worst(errors: np.ndarray) -> float:
        """The largest of some errors; NaN if one of them is.

        A statement about no instance would hold without being looked at.
        """
        if len(errors) == 0:
            raise NothingToMeasure("this configuration draws no instance of that kind")
        return float(np.max(errors))

    def without_assumption(self) -> Mapping[int, float]:
        """The largest error of Theorem B.1's spectrum, for each assumption that is broken alone."""
        found: dict[int, list[float]] = {}
        for one in self.instances("dropped"):
            error = same("spectrum", "eigenvalues")(one)
            found.setdefault(int(one.number("dropped")), []).append(error)
        return {which: self.worst(np.array(errors)) for which, errors in sorted(found.items())}
