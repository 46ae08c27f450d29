"""What the paper says about the GGN of language models with and without attention."""

from collections.abc import Iterator

from hessian_papers.ledger.bounds import Estimate, at_least, at_most
from hessian_papers.ledger.statements import Labels, Statements
from hessian_papers.ledger.verdicts import Book, typically
from hessian_papers.ledger.words import reading_of
from hessian_papers.studies.gpt2.gauss_newton_error.reading import Pairs, Reading
from hessian_papers.studies.gpt2.seeds import ATTENTION, COMPARED, NO_NORM_WEIGHTS, TWIN

SECTION = "section 4.3; {artifact}"
SMALL = (
    "The paper has 124 million weights and 10000 steps on another text: smaller networks after "
    "fewer steps may be in another phase of training."
)
SAME_SHARPNESS = (
    "And a sharpness is no phase: runs may have it early, where all errors are large, or late."
)
SEEDS = (
    "the interval holds at each level what Student's t leaves open for so few seeds, and what the "
    "eigenvalues' residuals do"
)
WITH = {"with": ATTENTION, "without": TWIN}
# What the paper itself compares at; the sharpness is ours.
OF_THE_PAPER = ("residual", "loss", "step")

statements = Statements(
    Reading,
    values={
        "residual": "residual norm",
        "sharpness": "largest Hessian eigenvalue",
        "difference": "the error with attention minus that without",
        "ratio": "the logarithm of the error with attention over that without",
    },
).having(otherwise=SMALL)
figure_5 = statements.about("singh2026cracking", "Figure 5")


def _book(case: Labels) -> Book | None:
    """Where both are as sharp is a comparison of ours."""
    return None if case["along"] in OF_THE_PAPER else "beyond"


def _why(case: Labels) -> str:
    return SMALL if case["along"] != "sharpness" else f"{SMALL} {SAME_SHARPNESS}"


def _along(name: str) -> Labels:
    """A case; at a fixed sharpness it is of a statement of ours."""
    where = "" if name in OF_THE_PAPER else "-where-both-are-as-sharp"
    return {"along": name, "where": where}


def _means(reading: Reading) -> Iterator[Labels]:
    if reading.shown == "mean":
        yield from (_along(name) for name in reading.along)


def _compared(reading: Reading) -> Iterator[Labels]:
    yield from ({**case, "compared": name} for case in _means(reading) for name in COMPARED)


def _folding(reading: Reading) -> Iterator[Labels]:
    """What may have a level more than once; a step does not."""
    yield from (case for case in _means(reading) if case["along"] != "step")


def _single(reading: Reading) -> Iterator[Labels]:
    if reading.shown == "runs":
        yield from (_along(name) for name in reading.along)


@statements.statement(
    SECTION,
    typically,
    reading_of("almost every"),
    each=_compared,
    otherwise=_why,
    id="ggn-is-worse-with-attention{where}",
    book=_book,
    name="worse-{along}-{compared}",
)
def worse(reading: Reading, along: str, compared: str, **_: str) -> Estimate:
    """For almost every fixed residual norm, loss or step, except at initialisation, the error is
    smaller without attention.

    Statistic: fraction of the range common to all runs (of eigenvalues in the logarithm) in which
    the mean over seeds of what is compared is positive; interval: where its 95 % interval, paired
    by seed, lies above 0, and where it does not lie below.
    """
    return reading.share(along, compared)


@statements.statement(
    SECTION,
    typically,
    reading_of("almost every"),
    each=_folding,
    otherwise=_why,
    id="ggn-is-worse-when-first-passed",
    book="beyond",
    name="worse-when-first-passed-{along}",
)
def worse_when_first_passed(reading: Reading, along: str, **_: str) -> Estimate:
    """So it is where only the first time counts at which a run has that level, which it may have
    again later.

    Statistic: fraction of the range, as before, of the error with attention minus that without.
    """
    return reading.share(along, pairs=Pairs(of="first"))


@statements.statement(
    SECTION,
    typically,
    reading_of("almost every"),
    each=_single,
    id="ggn-is-worse-with-attention{where}",
    book=_book,
    name="worse-in-each-pair-{along}",
)
def worse_in_each_pair(reading: Reading, along: str, **_: str) -> float:
    """For almost every fixed residual norm, loss or step, except at initialisation, the error is
    smaller without attention.

    Statistic: fraction of the range common to both runs of a pair with the same seed in which it is
    so, the smallest over the pairs.
    """
    return float(reading.share_of_each_pair(along).min())


@figure_5.statement(
    "section 4.3",
    typically,
    at_least(0.0, f"a sign; {SEEDS}"),
    id="ggn-is-worse-late-in-training",
    each=lambda reading: [{"compared": name} for name in COMPARED],
)
def worse_late(reading: Reading, compared: str) -> Estimate:
    """Late in training, too, the error is smaller without attention.

    Statistic: mean of what is compared over the lowest third of the residual norms common to all
    runs.
    """
    return reading.late("residual", compared)


@figure_5.statement(
    "section 4.3",
    typically,
    at_most(0.0, f"a sign; {SEEDS}"),
    id="ggn-is-not-worse-at-initialisation",
)
def not_worse_at_start(reading: Reading) -> Estimate:
    """At initialisation the error is not smaller without attention.

    Statistic: mean difference before the first step.
    """
    return reading.at_start()


@figure_5.statement(
    "section 4.3",
    typically,
    at_least(0.0, f"a sign; {SEEDS}"),
    id="residual-drives-the-error",
    each=lambda reading: [{"attention": name} for name in WITH],
)
def residual_drives_the_error(reading: Reading, attention: str) -> Estimate:
    """The residual drives the difference between Hessian and GGN to zero during training.

    Statistic: rank correlation of error and residual norm through a run, mean over seeds.
    """
    return reading.rank_with_error("residual", WITH[attention])


@figure_5.statement(
    "section 4.3",
    typically,
    at_least(0.9, f"as for attention with norm weights; {SEEDS}", source="ours"),
    id="ggn-is-worse-without-norm-weights",
    book="beyond",
)
def worse_without_norm_weights(reading: Reading) -> Estimate:
    """Attention makes for the larger error where no LayerNorm has weights as well, so these are not
    what does it.

    Statistic: share of the residual norms at which the mean error of GPT-2 without norm weights is
    above that without attention.
    """
    return reading.share("residual", pairs=Pairs(first=NO_NORM_WEIGHTS))
