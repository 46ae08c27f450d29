"""What appendix G.5 of wu2022dissecting says of gradients by class and score."""

from hessian_papers.ledger.bounds import Estimate, at_least, at_most, mean_of, within
from hessian_papers.ledger.statements import Labels, Print, Statements
from hessian_papers.ledger.verdicts import exists, typically
from hessian_papers.studies.layerwise.logit_gradients.reading import Reading
from hessian_papers.studies.layerwise.reading import FIRST, LAST, each_network

OPEN = "the paper has pictures alone; half is ours, set before anything was measured"

statements = Statements(Reading)


@statements.statement(
    "appendix G.5",
    exists,
    at_least(0.5, OPEN, source="ours"),
    id="gradients-cluster-by-score-at-initialisation",
    each=each_network,
    book="readings",
)
def by_score_at_first(reading: Reading, network: str) -> Estimate:
    """Before training the mean gradients of each class and score lie together by the score.

    Statistic: fraction of them whose nearest neighbour is of the same score, mean over layers but
    the last and networks; interval: Student's t.
    """
    return mean_of(reading.hidden("by_score", network, FIRST).mean(axis=1))


def _plain(reading: Reading) -> list[Labels]:
    """The architectures without batch normalisation, of which Figure 30 shows one."""
    return [case for case in each_network(reading) if not case["network"].endswith("-BN")]


@statements.statement(
    "appendix G.5",
    exists,
    at_most(0.5, OPEN, source="ours"),
    id="gradients-cluster-weakly-by-class",
    each=_plain,
    book="readings",
)
def weakly_by_class_at_last(reading: Reading, network: str) -> Estimate:
    """After training they lie together by the class but very weakly.

    Statistic: fraction of them whose nearest neighbour is of the same class, mean over layers but
    the last and networks; interval: Student's t.
    """
    return mean_of(reading.hidden("by_class", network, LAST).mean(axis=1))


@statements.statement(
    "appendix G.5",
    typically,
    at_least(0.0, "more than by chance", source="ours"),
    id="gradients-cluster-by-class-more-than-by-chance",
    each=each_network,
    book="beyond",
)
def more_by_class_than_chance(reading: Reading, network: str) -> Estimate:
    """After training they lie together by the class more than by chance.

    Statistic: fraction of them whose nearest neighbour is of the same class, minus that by chance,
    mean
    over layers but the last and networks; interval: Student's t.
    """
    return mean_of(reading.hidden("by_class", network, LAST).mean(axis=1) - reading.chance)


@statements.identity(
    "equation (271)",
    within(1e-6, "round-off in float64 where a softmax is sure of its classes"),
    id="output-hessian-is-a-mean-over-samples",
    printed=Print(
        "M = E_ij[Γ_ijᵀ Γ_ij], over the means of classes and scores",
        lambda reading: reading.worst("printed_error"),
    ),
)
def the_moment_is_of_samples(reading: Reading) -> float:
    """E[M] is the mean over samples of Σ_j γ_j γ_jᵀ, the rows of Q G; of their means by class and
    score it lacks what varies within a class, and the sum over scores is no mean.

    Statistic: largest ‖F − E[M]‖ / ‖E[M]‖ over all networks, layers and both epochs.
    """
    return reading.worst("moment_error")
