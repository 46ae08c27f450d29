"""The papers that the project reproduces, in the order in which they are shown."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Paper:
    """The reference by which a reader finds a paper.

    Args:
        key: the name by which claims and studies refer to it.
        title: its title.
        authors: its authors, as the copy at hand gives them.
        short: its title in few words, as a menu has it.
        note: what it is, where the title does not say so.
    """

    key: str
    title: str
    authors: str
    short: str
    note: str = ""


PAPERS: dict[str, Paper] = {
    paper.key: paper
    for paper in (
        Paper(
            "singh2024closed",
            "Closed form of the Hessian spectrum for some neural networks",
            "Sidak Pal Singh, Thomas Hofmann (2024)",
            "Closed form",
        ),
        Paper(
            "singh2024poster",
            "Closed form of the Hessian spectrum for some neural networks (poster)",
            "Sidak Pal Singh, Thomas Hofmann (2024)",
            "Closed form, poster",
            "The poster of the paper above: the same results, partly in another notation.",
        ),
        Paper(
            "singh2026cracking",
            "Cracking the Hessian: closed-form Hessian spectra for fundamental neural networks",
            "Sidak Pal Singh, Weronika Ormaniec, Thomas Hofmann (2026)",
            "Cracking the Hessian",
            "Under review without names; these are as anon2026data cites it.",
        ),
        Paper(
            "anon2026data",
            "How the Hessian spectrum of linear networks depends on data",
            "authors withheld for review (2026)",
            "Dependence on data",
        ),
        Paper(
            "wu2022dissecting",
            "Dissecting Hessian: understanding common structure of Hessian in neural networks",
            "Yikai Wu, Xingyu Zhu, Chenwei Wu, Annie Wang, Rong Ge (2022)",
            "Dissecting Hessian",
        ),
    )
}


def paper(key: str) -> Paper:
    """The paper with this key; a key that is not listed stands for its own titles.

    Example:
        >>> paper("singh2024closed").title
        'Closed form of the Hessian spectrum for some neural networks'
        >>> paper("someone2030").title
        'someone2030'
    """
    return PAPERS.get(key, Paper(key, key, "", key))


def reading_order(key: str) -> tuple[int, str]:
    """A sort key: the listed papers in their order, then all others by name.

    Example:
        >>> sorted(["someone2030", "singh2026cracking", "singh2024closed"], key=reading_order)
        ['singh2024closed', 'singh2026cracking', 'someone2030']
    """
    position = list(PAPERS).index(key) if key in PAPERS else len(PAPERS)
    return position, key
