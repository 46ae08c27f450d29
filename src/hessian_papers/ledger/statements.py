"""The statements of a kind of studies: functions that say what a paper says and measure it.

A statement is one function of the kind's ``claims.py``. Its docstring is the paper's sentence, and
behind their :data:`HEADINGS` the statistic that decides, what is in print where that is wrong, and
what else would explain a difference. Its decorator has the quantifier of the sentence, the place in
the paper, and the bound with its reason:

    statements = Statements()
    figure_2 = statements.about("anon2026data", "Figure 2")

    @figure_2.typically("section 5", at_most(0.2, "a fifth would be called slight"))
    def tanh_is_similar(data: xr.Dataset) -> float:
        \"\"\"With Tanh layers the sharpness is slightly different.

        Statistic: largest relative deviation.

        Remark: Saturated units have smaller derivatives.
        \"\"\"
        return ...

A function of which there is a print takes ``printed=True`` to measure the error of that. One
statement may be measured by several functions, of several kinds: they give the same ``id``, and
the first one has its sentence. Formulas in texts are LaTeX between dollars, see
:mod:`hessian_papers.formulas`.
"""

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial, partialmethod
from pathlib import PurePosixPath
from typing import Any, TypeVar

import numpy as np
import xarray as xr

from hessian_papers.ledger.bounds import Bound, Estimate, estimate_of
from hessian_papers.ledger.conditions import ANY_STATE, NO_ASSUMPTION, Condition
from hessian_papers.ledger.divergence import left_out
from hessian_papers.ledger.verdicts import Book, Quantifier

# What tells the cases of a statement apart: a parametrisation, a row of a table.
Labels = Mapping[str, Any]
Measure = Callable[..., float | Estimate | xr.DataArray]
Function = TypeVar("Function", bound=Measure)
Decorator = Callable[[Function], Function]
Cases = Callable[[Any], Iterable[Labels]]
# Dimensions of a data set over which cases run, and if not over all labels along one, over which.
Dimensions = Sequence[str] | Mapping[str, Callable[[Any], Iterable[Any]] | None]

# A field of a text. Braces after _, ^ or a command are a formula's.
FIELD = re.compile(r"(?<![_^])(?<!\\text)(?<!\\sqrt)(?<!\\operatorname)\{([a-z_]+)\}")
# What begins the parts of a docstring behind the sentence.
HEADINGS = ("Statistic", "In print", "Remark")
_HEADING = re.compile(rf"(?:^| )({'|'.join(HEADINGS)}):(?: |$)")
# What the id of a statement ends in that is about cases which the paper does not have.
ELSEWHERE = "-elsewhere"


class LedgerError(ValueError):
    """The ledger is not well formed; the message names each statement and what is wrong with it."""


@dataclass(frozen=True)
class Study:
    """The study that statements are measured on.

    Args:
        name: its name.
        config: its resolved configuration.
        names: the studies by paper and artifact, for texts that point to another one.
    """

    name: str
    config: Mapping[str, Any]
    names: Mapping[tuple[str, str], str] = field(default_factory=dict)

    def about(self, artifact: str, paper: str | None = None) -> str:
        """The study of an artifact, first of the same paper; its own words if there is none."""
        papers = [paper or self.config["paper"], *(key for key, _ in self.names)]
        studies = [self.names[p, artifact] for p in papers if (p, artifact) in self.names]
        return studies[0] if studies else artifact


# Where a statement stands: in the paper of the study, in each of several papers, or in different
# places for different artifacts.
Place = str | Mapping[str, str] | Callable[[Study], str]


