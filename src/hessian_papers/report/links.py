"""The addresses of pages and of what they show, seen from one of them."""

from collections.abc import Mapping

from hessian_papers.ledger.record import StatementRecord
from hessian_papers.report.entries import anchor

# The page of all papers, and that of the state and the assumptions of each statement.
FRONT, STATES = "index.html", "states.html"


def address(part: str) -> str:
    """The file of a document, in the folder of the front.

    Example:
        >>> address(FRONT), address("somebody2030"), address("somebody2030/figure")
        ('index.html', 'somebody2030.html', 'somebody2030/figure.html')
    """
    return part if part in (FRONT, STATES) else f"{part}.html"


class Links:
    """The addresses of elements, seen from one document.

    Args:
        part: the document, as :func:`hessian_papers.report.build` takes it.
        studies: the paper on whose pages each study is shown.
    """

    def __init__(self, part: str, studies: Mapping[str, str]) -> None:
        self._part, self._studies = part, studies

    @property
    def root(self) -> str:
        """The way from the document to the folder of the front."""
        return "../" if "/" in self._part else ""

    def _to(self, part: str, target: str) -> str:
        if self._part in ("", part):
            return f"#{target}"
        return f"{self.root}{address(part)}#{target}"

    def link(self, paper: str, target: str) -> str:
        """The address of an element of a paper's page, or of the front, which is no paper's."""
        # The table of states is the one element of a page of its own that is no paper's.
        return self._to(paper or (STATES if target == "states" else FRONT), target)

    def figure_page(self, study: str) -> str:
        """The address of a study's figure."""
        return self._of(study, anchor("figure", study))

    def _of(self, study: str, target: str) -> str:
        return self._to(f"{self._studies[study]}/{study}", target)

    def row(self, statement: StatementRecord) -> str:
        """The address of a statement's first row."""
        home = statement.cases[0].study
        if home is not None and home in self._studies:
            return self._of(home, anchor("claim", f"{home}/{statement.id}"))
        return self.link(statement.paper, anchor("claim", f"{statement.paper}/{statement.id}"))
