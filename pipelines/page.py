"""Stage page: every figure, its statements and where they come from, of all papers.

Without DVC the page of one study with any settings, computed, drawn and held against the papers on
the spot:

    python -m pipelines.page only=cracking-fig7 studies.cracking-fig7.width=50
"""

from hessian_papers.ledger.evaluation import decided, measurements
from hessian_papers.ledger.record import read_ledger, write_ledger
from hessian_papers.report import build
from hessian_papers.report.findings import findings, markdown
from hessian_spectra.files import write_bytes
from pipelines import chain, inputs
from pipelines.figures import figures
from pipelines.schema import plain
from pipelines.stage import Context, main


def page(context: Context) -> None:
    """Write ``reports/index.html``, and the sentences that it opens with as ``findings.md``."""
    if not context.locked:
        of_study(context)
        return
    ledger, settings = read_ledger(context.reports), plain(context.config)
    result = findings(settings["findings"], ledger)
    write_bytes(context.reports / "findings.md", markdown(result).encode())
    text = build(context.reports, result, settings["durations"], leads=settings["leads"])
    write_bytes(context.reports / "index.html", text.encode())


def of_study(context: Context) -> None:
    """Write ``index.html``, ``claims.json`` and the figure of one study, to the run's folder."""
    figures(context)
    studies, about = {context.name: chain.raw_study(context)}, chain.about_of(context)
    runs = chain.measured(studies, about, context.results)
    write_ledger(context.reports / "claims.json", decided(measurements(runs)))
    path = context.reports / "index.html"
    write_bytes(path, build(context.reports, leads=inputs.leads()).encode())
    print(f"wrote {path}")


if __name__ == "__main__":
    main(page, "page", estimates=True)
