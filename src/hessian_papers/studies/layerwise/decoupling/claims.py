"""What wu2022dissecting says of layer-wise Hessians and the decoupling conjecture."""

import numpy as np

from hessian_papers.ledger.bounds import Estimate, at_least, at_most, mean_of
from hessian_papers.ledger.statements import Statements
from hessian_papers.ledger.verdicts import everywhere, exists, printed, typically
from hessian_papers.ledger.words import reading_of
from hessian_papers.studies.layerwise.decoupling import architectures
from hessian_papers.studies.layerwise.decoupling.reading import NORMALISED, Reading
from hessian_papers.studies.layerwise.decoupling.tables import QUANTITIES, cases, printed_range
from hessian_papers.studies.layerwise.decoupling.texts import OPEN, SMALL

statements = Statements(
    Reading,
    values={
        "output": "output Hessian E[M]",
        "hessian": "layer-wise Hessian",
        "aligned": "the squared dot product of the first eigenvector of E[x x'] and the mean input",
        "ratio": "λ₁/λ₂ of E[x x']",
        "nearest": "the nearest Kronecker product",
        "corrected": "EKFAC's matrix",
        "fc": "fully connected",
        "conv": "convolutional",
    },
).having(otherwise=SMALL)
true_labels = statements.about("wu2022dissecting", "Figure 2", "Figure 11", "Figure 28")
random_labels = statements.about("wu2022dissecting", "Figure 3")


@statements.statement(
    "section 3, decoupling conjecture",
    typically,
    at_most(0.5, OPEN, source="ours"),
    id="kronecker-form-is-near-the-hessian",
    each=architectures.NETWORKS,
    book="readings",
)
def conjecture(reading: Reading, network: str) -> Estimate:
    """The layer-wise Hessian is nearly the Kronecker product of two expectations.

    Statistic: norm of the difference over that of the Hessian, both spectral, in the layer where it
    is largest, mean over seeds; interval: Student's t.
    """
    return mean_of(reading.of("spectral", network).max(axis=1))


@statements.statement(
    "section 3, beyond the paper",
    typically,
    at_most(0.0, "a sign: theory has the error vanish with the width", source="ours"),
    id="error-falls-with-size",
    each=architectures.sizes,
    name="error-of-{larger}-below-{smaller}",
    book="beyond",
)
def error_by_size(reading: Reading, larger: str, smaller: str, what: str) -> Estimate:
    """Wider and deeper networks have a smaller error of the Kronecker form.

    Statistic: norm of the difference over that of the Hessian, both spectral, in the layer where it
    is largest, the larger network's minus the smaller one's, mean over seeds; interval: Student's
    t.
    """
    worst = [reading.of("spectral", name).max(axis=1) for name in (larger, smaller)]
    return mean_of(worst[0] - worst[1])


@statements.statement(
    "section 4, beyond the paper",
    typically,
    at_most(0.0, "a sign: the theorems are about networks before training", source="ours"),
    id="error-is-smaller-before-training",
    each=architectures.followed,
    book="beyond",
)
def error_before_training(reading: Reading, network: str) -> Estimate:
    """The product's error is smaller before training than after training.

    Statistic: its Frobenius norm over the Hessian's, mean over layers, the former's minus the
    latter's; mean over seeds; interval: Student's t.
    """
    before, after = (reading.frobenius(network, epoch=epoch) for epoch in (0, -1))
    return mean_of((before - after).mean(axis=1))


@true_labels.statement(
    "section 5.1, Figure 2",
    typically,
    reading_of("nearly"),
    id="kronecker-form-has-the-top-eigenvalues",
    each=architectures.PLAIN,
)
def top_values(reading: Reading, network: str) -> Estimate:
    """The product has nearly the Hessian's top eigenvalues.

    Statistic: mean relative error of as many as there are classes, minus one, in the layer where it
    is largest, mean over seeds; interval: Student's t.
    """
    return reading.relative_values(network, reading.top("approximation", network))


@true_labels.statement(
    "section 5.1, Figure 2",
    typically,
    at_least(0.5, OPEN, source="ours"),
    id="kronecker-form-has-the-top-eigenspace",
    each=architectures.PLAIN,
    book="readings",
)
def top_space(reading: Reading, network: str) -> Estimate:
    """The product has nearly the Hessian's top eigenspace.

    Statistic: overlap of the spaces of as many eigenvectors as there are classes, minus one, in the
    layer where it is smallest, mean over seeds; interval: Student's t.
    """
    return mean_of(reading.top_overlap(network).min(axis=1))


@true_labels.statement(
    "appendix G.4, Figure 28",
    exists,
    at_least(10.0, "'highly nontrivial' is taken as ten times what chance gives", source="ours"),
    id="overlap-with-normalisation-is-no-chance",
    each=architectures.NORMALISED_ONES,
    book="readings",
)
def top_space_is_no_chance(reading: Reading, network: str) -> Estimate:
    """With batch normalisation the overlap of the top eigenspaces of the product and the Hessian is
    still highly nontrivial.

    Statistic: that of as many eigenvectors as there are classes, minus one, over that of random
    spaces, in the layer where it is smallest, mean over seeds; interval: Student's t.
    """
    return mean_of((reading.top_overlap(network) / reading.chance(network)).min(axis=1))


