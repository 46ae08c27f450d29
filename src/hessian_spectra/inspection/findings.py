"""The findings of an inspection: one record for each quantity, also for those it did not get."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from time import monotonic
from typing import Any, Literal

from torch import Tensor

from hessian_spectra.curvature import Operator
from hessian_spectra.inspection.factory import one_line

Status = Literal["done", "partial", "failed", "missing"]

# Several columns are multiplied together for about so long before the time is looked at again.
_PATIENCE = 5.0


class OutOfBudget(Exception):  # noqa: N818 -- nothing went wrong
    """The time that the user gave is over."""


@dataclass
class Finding:
    """A quantity, as far as it was found.

    Args:
        key: its name in the file.
        title: its name in the table.
        status: ``"partial"`` has some of the values; ``"failed"`` and ``"missing"`` say why in
            ``reason``.
        reason: one line.
        notes: further lines, such as a warning that an eigenvalue did not converge.
        seconds: how long it took.
        products: how many products with a matrix.
        values: numbers, lists and texts.
    """

    key: str
    title: str
    status: Status = "missing"
    reason: str = ""
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0
    products: int = 0
    values: dict[str, Any] = field(default_factory=dict)


@dataclass
class Report:
    """An inspection.

    Args:
        subject: what was inspected, and with which options.
        findings: by key, in the order in which they are computed.
        stopped: why the rest is missing: ``"interrupted"`` or ``"out of budget"``, else empty.
    """

    subject: dict[str, Any]
    findings: dict[str, Finding]
    stopped: str = ""

    def values(self, key: str) -> dict[str, Any]:
        """The values of a quantity, as far as they were found."""
        return self.findings[key].values

    def record(self) -> dict[str, Any]:
        """All of it, for a JSON file."""
        return asdict(self)


class Clock:
    """Counts products, and says when the time is over.

    Args:
        budget: seconds, or infinity.
    """

    def __init__(self, budget: float) -> None:
        self.end = monotonic() + budget
        self.products = 0
        self.pace = 0.0

    def check(self) -> None:
        """Raise where the time is over.

        Raises:
            OutOfBudget: it is.
        """
        if monotonic() > self.end:
            raise OutOfBudget

    def watched(self, operator: Operator) -> Operator:
        """The operator, with its products counted and stopped when the time is over."""
        return _Watched(operator, self)


class _Watched(Operator):
    def __init__(self, operator: Operator, clock: Clock) -> None:
        super().__init__(operator.shape[0], operator.dtype, operator.device)
        self._operator, self._clock = operator, clock

    def blocks(self, by: str = "module") -> Mapping[str, Operator]:
        """The blocks of the operator, watched too."""
        blocks = self._operator.blocks(by).items()
        return {name: _Watched(block, self._clock) for name, block in blocks}

    def _matmat(self, columns: Tensor) -> Tensor:
        results = columns.new_empty(columns.shape)
        done = 0
        while done < columns.shape[1]:
            self._clock.check()
            width = max(1, int(_PATIENCE / self._clock.pace)) if self._clock.pace else 1
            part = slice(done, min(done + width, columns.shape[1]))
            start = monotonic()
            results[:, part] = self._operator @ columns[:, part]
            count = part.stop - part.start
            self._clock.pace = (monotonic() - start) / count
            self._clock.products += count
            done = part.stop
        return results


def computed(
    report: Report,
    quantities: dict[str, Callable[[Finding], None]],
    clock: Clock,
    after: Callable[[Finding], None],
) -> None:
    """Compute one quantity after the other until all are there or the report says ``stopped``.

    Args:
        report: whose findings are filled in.
        quantities: by key, each fills the values of its finding, those first that come first.
        clock: counts products and time.
        after: called after each quantity that was tried to its end.
    """
    try:
        for key, compute in quantities.items():
            finding = report.findings[key]
            _try(finding, compute, clock)
            after(finding)
    except OutOfBudget:
        report.stopped = "out of budget"
    except KeyboardInterrupt:
        report.stopped = "interrupted"
    for finding in report.findings.values():
        if finding.status == "missing":
            finding.status = "partial" if finding.values else "missing"
            finding.reason = report.stopped


def _try(finding: Finding, compute: Callable[[Finding], None], clock: Clock) -> None:
    """Fill a finding in; an error ends the quantity alone, the user and the clock end all."""
    start, before = monotonic(), clock.products
    try:
        clock.check()
        compute(finding)
        finding.status = "done"
    except OutOfBudget:
        raise
    except Exception as error:
        finding.status, finding.reason = "failed", one_line(error)
    finally:
        finding.seconds = round(monotonic() - start, 3)
        finding.products = clock.products - before
