"""Stage ledger: the statements of all papers, of what the stages claims measured."""

from hessian_papers.ledger import measured_cases
from hessian_papers.ledger.evaluation import decided, unmeasured
from hessian_papers.ledger.record import write_ledger
from hessian_papers.ledger.table import table
from hessian_papers.ledger.totals import metrics, summary
from hessian_spectra.files import write_bytes, write_json
from pipelines import chain
from pipelines.stage import Context, main


def ledger(context: Context) -> None:
    """Write ``reports/claims.json``, ``claims.md`` and ``metrics.json``."""
    folder = context.results / "claims"
    measured = [
        case
        for paper in context.config.papers
        for case in measured_cases.read(
            folder / paper / measured_cases.FILE, f"dvc repro claims@{paper}"
        )
    ]
    statements = decided([*measured, *unmeasured()])
    write_ledger(context.reports / "claims.json", statements)
    write_bytes(context.reports / "claims.md", table(statements, chain.damaged(context)).encode())
    write_json(context.reports / "metrics.json", metrics(statements))
    print(summary(statements))


if __name__ == "__main__":
    main(ledger, "ledger")
