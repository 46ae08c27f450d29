"""Stage claims: hold every claim of the papers against the studies' arrays."""

from hessian_spectra.ledger.evaluation import evaluate, metrics
from hessian_spectra.ledger.record import write_claims
from hessian_spectra.ledger.table import summary, table
from hessian_spectra.results import write_bytes, write_json
from pipelines import chain
from pipelines.schema import plain
from pipelines.stage import Context, run

READS = ["studies"]


def claims(context: Context) -> None:
    """Write ``reports/claims.json``, ``claims.md`` and ``metrics.json``.

    Nothing is written if an identity does not hold.
    """
    records = evaluate(chain.stated(plain(context.config.studies), context.results))
    write_claims(context.reports / "claims.json", records)
    write_bytes(context.reports / "claims.md", table(records).encode())
    write_json(context.reports / "metrics.json", metrics(records))
    print(summary(records))


if __name__ == "__main__":
    run(claims, READS)
