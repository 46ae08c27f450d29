"""Stages report: the pages of one paper, as soon as its own claims are there."""

from hessian_papers.report import address, build, read
from hessian_spectra.files import write_bytes
from pipelines.schema import plain
from pipelines.stage import Context, main


def report(context: Context) -> None:
    """Write ``reports/<paper>.html``, and ``reports/<paper>/<study>.html`` of each figure."""
    paper, settings = context.name, plain(context.config)
    content = read(
        context.reports,
        settings["durations"],
        leads=settings["leads"],
        paper=paper,
        ledger=context.results / "claims" / paper,
        elsewhere=settings["elsewhere"],
    )
    for part in content.parts(paper):
        write_bytes(context.reports / address(part), build(content, part=part).encode())


if __name__ == "__main__":
    main(report, "report")
