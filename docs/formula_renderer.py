"""A renderer of formulas: MathML, which browsers draw themselves, with nothing to load."""

from typing import Any

from docutils import nodes

from hessian_papers.formulas import mathml, pieces


def inline(translator: Any, node: nodes.math) -> None:
    """Write a formula within a line; a long one in pieces, between which a line may break."""
    translator.body.append(" ".join(map(mathml, pieces(node.astext()))))
    raise nodes.SkipNode


def block(translator: Any, node: nodes.math_block) -> None:
    """Write a formula on a line of its own."""
    drawn = mathml(node.astext().strip())
    translator.body.append(f'<p class="formula">{drawn}</p>')
    raise nodes.SkipNode


def setup(app: Any) -> None:
    """Offer Sphinx the renderer under the name ``mathml``."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
