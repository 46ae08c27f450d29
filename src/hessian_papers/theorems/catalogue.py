"""The catalogue: of each theorem what the papers say, how it is measured, and what is in print.

A theorem is a function. It takes an instance of the family that its first argument is annotated
with and returns the error of the statement, its docstring, from brute force; ``None`` for an
instance that it is not about. With ``printed=True`` it returns the error of what is in print, where
that is wrong. What is in print, a remark on the difference and what the error is taken from follow
the statement, each behind its heading of :data:`HEADINGS`:

    @theorem("poster: outliers", poster="key result, linear network")
    def linear_poster(net: Linear, printed: bool = False) -> Error:
        \"\"\"The last square under the root is $4(2⟨w, v⟩σ^2 - yx)^2$.

        In print: $4(2⟨w, v⟩ - yx)^2$
        Remark: The two agree only for $σ^2 = 1$.
        \"\"\"

What a paper says in one sentence may take several theorems: equations on the way, and what is
wrong about them. These are parts ``of`` one, whose statement the ledger has.

Tests and ledger read the same list: the tests plant mistakes in what is measured, too, and draw
other instances than the ledger's study.
"""

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_type_hints

from hessian_papers.theorems.errors import worst
from hessian_papers.theorems.instances import FAMILIES, Instance
from hessian_spectra.closed_form.instances import Draw

Error = float | None
ErrorFunction = Callable[..., Error]
Instances = Mapping[type[Instance], Sequence[Instance]]

# The project's rule for float64; observed errors are some thousand times smaller.
EXACT = 1e-10
# At a double root, round-off of 1e-16 under a root or an arccos moves the result by 1e-8.
ROOT = 1e-7
# What fails has to fail by more than any round-off.
FAILS = 0.01
# A number that is printed with four decimals, from others that are.
ROUNDED = 1e-4

REASONS = {
    EXACT: "relative, float64; round-off is near 1e-14, a wrong formula errs by 1e-3 or more",
    ROOT: "relative; a square root or an arccos at a double root loses half of the 16 digits",
    FAILS: "a bound, with no tolerance",
    ROUNDED: "absolute; a unit of the last printed decimal",
}
# How a theorem's decorator calls the papers, in the order of the ledger.
PAPERS = {
    "cracking": "singh2026cracking",
    "closed": "singh2024closed",
    "poster": "singh2024poster",
    "data": "anon2026data",
    "dissecting": "wu2022dissecting",
}
# What begins a line of a theorem's docstring behind the statement, by field.
HEADINGS = {"printed": "In print", "remark": "Remark", "source": "Measured by"}
_HEADING = re.compile(rf"^({'|'.join(HEADINGS.values())}): ", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Theorem:
    """A statement of papers about all networks of a family, or an assumption that it needs.

    Args:
        name: by which it is cited.
        label: what the figure calls an erratum; nothing else is drawn.
        statement: the sentence; for an erratum, the corrected one.
        places: where it stands, by paper.
        family: the networks that it is about.
        error: measures it.
        of: the theorem whose part it is, which may be one further below, if it is no statement of
            its own.
        ours: whether no paper has it.
        printed: for an erratum, what is in print.
        remark: what a reader should know about the difference.
        source: what the error is taken from.
        tolerance: one of :data:`REASONS`, the largest error that still is agreement; of a needed
            assumption, the smallest one that is none.
        every: it is measured on every such instance of the family, for what takes long.
        assumption: if it says that assumptions are needed, which one an instance breaks.
    """

    name: str
    label: str
    statement: str
    places: Mapping[str, str]
    family: type[Instance]
    error: ErrorFunction
    of: str = ""
    ours: bool = False
    printed: str = ""
    remark: str = ""
    source: str
    tolerance: float = EXACT
    every: int = 1
    assumption: Callable[[Any], int] | None = None

    @property
    def reason(self) -> str:
        """Why the tolerance is what it is."""
        return REASONS[self.tolerance]

    def instances(self, drawn: Instances) -> list[Instance]:
        """The instances that it is measured on."""
        networks = [family for family in drawn if family.is_network]
        families = networks if self.family is Instance else [self.family]
        return [net for family in families for net in drawn[family][:: self.every]]

    def errors(self, drawn: Instances, *, printed: bool = False) -> list[float]:
        """The errors of the instances that it is about, or those of the print.

        Of an assumption that is needed the largest error without it, for each assumption.
        """
        how = {"printed": True} if printed else {}
        errors = [(net, self.error(net, **how)) for net in self.instances(drawn)]
        about = [(net, error) for net, error in errors if error is not None]
        if self.assumption is None:
            return [error for _, error in about]
        without: dict[int, list[float]] = {}
        for net, error in about:
            without.setdefault(self.assumption(net), []).append(error)
        return [worst(*without[broken]) for broken in sorted(without)]


THEOREMS: dict[str, Theorem] = {}


def theorem(label: str = "", **of: Any) -> Callable[[ErrorFunction], ErrorFunction]:
    """Put a function into the catalogue, under its own name.

    Args:
        label: of an erratum, what the figure calls it.
        of: where it stands, by paper of :data:`PAPERS`, and further fields of :class:`Theorem`;
            ``source`` where neither the docstring nor the family says it.

    Raises:
        ValueError: the function measures no print, or one that is not there.
    """
    places = {PAPERS[paper]: of.pop(paper) for paper in PAPERS if paper in of}

    def keep(function: ErrorFunction) -> ErrorFunction:
        first = next(iter(inspect.signature(function).parameters))
        family = get_type_hints(function)[first]
        name = function.__name__.replace("_", "-")
        statement, *rest = _HEADING.split(inspect.getdoc(function) or "")
        said = dict(zip(rest[::2], rest[1::2], strict=True))
        texts = {name: _line(said[words]) for name, words in HEADINGS.items() if words in said}
        if ("printed" in texts) != ("printed" in inspect.signature(function).parameters):
            raise ValueError(f"{name}: expected a print and its error, or neither")
        THEOREMS[name] = Theorem(
            name=name,
            label=label,
            statement=_line(statement),
            places=places,
            family=family,
            error=function,
            **{"source": family.source, "ours": "assumption" in of, **of, **texts},
        )
        return function

    return keep


def _line(text: str) -> str:
    """The text on one line."""
    return " ".join(text.split())


def drawn(draw: Draw) -> Instances:
    """The instances of all families, each from its own stream.

    Args:
        draw: data, seed and sizes.
    """
    return {family: [*family.drawn(draw).values()] for family in FAMILIES}
