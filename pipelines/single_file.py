"""Command single_file: the report page with its pictures inside, to be sent to somebody."""

from hessian_papers.report import build, read
from hessian_papers.report.findings import findings
from hessian_spectra.files import write_bytes
from pipelines import inputs
from pipelines.schema import plain
from pipelines.stage import REPORTS, Context, main


def single_file(context: Context) -> None:
    """Write ``reports/page.html``, which needs no other file and therefore links none."""
    durations = inputs.durations(plain(context.config.studies))
    file, content = inputs.findings(), read(REPORTS, durations, leads=inputs.leads())
    result = findings(file, content.statements)
    path = REPORTS / "page.html"
    write_bytes(path, build(content, result, embedded=True).encode())
    print(f"wrote {path}")


if __name__ == "__main__":
    main(single_file)
