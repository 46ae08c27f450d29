"""What the paper says about the GGN of language models with and without attention."""

from collections.abc import Iterator

from hessian_papers.ledger.bounds import Bound, Estimate, at_least, at_most
from hessian_papers.ledger.statements import Labels, Statements
from hessian_papers.studies.gpt2.gauss_newton_error.reading import Pairs, Reading
from hessian_papers.studies.gpt2.seeds import ATTENTION, COMPARED, NO_NORM_WEIGHTS, TWIN

SECTION = "section 4.3; {artifact}"
SMALL = (
    "The paper has 124 million weights and 10000 steps on another text: networks of {parameters} "
    "weights after {steps} steps may be in another phase of training."
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
        "difference": "the error with attention less that without",
        "ratio": "the logarithm of the error with attention over that without, a comparison that "
        "was added when the demo's errors were known",
    },
    fields=lambda reading: {
        "steps": int(reading["step"][-1]),
        "parameters": int(reading["parameters"][0]),
    },
).having(otherwise=SMALL)
figure_5 = statements.about("singh2026cracking", "Figure 5")


def _almost_every(case: Labels) -> Bound:
    theirs = case["along"] in OF_THE_PAPER
    source = "the paper" if theirs else "ours: the paper's statement where both are as sharp"
    return at_least(0.9, f"'almost every' is taken as nine in ten; {SEEDS}", source=source)


def _why(case: Labels) -> str:
    return SMALL if case["along"] != "sharpness" else f"{SMALL} {SAME_SHARPNESS}"


def _means(reading: Reading) -> Iterator[Labels]:
    if reading.shown == "mean":
        yield from ({"along": name} for name in reading.along)


def _compared(reading: Reading) -> Iterator[Labels]:
    yield from ({**case, "compared": name} for case in _means(reading) for name in COMPARED)


def _folding(reading: Reading) -> Iterator[Labels]:
    """What may have a level more than once; a step does not."""
    yield from (case for case in _means(reading) if case["along"] != "step")


def _single(reading: Reading) -> Iterator[Labels]:
    if reading.shown == "runs":
        yield from ({"along": name} for name in reading.along)


@statements.trend(SECTION, _almost_every, each=_compared, otherwise=_why)
def worse(reading: Reading, along: str, compared: str) -> Estimate:
    """For almost every fixed {along}, except at the initialisation, the error is smaller without
    attention. Statistic: share of the range common to all runs (of eigenvalues in the logarithm) in
    which the mean over seeds of {compared} is positive; interval: where its 95 % interval, paired
    by seed, lies above 0, and where it does not lie below
    """
    return reading.share(along, compared)


@statements.trend(SECTION, _almost_every, each=_folding, otherwise=_why)
def worse_when_first_passed(reading: Reading, along: str) -> Estimate:
    """So it is where only the first time counts at which a run has that {along}, which it may have
    again later. Statistic: as before, of the error with attention less that without
    """
    return reading.share(along, pairs=Pairs(of="first"))


@statements.trend(SECTION, _almost_every, each=_single)
def worse_in_each_pair(reading: Reading, along: str) -> float:
    """In each pair of runs with the same seed the error at a fixed {along} is smaller without
    attention. Statistic: share of the range common to both runs in which it is, the smallest over
    the pairs
    """
    return float(reading.share_of_each_pair(along).min())


@figure_5.trend(
    "section 4.3",
    at_least(0.0, f"a sign; {SEEDS}"),
    each=lambda reading: [{"compared": name} for name in COMPARED],
)
def worse_late(reading: Reading, compared: str) -> Estimate:
    """Late in training, too, the error is smaller without attention. Statistic: mean of {compared}
    over the lowest third of the residual norms common to all runs
    """
    return reading.late("residual", compared)


@figure_5.trend("section 4.3", at_most(0.0, f"a sign; {SEEDS}"))
def not_worse_at_start(reading: Reading) -> Estimate:
    """At the initialisation the error is not smaller without attention. Statistic: mean difference
    before the first step
    """
    return reading.at_start()


@figure_5.correlation(
    "section 4.3",
    at_least(0.0, f"a sign; {SEEDS}"),
    each=lambda reading: [{"attention": name} for name in WITH],
)
def residual_drives_the_error(reading: Reading, attention: str) -> Estimate:
    """GPT-2 {attention} attention: the residual drives the difference between Hessian and GGN to
    zero during training. Statistic: rank correlation of error and residual norm through a run, mean
    over seeds
    """
    return reading.rank_with_error("residual", WITH[attention])


@figure_5.trend(
    "section 4.3",
    at_least(0.9, f"as for attention with norm weights; {SEEDS}", source="ours"),
)
def worse_without_norm_weights(reading: Reading) -> Estimate:
    """Attention makes for the larger error where no LayerNorm has weights as well, so these are not
    what does it. Statistic: share of the residual norms at which the mean error of GPT-2 without
    norm weights is above that without attention
    """
    return reading.share("residual", pairs=Pairs(first=NO_NORM_WEIGHTS))
