"""What is known about the eigenvalues of a symmetric 2 x 2 matrix."""

from hessian_papers.ledger.bounds import within
from hessian_papers.ledger.statements import Statements
from hessian_papers.studies.scalar.my_kind.reading import Reading

statements = Statements(Reading)


@statements.identity("{artifact}", within(1e-10, "float64 leaves about 1e-15"))
def both_eigenvalues(reading: Reading) -> float:
    """Both eigenvalues of the closed form are those of the matrix"""
    return reading.error
