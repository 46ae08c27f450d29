"""Stage claims: hold every claim of the papers against the studies' arrays."""

from pathlib import Path

from omegaconf import OmegaConf

from hessian_spectra.ledger.evaluation import evaluate, metrics, table
from hessian_spectra.ledger.table import summary
from hessian_spectra.results import write_bytes, write_json
from pipelines.schema import module_of
from pipelines.stage import Context, run

READS = ["studies"]


def claims(context: Context) -> None:
    """Write ``reports/claims.json``, ``claims.md`` and ``metrics.json``.

    Nothing is written if an identity does not hold.
    """
    found = OmegaConf.to_container(context.config.studies, resolve=True)
    assert isinstance(found, dict)
    configs = {str(name): config for name, config in found.items()}
    studies = {
        name: {
            "claims": module_of("studies", config["kind"], f"studies.{name}", "claims"),
            "config": config,
        }
        for name, config in configs.items()
    }
    records = evaluate(studies, context.results)
    reports: Path = context.reports
    write_json(reports / "claims.json", records)
    write_bytes(reports / "claims.md", table(records).encode())
    write_json(reports / "metrics.json", metrics(records))
    print(summary(records))


if __name__ == "__main__":
    run(claims, READS)
