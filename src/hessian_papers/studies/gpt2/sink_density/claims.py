"""What the paper says of attention sinks and the Hessian's spectrum of a language model."""

import numpy as np

from hessian_papers.ledger.bounds import Estimate, at_least, equal_to, within
from hessian_papers.ledger.statements import Statements
from hessian_papers.ledger.verdicts import everywhere, printed, typically
from hessian_papers.ledger.words import reading_of
from hessian_papers.studies.gpt2.seeds import estimate, exactly
from hessian_papers.studies.gpt2.sink_density.reading import ENDS, Reading

SAID = 'Section 4.3, "Attention Sinks Amplify Outlier Eigenvalues"'
SET = "Appendix D.1.6"
CONTROL = "our control"
OURS = "ours"
GROWS = "the sign of a growth"
MORE = "the sign of a difference"
FEW = "a rank correlation of 1 is a monotone trend; 0.1 for one swap of neighbours among few rungs"

SMALL = (
    "The paper has one model of 124M parameters, whose own attention on the first token is 0.32, "
    "and no interval. Smaller models after a shorter training differ: in some the sinks move the "
    "largest eigenvalue by a third, in others by a few per cent, and not always upwards."
)
LOSS = (
    "The edit raises the loss, and a network with a higher loss can have larger eigenvalues for "
    "that reason alone; the paper has no control."
)
BOTH_IN_TIME = (
    "Attention and eigenvalue both move with the step, whatever the one has to do with the other; "
    "early in training the largest eigenvalue falls for other reasons. A small model in a short "
    "training makes no sinks: its attention on the first token stays about even."
)

statements = Statements(
    Reading,
    values={
        "largest": "largest",
        "smallest": "most negative",
        "middle-token": "the same attention on a token in the middle",
        "random-weights": "a random change of the weights with the same rise of the loss",
    },
)
figure_6 = statements.about("singh2026cracking", "Figure 6").having(otherwise=SMALL)


def _ends(reading: Reading) -> list[dict[str, str]]:
    return [{"end": end} for end in ENDS]


def _controls(reading: Reading) -> list[dict[str, str]]:
    return [{"end": end, "control": name} for end in ENDS for name in reading.controls]


@statements.identity(
    SET,
    within(1e-4, "the bias is found by root search, the attention is float32", source=OURS),
    id="asked-for-attention-is-reached",
    book="beyond",
)
def targets(reading: Reading) -> float:
    """Bias is added until the mean attention on the token, in the first head of all blocks, is what
    was asked for.

    Statistic: largest difference, of the first token and of the control.
    """
    return reading.missed


@statements.statement(
    SET,
    everywhere,
    within(1e-4, "the products are float32; Ritz values lie inside the spectrum", source="theorem"),
    id="no-eigenvalue-was-missed",
    otherwise="A search that ends at a small residual may have missed an eigenvalue: a smaller "
    "tolerance finds it.",
    book="beyond",
)
def edges(reading: Reading) -> float:
    """No Ritz value of the density's random vectors is beyond the extreme eigenvalues and their
    residuals, which were searched for apart.

    Statistic: largest distance, relative to the spectrum.
    """
    return reading.outside


@figure_6.statement(SAID, typically, at_least(0.0, GROWS), id="sinks-amplify-outliers", each=_ends)
def outliers_grow(reading: Reading, end: str) -> Estimate:
    """The more prominent the attention sink, the larger the outliers.

    Statistic: growth of an extreme eigenvalue from no edit to the strongest sink, as a fraction of
    itself, mean over seeds; interval: Student's t.
    """
    return estimate(exactly(reading.increase(end)))


@figure_6.statement(
    SAID,
    typically,
    at_least(1.0, FEW, tolerance=0.1),
    id="sinks-amplify-outliers-step-by-step",
    each=_ends,
)
def outliers_grow_steadily(reading: Reading, end: str) -> Estimate:
    """So it is from each attention sink to the next one.

    Statistic: rank correlation of attention and magnitude of an extreme eigenvalue along the
    ladder, mean over seeds; interval: Student's t.
    """
    return estimate(exactly(reading.monotone(end)))


