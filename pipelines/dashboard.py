"""Stage dashboard: one W&B run that shows the state of reports/."""

from omegaconf import OmegaConf

from hessian_spectra import tracking
from hessian_spectra.results import write_json
from pipelines import live
from pipelines.stage import Context, run

READS = ["data", "networks", "scale", "studies", "tracking"]


def dashboard(context: Context) -> None:
    """Log every figure, the arrays under it, the claims and the metrics.

    Writes ``results/dashboard.json``, the record of what was logged.
    """
    config = OmegaConf.to_container(context.config, resolve=True)
    assert isinstance(config, dict)
    record = tracking.log_dashboard(
        context.reports,
        context.results,
        group=context.group,
        config={str(key): value for key, value in config.items()},
        directory=live.folder(),
        project=context.tracking.project,
        entity=context.tracking.entity,
        mode=context.tracking.mode,
    )
    write_json(context.results / "dashboard.json", record)


if __name__ == "__main__":
    run(dashboard, READS)