@true_labels.statement(
    "appendix G.4, Figure 28",
    exists,
    at_least(0.0, "a sign"),
    id="kronecker-form-is-worse-with-normalisation",
    each=architectures.pairs,
)
def worse_with_normalisation(reading: Reading, network: str) -> Estimate:
    """With batch normalisation the product has minus of the Hessian's top eigenspace.

    Statistic: overlap of the spaces of as many eigenvectors as there are classes, minus one, mean
    over layers, without minus with it; mean over seeds; interval: Student's t.
    """
    without, with_ = (reading.top_overlap(name) for name in (network, network + NORMALISED))
    return mean_of(without.mean(axis=1) - with_.mean(axis=1))


@statements.statement(
    "section 5.2",
    typically,
    reading_of("nearly"),
    id="spectra-look-alike",
    each=architectures.PLAIN,
)
def spectra_alike(reading: Reading, network: str) -> Estimate:
    """The Hessian's top eigenvalues are those of E[M] times the first of E[x x'].

    Statistic: mean relative error of as many as there are classes, minus one, in the layer, of no
    fewer outputs, where it is largest, mean over seeds; interval: Student's t.
    """
    first = reading.throughout("input", network)[:, -1, :, :1]
    top = slice(reading.outliers(network))
    return reading.relative_values(
        network, reading.throughout("output", network)[:, -1, :, top] * first
    )


@true_labels.statement(
    "section 5.2, Figure 3(a, b)",
    typically,
    at_least(0.5, "more than half of the layers; the paper shows some"),
    id="gap-after-the-classes",
    each=architectures.matrices(random=False),
)
def gap_after_classes(reading: Reading, network: str, matrix: str) -> Estimate:
    """Output Hessian and layer-wise Hessian have their eigengap after as many eigenvalues as there
    are classes, minus one.

    Statistic: fraction of layers of more outputs than classes in which the largest ratio of
    neighbours is there, among twice as many, mean over seeds; interval: Student's t.
    """
    return _gap(reading, network, matrix)


@random_labels.statement(
    "section 5.2, Figure 3(c)",
    exists,
    at_most(0.5, "less than half of the layers; the paper shows one"),
    id="no-gap-with-random-labels",
    each=architectures.matrices(random=True),
    otherwise="The networks may not be at a minimum, or have weights enough for all labels.",
)
def no_gap_after_classes(reading: Reading, network: str, matrix: str) -> Estimate:
    """With random labels there is no eigengap after as many eigenvalues as there are classes, minus
    one.

    Statistic: fraction of layers of more outputs than classes in which the largest ratio of
    neighbours is there, among twice as many, mean over seeds; interval: Student's t.
    """
    return _gap(reading, network, matrix)


def _gap(reading: Reading, network: str, matrix: str) -> Estimate:
    of_output = reading.throughout("output", network)[:, -1]
    return reading.gap(network, of_output if matrix == "output" else reading.of(matrix, network))


@true_labels.statement(
    "appendix G.2, Figure 21",
    typically,
    reading_of("usually"),
    id="eigenvectors-are-nearly-of-rank-one",
    each=architectures.PLAIN,
)
def eigenvectors_are_products(reading: Reading, network: str) -> Estimate:
    """Matricised, the top eigenvectors are nearly of rank one: their largest singular value is
    above half of their Frobenius norm.

    Statistic: fraction of eigenvectors and layers for which it is, mean over seeds; interval:
    Student's t.
    """
    ratios = reading.of("rank_one", network)
    return mean_of((ratios > 0.5).sum(axis=(1, 2)) / np.isfinite(ratios).sum(axis=(1, 2)))


@true_labels.statement(
    "appendix F.3, Figures 11 to 15",
    everywhere,
    at_least(0.5, "more than half of each", source="ours"),
    id="eigenvectors-lie-along-the-mean-input",
    each=architectures.PLAIN,
    book="readings",
)
def along_the_mean(reading: Reading, network: str) -> Estimate:
    """The top eigenvectors lie along the first eigenvector of E[x x'].

    Statistic: their correspondence with it, mean over as many as there are classes, minus one, in
    the layer where it is smallest, mean over seeds; interval: Student's t.
    """
    return mean_of(reading.top("along_first", network).mean(axis=-1).min(axis=1))


@true_labels.statement(
    "section 3.1, Tables 6, 7",
    typically,
    at_least(0.91, "the smallest in Tables 6 and 7 is 0.910", source="Table 7"),
    id="first-eigenvector-is-the-mean-input",
    each=architectures.PLAIN,
)
def first_input_is_the_mean(reading: Reading, network: str) -> Estimate:
    """The first eigenvector of E[x x'] is the mean input.

    Statistic: squared dot product of both, in the layer but the first where it is smallest, mean
    over seeds; interval: Student's t.
    """
    return mean_of(reading.of("mean_aligned", network)[:, 1:].min(axis=1))


