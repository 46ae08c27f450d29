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
from hessian_spectra.report.evidence import Evidence
from hessian_spectra.report.html import Html, anchor, join, prose, tag

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


def facts_table(facts: Mapping[str, Any], caption: str) -> Html:
    """Names and values, one row each, in the order given."""
    rows = [
        tag("tr", tag("th", name, scope="row"), tag("td", tag("code", _shown(value))))
        for name, value in facts.items()
    ]
    return tag("table", tag("caption", caption), tag("tbody", *rows), class_="facts")


def _command(label: str, command: str) -> Html:
    return tag("div", tag("dt", label), tag("dd", tag("code", command)))


def _provenance(figure: FigureRecord, pdf: str | None) -> Html:
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
    link = tag("p", tag("a", "PDF of this figure", href=pdf)) if pdf else None
    config = tag(
        "details",
        tag("summary", "Configuration, digest ", tag("code", figure.digest)),
        facts_table(figure.config, f"Resolved configuration of {figure.study}"),
    )
    return tag(
        "div",
        tag("dl", *rows, class_="commands"),
        tag("p", sources),
        link,
        config,
        class_="provenance",
    )


def _card(png: bytes, width: int, height: int, alt: str, caption: Html) -> Html:
    return tag(
        "figure",
        tag(
            "div",
            tag(
                "img",
                src=image_uri(png),
                alt=alt,
                width=str(width),
                height=str(height),
            ),
            class_="plate",
        ),
        tag("figcaption", caption),
    )


def _recorded(figure: FigureRecord, evidence: Evidence) -> Html:
    label = f"Claims measured on the recorded run of {figure.study}"
    facts = tag(
        "details",
        tag("summary", "What was run, on what, for how long"),
        facts_table(evidence.facts, f"Facts of the recorded run of {figure.study}"),
    )
    caption = join(
        tag("strong", "Recorded run at the paper's scale."),
        facts,
        claim_list(evidence.claims, label, figure.paper) or "",
    )
    alt = f"{figure.artifact} at the paper's scale, a recorded run: {figure.title}"
    return _card(evidence.png, evidence.width, evidence.height, alt, caption)


def figure_article(
    figure: FigureRecord,
    claims: Sequence[ClaimRecord],
    evidence: Evidence | None,
    pdf: Path | None,
) -> Html:
    """One figure with everything that belongs to it.

    Args:
        figure: the figure.
        claims: the claims that its study's arrays were held against.
        evidence: a recorded run at the paper's scale, if there is one.
        pdf: where the PDF is, relative to the page, if it is there.
    """
    name = anchor("figure", figure.study)
    alt = f"{figure.artifact}: {figure.title}"
    images = [_card(figure.png, figure.width, figure.height, alt, prose(figure.caption))]
    if evidence is not None:
        images.append(_recorded(figure, evidence))
    return tag(
        "article",
        tag("h3", tag("span", figure.artifact, class_="artifact"), " ", prose(figure.title)),
        tag("div", *images, class_="images"),
        claim_list(claims, f"Claims measured on {figure.study}", figure.paper),
        _provenance(figure, pdf.as_posix() if pdf else None),
        id=name,
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
