"""Command single_file: the report page with its pictures inside, to be sent to somebody."""

from hessian_papers.ledger.record import read_ledger
from hessian_papers.report import build
from hessian_papers.report.findings import findings
from hessian_spectra.files import write_bytes
from pipelines import inputs
from pipelines.stage import REPORTS, Context, main


def single_file(context: Context) -> None:
    """Write ``reports/page.html``, which needs no other file and therefore links none."""
    result = findings(inputs.findings(), read_ledger(REPORTS))
    path = REPORTS / "page.html"
    write_bytes(path, build(REPORTS, result, inputs.durations(), embedded=True).encode())
    print(f"wrote {path}")


if __name__ == "__main__":
    main(single_file)