@true_labels.statement(
    "section 3.1, appendix F.4, Figure 19",
    everywhere,
    at_least(1.81, "the smallest in Tables 6 and 7", source="Table 7"),
    id="input-is-of-rank-one-throughout",
    each=architectures.PLAIN,
)
def input_is_of_rank_one(reading: Reading, network: str) -> Estimate:
    """All along training E[x x'] is nearly of rank one.

    Statistic: its first eigenvalue over the second, in the layer but the first and at the kept
    epoch where it is smallest, mean over seeds; interval: Student's t.
    """
    return mean_of(reading.ratios(network).min(axis=(1, 2)))


@true_labels.statement(
    "appendix F.4, Figure 20",
    everywhere,
    at_least(0.5, "more than half, where the paper has all epochs of a layer", source="ours"),
    id="as-many-large-eigenvalues-as-classes-throughout",
    each=architectures.PLAIN,
    book="readings",
)
def output_has_as_many_as_classes(reading: Reading, network: str) -> Estimate:
    """All along training E[M] has around as many large eigenvalues as there are classes.

    Statistic: fraction of kept epochs, and layers of more outputs than classes, in which the
    largest ratio of neighbours is within two of there, mean over seeds; interval: Student's t.
    """
    return reading.about_as_many(network)


@true_labels.statement(
    "appendix G.4, Table 9",
    typically,
    at_most(0.803, "the largest in Table 9", source="Table 9"),
    id="first-eigenvector-is-no-mean-after-normalisation",
    each=architectures.NORMALISED_ONES,
)
def mean_is_gone(reading: Reading, network: str) -> Estimate:
    """With batch normalisation the first eigenvector of E[x x'] is not the mean input.

    Statistic: squared dot product of both, in the fully connected layer but the first where it is
    largest, mean over seeds; interval: Student's t.
    """
    return mean_of(reading.of_kind("mean_aligned", network, "fc").max(axis=1))


@true_labels.statement(
    "appendix G.4, Table 9",
    typically,
    at_most(1.89, "the largest in Table 9", source="Table 9"),
    id="input-is-far-from-rank-one-after-normalisation",
    each=architectures.NORMALISED_ONES,
)
def rank_one_is_gone(reading: Reading, network: str) -> Estimate:
    """With batch normalisation E[x x'] is not nearly of rank one.

    Statistic: its first eigenvalue over the second, in the fully connected layer but the first
    where it is largest, mean over seeds; interval: Student's t.
    """
    return mean_of(reading.of_kind("spectral_ratio", network, "fc").max(axis=1))


@true_labels.statement(
    "appendices F.1 and G.4, Table {table}",
    printed,
    printed_range,
    id="table-{table}",
    each=cases,
    name="table-{table}-{dataset}-{network}-{kind}-{quantity}",
)
def row_of_a_table(
    reading: Reading, network: str, kind: str, quantity: str, **row: object
) -> Estimate:
    """The squared dot product of the first eigenvector of E[xxᵀ] and the mean input, and λ₁/λ₂, of
    the layers but the first, are within the range that is printed.

    Statistic: mean over layers and seeds; interval: Student's t over seeds.
    """
    return mean_of(reading.of_kind(QUANTITIES[quantity], network, kind).mean(axis=1))


@statements.statement(
    "section 3, beyond the paper",
    typically,
    at_most(1.5, "half as much again", source="ours: what any Kronecker product can reach"),
    id="hardly-another-product-is-nearer",
    each=architectures.NETWORKS,
    book="beyond",
)
def nearly_the_nearest(reading: Reading, network: str) -> Estimate:
    """Hardly another Kronecker product comes closer to the Hessian.

    Statistic: its distance over that of the nearest one, both in the Frobenius norm, in the layer
    where it is largest, mean over seeds; interval: Student's t.
    """
    errors = [reading.frobenius(network, name) for name in ("missed", "nearest_missed")]
    return mean_of((errors[0] / errors[1]).max(axis=1))


@statements.statement(
    "section 3, beyond the paper",
    typically,
    at_most(0.1, "a tenth", source="ours: what a user of the other matrix gains"),
    id="other-matrices-have-no-more-of-the-top",
    each=architectures.others,
    book="beyond",
)
def has_no_more_of_the_top(reading: Reading, network: str, other: str) -> Estimate:
    """The nearest Kronecker product and EKFAC's matrix have hardly more of the Hessian's top
    eigenspace than the product of the expectations, that of KFAC.

    Statistic: difference of their overlaps, of as many eigenvectors as there are classes, minus
    one, mean over layers and seeds; interval: Student's t.
    """
    gained = reading.top_overlap(network, f"{other}_overlap") - reading.top_overlap(network)
    return mean_of(gained.mean(axis=1))
