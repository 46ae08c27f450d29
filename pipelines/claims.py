"""Stages claims: hold the claims that are measured on a paper's studies against all their runs."""

import sys
from typing import Any

from hessian_papers.ledger import measured_cases
from hessian_papers.ledger.evaluation import Measurement, decided, measurements, unmeasured
from hessian_papers.ledger.record import write_ledger
from hessian_papers.ledger.table import table
from hessian_papers.ledger.totals import summary
from hessian_spectra.files import write_bytes
from pipelines import chain
from pipelines.schema import plain
from pipelines.stage import Context, main


def claims(context: Context) -> None:
    """Write ``results/claims/<paper>/{cases.json, claims.json, claims.md}``.

    The paper's statements have as well what the catalogue of theorems, which is another paper's
    study, measures of it, and what no study does; the ledger of all papers has these from there.
    """
    config = context.config
    artifacts = plain(config.artifacts)

    def measured_on(studies: Any) -> list[Measurement]:
        about, results = context.about, context.results
        return measurements(chain.measured(plain(studies), about, results, artifacts))

    measured, damaged = measured_on(config.studies), chain.damaged(context)
    elsewhere = [*measured_on(config.theorems), *unmeasured()]
    own = [case for case in elsewhere if context.name in case.heading.places]
    print(*damaged, sep="\n", end="\n" * bool(damaged), file=sys.stderr)
    folder, statements = context.results / "claims" / context.name, decided([*measured, *own])
    measured_cases.write(folder / measured_cases.FILE, measured)
    write_ledger(folder / "claims.json", statements)
    write_bytes(folder / "claims.md", table(statements, damaged).encode())
    print(summary(statements))


if __name__ == "__main__":
    main(claims, "claims")
