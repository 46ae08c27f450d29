"""Stage ledger: the statements of all papers, of what the stages paper measured.

What Git keeps has no number of today's runs, so that a run on another processor changes none of it.
"""

from hessian_papers.ledger import measured_cases
from hessian_papers.ledger.evaluation import decided, decided_by_records, unmeasured
from hessian_papers.ledger.record import all_cases, write_ledger
from hessian_papers.ledger.table import table
from hessian_papers.ledger.totals import metrics, summary
from hessian_papers.report.findings import findings, markdown
from hessian_spectra.files import write_bytes, write_json
from pipelines.schema import plain
from pipelines.stage import Context, main


def ledger(context: Context) -> None:
    """Write ``reports/claims.json``, ``metrics.json``; for Git ``claims.md``, ``findings.md``."""
    settings = plain(context.config)
    measured = [
        case
        for paper, study in settings["studies"]
        for case in measured_cases.read(
            measured_cases.path_of(context.results, paper, study), f"dvc repro paper@{paper}"
        )
    ]
    cases = [*measured, *unmeasured()]
    statements, of_records = decided(cases), decided_by_records(cases)
    write_ledger(context.reports / "claims.json", statements)
    write_json(context.reports / "metrics.json", metrics(statements, settings["headlines"]))
    text = table(of_records, settings["damaged"], len(all_cases(statements)))
    write_bytes(context.reports / "claims.md", text.encode())
    sentences = findings(settings["findings"], of_records)
    write_bytes(context.reports / "findings.md", markdown(sentences).encode())
    print(summary(statements))


if __name__ == "__main__":
    main(ledger, "ledger")
