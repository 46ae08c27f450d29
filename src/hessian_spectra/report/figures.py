"""A paper's section of the page: its figures, each with its claims and where it comes from."""

import base64
import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hessian_spectra.drawing.record import FigureRecord
from hessian_spectra.ledger.record import ClaimRecord
from hessian_spectra.papers import paper
from hessian_spectra.report.claims import claim_list
from hessian_spectra.report.html import Html, anchor, join, prose, tag
from hessian_spectra.report.verdicts import run_name, setting

# Widths at which an override example shows something: another than the study's own is taken.
_WIDTHS = (50, 20)


def image_uri(png: bytes) -> str:
    """A PNG image as a data URI."""
    return "data:image/png;base64," + base64.b64encode(png).decode("ascii")


def override(study: str, config: Mapping[str, Any]) -> str:
    """One override of the study's configuration as an example, valid for every study.

    The width, which is what most readers want to change; without one, the seed.

    Example:
        >>> override("mine", {"width": 10, "seed": 0}), override("other", {"seed": 0})
        ('studies.mine.width=50', 'studies.other.seed=1')
    """
    width = config.get("width")
    if isinstance(width, int) and not isinstance(width, bool):
        return f"studies.{study}.width={next(w for w in _WIDTHS if w != width)}"
    seed = config.get("seed", 0)
    return f"studies.{study}.seed={int(seed) + 1}"


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _flat(record: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested mappings as one, their names joined by dots."""
    flat: dict[str, Any] = {}
    for name, value in record.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{name}.")
        else:
            flat[f"{prefix}{name}"] = value
    return flat


def facts_table(facts: Mapping[str, Any], caption: str) -> Html:
    """Names and values, one row each, in the order given; nested names are joined by dots."""
    rows = [
        tag("tr", tag("th", name, scope="row"), tag("td", tag("code", _shown(value))))
        for name, value in _flat(facts).items()
    ]
    return tag("table", tag("caption", caption), tag("tbody", *rows), class_="facts")


def _departures(figure: FigureRecord) -> Html | None:
    """The settings that are not the paper's, folded away."""
    if not figure.departs:
        return None
    rows = [
        tag(
            "tr",
            tag("th", setting(name), scope="row"),
            tag("td", tag("code", _shown(here))),
            tag("td", tag("code", _shown(theirs))),
        )
        for name, (here, theirs) in figure.departs.items()
    ]
    heads = (tag("th", text, scope="col") for text in ("setting", "here", "the paper’s"))
    noun = "setting is" if len(rows) == 1 else "settings are"
    return tag(
        "details",
        tag("summary", f"{len(rows)} {noun} not the paper’s"),
        tag("table", tag("thead", tag("tr", *heads)), tag("tbody", *rows), class_="facts"),
    )


def _command(label: str, command: str) -> Html:
    return tag("div", tag("dt", label), tag("dd", tag("code", command)))


def _provenance(figure: FigureRecord) -> Html:
    change = override(figure.study, figure.config)
    package = figure.package.replace(".", "/")
    rows = [
        _command("make it", figure.command),
        _command("change it", f"dvc exp run -S {shlex.quote(change)}"),
        _command(
            "without DVC", f"python -m pipelines.figures only={figure.study} {shlex.quote(change)}"
        ),
    ]
    sources = join(
        "Computed by ",
        tag("code", f"src/{package}/study.py"),
        ", drawn by ",
        tag("code", f"src/{package}/figure.py"),
        ", configured in ",
        tag("code", f"conf/studies/{figure.paper}/{figure.study}.yaml"),
        ".",
    )
    config = tag(
        "details",
        tag("summary", "Configuration, digest ", tag("code", figure.digest)),
        facts_table(figure.config, f"Resolved configuration of {figure.study}"),
    )
    return tag(
        "div",
        tag("dl", *rows, class_="commands"),
        tag("p", sources),
        config,
        class_="provenance",
    )


def _facts(figure: FigureRecord) -> Html:
    """What a recorded run was, folded away."""
    return tag(
        "details",
        tag("summary", "What was run, on what, for how long"),
        facts_table(figure.facts, f"Facts of the recorded run of {figure.study}"),
    )


def _card(figure: FigureRecord, reports: Path, recorded: bool = False) -> Html:
    """One run of a study: its image, the text under it, and how far it is from the paper's."""
    name = run_name(recorded, figure.scale)
    image = tag(
        "img",
        src=image_uri(figure.png),
        alt=f"{figure.artifact}, {name}: {figure.title}",
        width=str(figure.width),
        height=str(figure.height),
    )
    pdf = None
    if figure.pdf.is_file():
        pdf = tag("a", "PDF", href=figure.pdf.relative_to(reports).as_posix())
    text = tag(
        "figcaption",
        tag("p", tag("strong", name[0].upper() + name[1:]), ". ", prose(figure.caption), " ", pdf),
        _departures(figure),
        _facts(figure) if recorded else None,
    )
    return tag("figure", tag("div", image, class_="plate"), text)


def figure_article(figure: FigureRecord, claims: Sequence[ClaimRecord], reports: Path) -> Html:
    """One figure with everything that belongs to it.

    Args:
        figure: the figure; beside it stands that of the recorded run, if there is one.
        claims: the claims that its study's arrays were held against.
        reports: the folder that the page's links are relative to.
    """
    cards = [_card(figure, reports)]
    if figure.recorded is not None:
        cards.append(_card(figure.recorded, reports, recorded=True))
    return tag(
        "article",
        tag("h3", tag("span", figure.artifact, class_="artifact"), " ", prose(figure.title)),
        tag("div", *cards, class_="images"),
        claim_list(claims, f"Claims measured on {figure.study}", figure.paper),
        _provenance(figure),
        id=anchor("figure", figure.study),
    )


def paper_section(
    key: str,
    articles: Sequence[Html],
    others: Sequence[ClaimRecord],
) -> Html:
    """A paper with its figures, then those of its claims that stand under none of them."""
    about = paper(key)
    credit = ". ".join(part.rstrip(".") for part in (about.authors, about.note) if part)
    head = join(
        tag("h2", about.title),
        tag("p", f"{credit}. " if credit else None, "Key: ", tag("code", key), class_="credit"),
    )
    rest = None
    if others:
        rest = tag(
            "article",
            tag("h3", "Claims without a figure of their own"),
            claim_list(others, f"Further claims of {key}", key),
        )
    return tag("section", head, *articles, rest, id=anchor("paper", key))
