"""Stages report: the page of one paper, as soon as its own claims are there."""

from hessian_papers.report import build
from hessian_spectra.files import write_bytes
from pipelines.schema import plain
from pipelines.stage import Context, main


def report(context: Context) -> None:
    """Write ``reports/<paper>.html``."""
    paper, settings = context.name, plain(context.config)
    ledger = context.results / "claims" / paper
    page = build(
        context.reports,
        durations=settings["durations"],
        leads=settings["leads"],
        paper=paper,
        ledger=ledger,
    )
    write_bytes(context.reports / f"{paper}.html", page.encode())


if __name__ == "__main__":
    main(report, "report")
