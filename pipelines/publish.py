"""Command publish: make the W&B workspace and report with one group of panels per paper."""

from hessian_papers import tracking
from hessian_papers.ledger.record import read_ledger
from hessian_papers.report.findings import findings
from pipelines import inputs
from pipelines.folders import WANDB
from pipelines.stage import REPORTS, Context, main


def publish(context: Context) -> None:
    """Save both on the server and print their addresses; needs `wandb login`."""
    stated = findings(inputs.findings(), read_ledger(REPORTS))
    sentences = [(finding.text, finding.study) for finding in stated if finding.stated]
    project, entity = context.tracking.project, context.tracking.entity
    for address in tracking.publish(project, entity, REPORTS, WANDB, sentences):
        print(address)


if __name__ == "__main__":
    main(publish)
