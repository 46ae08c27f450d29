"""Stage dashboard: one W&B run that shows the state of reports/."""

from hessian_papers import tracking
from hessian_papers.ledger.record import read_ledger
from hessian_papers.report import cards
from hessian_papers.report.findings import findings
from hessian_spectra.files import write_json
from pipelines import described
from pipelines.folders import WANDB
from pipelines.schema import plain
from pipelines.stage import Context, main


def dashboard(context: Context) -> None:
    """Log every figure, the arrays under it, the claims and the metrics.

    Writes ``results/dashboard.json``, the record of what was logged.
    """
    settings = plain(context.config)
    leads = settings.pop("leads")
    stated = findings(settings.pop("findings"), read_ledger(context.reports))
    record = tracking.log_dashboard(
        context.reports,
        context.results,
        group=context.group,
        config=settings,
        leads=leads,
        cards=cards(stated),
        directory=WANDB,
        commit=described.commit(),
        **vars(context.tracking),
    )
    write_json(context.results / "dashboard.json", record)


if __name__ == "__main__":
    main(dashboard, "dashboard")
