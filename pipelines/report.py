"""Stage report: the page that shows every figure, its claims and where they come from."""

from hessian_spectra.report import build
from hessian_spectra.results import write_bytes
from pipelines.stage import Context, main


def report(context: Context) -> None:
    """Write ``reports/index.html``."""
    write_bytes(context.reports / "index.html", build(context.reports).encode())


if __name__ == "__main__":
    main(report, "report")
