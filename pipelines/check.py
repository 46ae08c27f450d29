"""Stage check: whether every identity holds. It comes last, so that page and ledger are there."""

from hessian_papers.ledger.evaluation import broken
from hessian_papers.ledger.record import read_ledger
from hessian_spectra.files import write_bytes
from pipelines import commits
from pipelines.stage import Context, main


def check(context: Context) -> None:
    """Write ``results/check.txt``.

    Raises:
        ValueError: an identity is broken; the message names each.
    """
    lines = broken(read_ledger(context.reports))
    if lines:
        noun = "identity does" if len(lines) == 1 else "identities do"
        raise ValueError(f"{len(lines)} {noun} not hold: " + "; ".join(lines))
    write_bytes(context.results / "check.txt", b"every identity holds\n")
    commits.remember()
    commits.lead_on()


if __name__ == "__main__":
    main(check, "check")