@figure_6.statement(
    "caption of the figure", typically, at_least(0.0, GROWS), id="sinks-stretch-the-spectrum"
)
def spectrum_stretches(reading: Reading) -> Estimate:
    """Larger attention sinks stretch the spectrum.

    Statistic: growth of its range up to the strongest sink, as a fraction of itself, mean over
    seeds; interval: Student's t.
    """
    return estimate(exactly(reading.stretch))


@figure_6.statement(
    SAID,
    typically,
    at_least(0.0, MORE, source=CONTROL),
    id="sinks-do-more-than-a-control",
    otherwise=LOSS,
    each=_controls,
    book="beyond",
)
def more_than_a_control(reading: Reading, end: str, control: str) -> Estimate:
    """The sink on the first token makes an extreme eigenvalue larger than a control does.

    Statistic: its growth by the strongest sink, as a fraction of itself, minus that by the control,
    mean over seeds; interval: Student's t, paired.
    """
    return estimate(exactly(reading.beyond(end, control)))


@figure_6.statement(SAID, typically, reading_of("many"), id="many-eigenvalues-stay-near-zero")
def many_near_zero(reading: Reading) -> Estimate:
    """Many eigenvalues stay close to zero at the strongest sink.

    Statistic: fraction of all eigenvalues that are within a hundredth of the largest magnitude,
    mean over seeds; interval: Student's t.
    """
    return estimate(exactly(reading.near_zero[:, -1]))


@figure_6.statement(
    SET, printed, equal_to(0.32, "a tenth of it", tolerance=0.03), id="training-makes-a-sink"
)
def own_sink(reading: Reading) -> Estimate:
    """Training alone makes a sink: without an edit the mean attention on the first token in the
    edited heads is 0.32.

    Statistic: mean over seeds; interval: Student's t.
    """
    return estimate(exactly(reading.mass[:, 0]))


@figure_6.statement(
    "section 3.3, of sinks that emerge in training",
    typically,
    at_least(0.0, "a positive correlation"),
    id="largest-eigenvalue-grows-as-sinks-emerge",
    otherwise=BOTH_IN_TIME,
)
def sinks_of_training(reading: Reading) -> Estimate:
    """As sinks emerge in training, the largest eigenvalue grows.

    Statistic: rank correlation over the measured steps of the largest eigenvalue and the attention
    on the first token, mean over all heads; mean over seeds; interval: Student's t.
    """
    return estimate(exactly(reading.training_correlation))


@figure_6.statement(
    SAID, typically, at_least(0.0, GROWS), id="released-product-grows-as-well", book="beyond"
)
def grows_as_released(reading: Reading) -> Estimate:
    """With the product of the library that the figure was made with, which is wrong for the weights
    of layer norms, the largest eigenvalue grows as well.

    Statistic: its growth from no edit to the strongest sink, as a fraction of itself, mean over
    seeds; interval: Student's t.
    """
    weak, strong = reading.released("largest").T
    return estimate(exactly(strong / weak - 1))


@figure_6.statement(
    SET,
    typically,
    within(0.01, "a per cent would not show in a figure", source=OURS),
    id="released-product-has-the-extreme-eigenvalues",
    book="beyond",
)
def released_edges(reading: Reading) -> Estimate:
    """That product has nearly the same extreme eigenvalues.

    Statistic: the largest error of both, relative to themselves, without an edit and with the
    strongest, mean over seeds; interval: Student's t.
    """
    errors = [reading.released(end) / reading.of(end)[:, [0, -1]] - 1 for end in ENDS]
    return estimate(exactly(np.abs(errors).max(axis=(0, 2))))


@figure_6.statement(
    SET,
    typically,
    within(0.01, "a per cent would not show in a figure", source=OURS),
    id="released-product-has-the-density",
    book="beyond",
)
def released_density(reading: Reading) -> Estimate:
    """So it has nearly the same density at the strongest sink.

    Statistic: the largest fraction of the eigenvalues that it puts on the other side of a point,
    both densities by the same random vectors and smoothed alike, mean over seeds; interval:
    Student's t.
    """
    apart = reading.smoothed("cdf", "released_") - reading.smoothed("cdf")
    return estimate(exactly(np.abs(apart).max(axis=-1)))
