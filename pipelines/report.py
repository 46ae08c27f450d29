"""Stage report: the page that shows every figure, its statements and where they come from."""

from hessian_papers.ledger.record import read_ledger
from hessian_papers.report import build
from hessian_papers.report.findings import findings, markdown
from hessian_spectra.files import write_bytes
from pipelines.schema import plain
from pipelines.stage import Context, main


def report(context: Context) -> None:
    """Write ``reports/index.html``, and the sentences that it opens with as ``findings.md``."""
    ledger, settings = read_ledger(context.reports), plain(context.config)
    result = findings(settings["findings"], ledger)
    write_bytes(context.reports / "findings.md", markdown(result).encode())
    page = build(context.reports, result, settings["durations"])
    write_bytes(context.reports / "index.html", page.encode())


if __name__ == "__main__":
    main(report, "report")
