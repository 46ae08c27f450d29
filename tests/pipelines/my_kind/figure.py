"""Two eigenvalues, exact and numerical."""

from matplotlib.figure import Figure

from hessian_papers.studies.scalar.my_kind.reading import Reading
from hessian_spectra.pictures import style


def draw(reading: Reading) -> Figure:
    """Both sides against the rank."""
    figure, grid = style.panels(1, 1, height=2.0, squeeze=False)
    axes = grid[0, 0]
    axes.plot([1, 2], reading.numerics["eigenvalues"], color=style.BLUE, **style.NUMERIC)
    axes.plot([1, 2], reading.closed_form["eigenvalues"], color=style.BLUE, **style.EXACT_RING)
    axes.set_xlabel("rank of the eigenvalue, ascending")
    axes.set_ylabel("eigenvalue")
    return figure


def caption(reading: Reading) -> str:
    """What is to be seen."""
    return f"Both eigenvalues; closed form and numbers differ by {reading.error:.1e} of the larger."
