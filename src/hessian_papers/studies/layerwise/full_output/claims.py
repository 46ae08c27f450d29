"""What appendix C of wu2022dissecting says of the full Hessian."""

from hessian_papers.ledger.bounds import Estimate, at_least, at_most, mean_of
from hessian_papers.ledger.statements import Statements, over
from hessian_papers.studies.layerwise.full_output.reading import CORRECTED, PRINTED, Reading

OPEN = "'reasonably accurate' has no number; set after a first look at small networks on digits"
VARIANCE = (
    "The form takes each layer's input for its mean. What the inputs vary by is left out of the "
    "values, which are then too small, and turns the vectors."
)
NO_MATTER = (
    "Both forms leave out what the inputs vary by, which is much more than the lengths of the mean "
    "inputs differ from layer to layer."
)

statements = Statements(
    Reading,
    fields=lambda reading: {
        "seeds": len(reading["seed"]),
        "epochs": int(reading["epoch"]),
        "classes": int(reading["classes"]),
    },
).having(otherwise=VARIANCE)


@statements.value("appendix C", at_most(0.25, OPEN), each=over("network"))
def top_values(reading: Reading, network: str) -> Estimate:
    """{network}: the full Hessian's top eigenvalues are nearly σ_i ‖w_i‖², of the eigenpairs of the
    second derivative by the outputs of all layers with the mean inputs attached (statistic: mean
    relative error of as many as there are classes, less one, mean over {seeds} networks after
    {epochs} epochs; interval: Student's t).
    """
    return reading.value_error(network, PRINTED)


@statements.value("appendix C", at_least(0.5, OPEN), each=over("network"))
def top_space(reading: Reading, network: str) -> Estimate:
    """{network}: its top eigenspace is nearly that of the w_i (statistic: overlap of the spaces of
    as many eigenvectors as there are classes, less one, mean over {seeds} networks after {epochs}
    epochs; interval: Student's t).
    """
    return mean_of(reading.space(network, PRINTED))


@statements.value(
    "appendix C, beyond the paper",
    at_least(0.0, "no worse", source="ours"),
    each=over("network"),
    otherwise=NO_MATTER,
)
def lengths_first(reading: Reading, network: str) -> Estimate:
    """{network}: weighing the layers by the lengths of their mean inputs before eigenvectors are
    taken, which is exact for constant inputs, gives a space that is nearer (statistic: its overlap
    less that of the printed form, of as many eigenvectors as there are classes, less one, mean over
    {seeds} networks; interval: Student's t).
    """
    return mean_of(reading.space(network, CORRECTED) - reading.space(network, PRINTED))