@dataclass(frozen=True, kw_only=True)
class Heading:
    """The heading that all cases of a statement have in common.

    Args:
        id: its name, which can be cited.
        places: where it stands, by paper.
        sentence: the statement; for an erratum, the corrected one.
        statistic: what is measured of each case.
        quantifier: of the sentence.
        book: what kind of statement it is.
        identity: whether it is exact: where it does not hold, our computation is wrong.
        printed: for an erratum, what is in print.
        state: of the networks that it is about.
        assumes: what else it presupposes.
        surrogate: whether what it compares was computed of the same networks.
    """

    id: str
    places: Mapping[str, str]
    sentence: str
    statistic: str
    quantifier: Quantifier
    book: Book
    identity: bool = False
    printed: str | None = None
    state: str = ""
    assumes: str = ""
    surrogate: bool = False


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One case of a statement on one study, before it is measured.

    Args:
        id: ``<study>/<case>``, unique in the ledger.
        heading: the statement.
        labels: what tells it from the other cases, as texts say it.
        study: the study whose arrays are measured; ``None`` if no study of ours does.
        test: node id of the test that stands behind it.
        bound: what the measured value is compared with.
        measure: measures it.
        measure_printed: for an erratum, measures the error of what is in print.
        explanation: why we differ, where we do.
    """

    id: str
    heading: Heading
    labels: Mapping[str, str]
    study: str | None
    test: str | None
    bound: Bound | None
    measure: Callable[[], float | Estimate] | None
    measure_printed: Callable[[], float | Estimate] | None = None
    explanation: str = ""

    def problems(self) -> list[str]:
        """The problems that keep this from being an entry of the ledger, one line each."""
        heading, bound = self.heading, self.bound
        texts = {"id": heading.id, "sentence": heading.sentence}
        texts |= {f"place in {paper}": place for paper, place in heading.places.items()}
        if bound is not None:
            texts |= {"source": bound.source, "reason": bound.reason}
        problems = [f"{name} is empty" for name, text in texts.items() if not text.strip()]
        texts |= {"statistic": heading.statistic}
        fields = {name: FIELD.search(text) for name, text in texts.items()}
        problems += [f"{name} has an open field {{{f[1]}}}" for name, f in fields.items() if f]
        if not heading.places:
            problems.append("it stands in no paper")
        # Of the same networks sampling errors cancel: a prediction is out of sample.
        if heading.surrogate and "predict" in heading.sentence:
            problems.append("a surrogate, computed of the same networks, predicts nothing")
        if bound is not None and not bound.tolerance >= 0:
            problems.append(f"tolerance is {bound.tolerance}")
        if self.measure is None and not self.explanation.strip():
            problems.append("it is not measured, and explanation does not say why")
        return [f"{self.id or 'a case without id'}: {problem}" for problem in problems]


def _filled(text: str, fields: Mapping[str, Any], study: Study) -> str:
    """A text with ``{field}`` filled in, and ``{study of <artifact>}`` by the study's name.

    Other braces stay, since formulas have them. Of another paper's artifact:
    ``{study of <paper>: <artifact>}``.
    """
    text = re.sub(
        r"\{study of (?:([a-z0-9]+): )?([^}]+)\}",
        lambda match: study.about(match[2], match[1]),
        " ".join(text.split()),
    )
    return FIELD.sub(lambda match: str(fields.get(match[1], match[0])), text)


def _chosen(value: Any, labels: Labels) -> Any:
    """The value for a case, of something that may depend on it."""
    return value(labels) if callable(value) else value


def _book(quantifier: Quantifier, bound: Bound) -> Book:
    """The book of a statement of a paper, if its decorator does not name one."""
    if bound.word:
        return "readings"
    return "theorems" if quantifier in ("always", "printed") else "observations"


@dataclass(frozen=True, kw_only=True)
class Statement:
    """A sentence of a paper, and its measurement: a function with what its decorator says.

    Args:
        function: measures it, from the data of a study's arrays and the labels of a case.
        quantifier: of the sentence, for each case if it is a function.
        place: where it stands in the paper; for a statement of several papers, in each of them; a
            function of the study where that depends on the artifact.
        bound: what the measured value is compared with, for each case if it is a function.
        id: the statement's; the function's name if empty.
        sentence: the statement's, of a function that measures several; the docstring's if empty.
        book: what kind of statement it is, for each case if it is a function; by quantifier and
            bound if it is not given.
        identity: whether it is exact.
        state: of the networks that it is about, for each case if it is a function; only an
            identity has one without saying so.
        assumes: what else it presupposes.
        surrogate: whether one of the numbers that it compares stands for the other, and is computed
            of the same networks: it is close to that by construction, and predicts nothing.
        otherwise: what else would explain a difference, for each case if it is a function, where
            the docstring has no remark.
        over: the dimensions over which its cases run: the function gets the data set at the labels
            of one case.
        each: cases that are no labels of dimensions alone, read from the data set: the function
            gets all of it, and the labels of one case. Without either there is a single case.
        paper: whose statement it is, if not the paper's of the study.
        artifacts: the papers' artifacts that it is about; empty for all studies of the kind.
        elsewhere: which cases the paper does not have, as other networks or data: they are a
            statement of their own, beyond the papers.
        name: of a case, filled in like every text; the function's name and the labels if empty.
        shown: the labels that tell cases apart for a reader; those in ``name``, or all, if empty.
    """

    function: Measure
    quantifier: Quantifier | Callable[[Labels], Quantifier]
    place: Place
    bound: Bound | Callable[[Labels], Bound]
    id: str = ""
    sentence: str = ""
    book: Book | Callable[[Labels], Book | None] | None = None
    identity: bool = False
    state: Condition | Callable[[Labels], Condition] | None = None
    assumes: Condition = NO_ASSUMPTION
    surrogate: bool = False
    otherwise: str | Callable[[Labels], str] = ""
    over: Dimensions = ()
    each: Cases | None = None
    paper: str = ""
    artifacts: tuple[tuple[str, str], ...] = ()
    elsewhere: Callable[[Labels], bool] | None = None
    name: str = ""
    shown: tuple[str, ...] = ()

    @property
    def function_name(self) -> str:
        """The name of its function."""
        return getattr(self.function, "__name__", "")

    @property
    def test(self) -> str:
        """The test that stands behind it, by convention; of one written elsewhere, its module."""
        module = self.function.__module__
        if not module.startswith("hessian_papers.studies."):
            return module
        *_, family, kind, _ = module.split(".")
        path = PurePosixPath("tests", "papers", "studies", family, f"test_{kind}_claims.py")
        return f"{path}::test_a_claim_holds_and_fails[{self.function_name}]"

    def is_about(self, config: Mapping[str, Any]) -> bool:
        """Whether it is measured on a study with this configuration."""
        return not self.artifacts or (config["paper"], config["artifact"]) in self.artifacts

    def _places(self, study: Study) -> Mapping[str, str]:
        """Where it stands, by paper."""
        if isinstance(self.place, Mapping):
            return self.place
        place = self.place if isinstance(self.place, str) else self.place(study)
        return {self.paper or study.config["paper"]: place}

    def entry(self, study: Study, data: xr.Dataset, labels: Labels, fields: Labels) -> Entry:
        """One case, its texts filled in."""
        bound, quantifier = _chosen(self.bound, labels), _chosen(self.quantifier, labels)
        filled = partial(_filled, fields=fields, study=study)
        sentence, *parts = _HEADING.split(filled(self.function.__doc__ or ""))
        sentence = filled(self.sentence) or sentence
        said = dict(zip(parts[::2], parts[1::2], strict=True))
        printed = said.get("In print")
        name = filled(self.id) or self.function_name.replace("_", "-")
        book = _chosen(self.book, labels) or _book(quantifier, bound)
        if self.elsewhere is not None and self.elsewhere(labels):
            name, book, printed = f"{name}{ELSEWHERE}", "beyond", None
            sentence = f"In settings that the paper does not have: {sentence}"
        heading = Heading(
            id=name,
            places={filled(p): filled(place) for p, place in self._places(study).items()},
            sentence=sentence,
            statistic=said.get("Statistic", ""),
            quantifier=quantifier,
            book=book,
            identity=self.identity,
            printed=printed or None,
            state=state.text if (state := self._state(labels)) else "",
            assumes=self.assumes.text,
            surrogate=self.surrogate,
        )
        measure = partial(self._measured, data, labels)
        return Entry(
            id=f"{study.name}/{self._name(labels)}",
            heading=heading,
            labels={name: str(fields[name]) for name in self._shown(labels)},
            study=study.name,
            test=self.test,
            bound=bound,
            measure=measure,
            measure_printed=partial(measure, printed=True) if printed else None,
            explanation=said.get("Remark") or filled(_chosen(self.otherwise, labels)),
        )

    def cases(self, data: xr.Dataset) -> Iterable[Labels]:
        """The labels of its cases, the last dimension the fastest."""
        if self.each is not None:
            return self.each(data)
        chosen = self.over if isinstance(self.over, Mapping) else dict.fromkeys(self.over)
        values = [
            np.asarray(data[name]).tolist() if choose is None else choose(data)
            for name, choose in chosen.items()
        ]
        return [dict(zip(chosen, labels, strict=True)) for labels in itertools.product(*values)]

    def _measured(self, data: xr.Dataset, labels: Labels, **how: bool) -> float | Estimate:
        """The value of one case; the error of what is in print with ``printed=True``."""
        for condition in filter(None, (self._state(labels), self.assumes)):
            condition.check(data, labels)
        if self.over:
            data, labels = data.sel(labels) if labels else data, {}
        value = self.function(data, **labels, **how)
        return estimate_of(value) if isinstance(value, xr.DataArray) else value

    def _state(self, labels: Labels) -> Condition | None:
        """The state that a case is about."""
        return _chosen(self.state, labels) or (ANY_STATE if self.identity else None)

    def _shown(self, labels: Labels) -> list[str]:
        """The labels that tell a case from the others: if its name is given, those in it."""
        if self.shown:
            return [*self.shown]
        return [name for name in labels if not self.name or f"{{{name}}}" in self.name]

    def _name(self, labels: Labels) -> str:
        if self.name:
            return re.sub(r"\{([a-z_]+)\}", lambda match: str(labels[match[1]]), self.name)
        return "-".join([self.function_name.replace("_", "-"), *map(str, labels.values())])


class Statements:
    """The statements of a kind of studies, in the order in which they are written.

    Args:
        values: how texts say the values of labels, for example ``{"mup": "μP"}``.
    """

    def __init__(self, *, values: Mapping[str, str] | None = None) -> None:
        self._values = values or {}
        self.all: list[Statement] = []
        self._of: Mapping[str, Any] = {}

    def about(self, paper: str, *artifacts: str) -> "Statements":
        """The decorators of statements about some artifacts of a paper alone, as its figures."""
        return self.having(artifacts=tuple((paper, artifact) for artifact in artifacts))

    def having(self, **of: Any) -> "Statements":
        """The decorators of statements that share some fields, unless they say others."""
        other = copy(self)
        other._of = {**self._of, **of}
        return other

    def __or__(self, other: "Statements") -> "Statements":
        """The decorators of statements about the artifacts of both."""
        return self.having(artifacts=self._of["artifacts"] + other._of["artifacts"])

    @property
    def beyond(self) -> "Statements":
        """The decorators of statements that are ours alone."""
        return self.having(book="beyond")

    def statement(self, quantifier: Any, place: Place, bound: Any, **of: Any) -> Decorator:
        """Make a statement of a function.

        Args:
            quantifier: of the sentence.
            place: where it stands.
            bound: what the measured value is compared with.
            of: further fields of :class:`Statement`.
        """
        fields = {"place": place, "quantifier": quantifier, "bound": bound, **self._of, **of}

        def keep(function: Function) -> Function:
            self.all.append(Statement(function=function, **fields))
            return function

        return keep

    # A decorator for each quantifier, which takes the place and the bound.
    always = partialmethod(statement, "always")
    everywhere = partialmethod(statement, "everywhere")
    typically = partialmethod(statement, "typically")
    exists = partialmethod(statement, "exists")
    printed = partialmethod(statement, "printed")
    shown = partialmethod(statement, "shown")
    left_open = partialmethod(statement, "left open")

    def identity(self, place: Place, bound: Any, **of: Any) -> Decorator:
        """Make an identity of a function: an error that is round-off, wherever it is measured."""
        return self.always(place, bound, identity=True, **of)

    def entries(self, study: Study, data: xr.Dataset) -> Iterator[Entry]:
        """The cases of all statements on one study.

        Raises:
            NothingToMeasure: all of its trainings diverged.
        """
        note = left_out(data)
        for statement in self.all:
            if statement.is_about(study.config):
                for labels in statement.cases(data):
                    said = {key: self._said(value) for key, value in labels.items()}
                    said = {"artifact": study.config["artifact"], **said}
                    entry = statement.entry(study, data, labels, said)
                    yield replace(entry, explanation=f"{entry.explanation} {note}".strip())

    def _said(self, value: Any) -> Any:
        """A value as texts say it."""
        return self._values.get(value, value) if isinstance(value, str) else value
