"""Stage claims: hold the claims of the papers against the arrays of all runs.

With ``only=<family>`` those of one family of studies alone, without a word on any other.
"""

import sys

from hessian_papers.ledger.evaluation import evaluate
from hessian_papers.ledger.record import write_ledger
from hessian_papers.ledger.table import table
from hessian_papers.ledger.totals import metrics, summary
from hessian_spectra.files import write_bytes, write_json
from pipelines import chain
from pipelines.schema import plain
from pipelines.stage import Context, main


def claims(context: Context) -> None:
    """Write ``reports/claims.json``, ``claims.md`` and ``metrics.json``.

    Of a family alone ``results/claims/<family>.md``.
    """
    studies = plain(context.config.studies)
    runs = chain.measured(studies, context.about, context.results)
    statements, damaged = evaluate(runs), [run.damaged for run in runs if run.damaged]
    print(*damaged, sep="\n", end="\n" * bool(damaged), file=sys.stderr)
    if context.only is not None:
        statements = [s for s in statements if s.cases[0].study]
        text = table(statements, damaged)
        write_bytes(context.results / "claims" / f"{context.only}.md", text.encode())
        print(summary(statements))
        return
    write_ledger(context.reports / "claims.json", statements)
    write_bytes(context.reports / "claims.md", table(statements, damaged).encode())
    write_json(context.reports / "metrics.json", metrics(statements))
    print(summary(statements))


if __name__ == "__main__":
    main(claims, "claims")
