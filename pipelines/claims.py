"""Stages claims: hold the claims that are measured on a paper's studies against all their runs."""

import sys

from hessian_papers.ledger import measured_cases
from hessian_papers.ledger.evaluation import decided, measurements
from hessian_papers.ledger.record import write_ledger
from hessian_papers.ledger.table import table
from hessian_papers.ledger.totals import summary
from hessian_spectra.files import write_bytes
from pipelines import chain
from pipelines.schema import plain
from pipelines.stage import Context, main


def claims(context: Context) -> None:
    """Write ``results/claims/<paper>/{cases.json, claims.json, claims.md}``."""
    studies, artifacts = plain(context.config.studies), plain(context.config.artifacts)
    runs = chain.measured(studies, context.about, context.results, artifacts)
    measured, damaged = measurements(runs), chain.damaged(context)
    print(*damaged, sep="\n", end="\n" * bool(damaged), file=sys.stderr)
    folder, statements = context.results / "claims" / context.name, decided(measured)
    measured_cases.write(folder / measured_cases.FILE, measured)
    write_ledger(folder / "claims.json", statements)
    write_bytes(folder / "claims.md", table(statements, damaged).encode())
    print(summary(statements))


if __name__ == "__main__":
    main(claims, "claims")
