"""Stage page: every figure, its statements and where they come from, of all papers.

Without DVC the page of one study with any settings, computed, drawn and held against the papers on
the spot:

    python -m pipelines.page only=cracking-fig7 studies.cracking-fig7.width=50
"""

from hessian_papers.ledger.evaluation import decided
from hessian_papers.ledger.record import write_ledger
from hessian_papers.memory import memory
from hessian_papers.report import FRONT, INDEX, build, index, read
from hessian_papers.report.findings import findings, opening
from hessian_spectra.files import write_bytes
from pipelines import inputs
from pipelines.figures import computed
from pipelines.schema import plain
from pipelines.stage import Context, main
from pipelines.sweep import collect


def page(context: Context) -> None:
    """Write ``reports/index.html`` and ``search-index.js``."""
    if not context.locked:
        of_study(context)
        return
    settings = plain(context.config)
    content = read(context.reports, leads=settings["leads"])
    result = findings(settings["findings"], content.statements)
    first = opening(settings["findings"], content.statements, result)
    text = build(content, result, opening=first, part=FRONT)
    write_bytes(context.reports / FRONT, text.encode())
    write_bytes(context.reports / INDEX, index(content).encode())


def of_study(context: Context) -> None:
    """Write ``index.html``, ``claims.json`` and the figure of one study, to the run's folder."""
    write_ledger(context.reports / "claims.json", decided(computed(context)))
    memory().keep()
    path = context.reports / FRONT
    write_bytes(path, build(read(context.reports, leads=inputs.leads())).encode())
    print(f"wrote {path}")


if __name__ == "__main__":
    main(page, "page", estimates=True, collect=collect)
