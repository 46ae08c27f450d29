"""The gallery's pages: each script of ``docs/gallery`` with its picture and what it prints."""

import ast
import contextlib
import io
import os
import runpy
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import matplotlib as mpl

HERE = Path(__file__).parent / "gallery"
# In the order of the gallery.
NAMES = (
    "spectrum_and_theory",
    "resnet_density",
    "edge_of_stability",
    "lenet5_layers",
    "certificate",
    "erratum",
)
# The look of the pictures: the scripts draw, and say nothing of fonts and frames.
LOOK: dict[str, Any] = {
    "axes.spines.right": False,
    "axes.spines.top": False,
    "figure.constrained_layout.use": True,
    "figure.figsize": (6.4, 3.4),
    "font.size": 10,
    "grid.alpha": 0.3,
    "axes.grid": True,
    "legend.frameon": False,
    "svg.hashsalt": "gallery",  # equal pictures are equal files
}


@dataclass(frozen=True)
class Outcome:
    """A script of the gallery and what became of it.

    Args:
        name: of the script.
        printed: what it prints.
        picture: what it draws, as SVG.
        variables: what it leaves behind.
    """

    name: str
    printed: str
    picture: bytes
    variables: dict[str, Any]


def run(name: str) -> Outcome:
    """Run a script as a user would, in an empty folder."""
    with (
        TemporaryDirectory() as folder,
        contextlib.chdir(folder),
        mpl.rc_context({**LOOK, "backend": "agg"}),
        contextlib.redirect_stdout(io.StringIO()) as printed,
        _without_time(),
    ):
        variables = runpy.run_path(str(HERE / f"{name}.py"))
        mpl.pyplot.close("all")
        return Outcome(name, printed.getvalue(), Path(f"{name}.svg").read_bytes(), variables)


@contextlib.contextmanager
def _without_time() -> Any:
    """Pictures are written without the time, which would make each build another."""
    before = os.environ.get("SOURCE_DATE_EPOCH")
    os.environ["SOURCE_DATE_EPOCH"] = "0"
    try:
        yield
    finally:
        del os.environ["SOURCE_DATE_EPOCH"]
        if before is not None:
            os.environ["SOURCE_DATE_EPOCH"] = before


def described(name: str) -> tuple[str, str]:
    """The title of a script and the text below it, from its docstring."""
    source = (HERE / f"{name}.py").read_text("utf-8")
    title, _, text = (ast.get_docstring(ast.parse(source)) or "").partition("\n\n")
    return title.removesuffix("."), text


def code(name: str) -> str:
    """A script without its docstring, which the page has as text."""
    source = (HERE / f"{name}.py").read_text("utf-8")
    first = ast.parse(source).body[0]
    return "\n".join(source.splitlines()[first.end_lineno :]).strip() + "\n"


def page(outcome: Outcome) -> str:
    """The source of a page: text, picture, what is printed, and the code."""
    title, text = described(outcome.name)
    return (
        f"# {title}\n\n{text}\n\n"
        f"```{{image}} {outcome.name}.svg\n:alt: {title}\n:class: only-picture\n```\n\n"
        f"It prints\n\n```text\n{outcome.printed}```\n\n"
        f"## The whole script\n\n```python\n{code(outcome.name)}```\n"
    )


def cards() -> str:
    """The pictures of all scripts, each with its title, which lead to their pages."""
    lines = [
        f'<a href="gallery/{name}.html"><img src="_images/{name}.svg" alt="">'
        f"<span>{described(name)[0]}</span></a>"
        for name in NAMES
    ]
    # Sphinx keeps the pictures of all pages in this folder.
    return '<div class="cards">\n' + "\n".join(lines) + "\n</div>\n"


def write() -> None:
    """Run all scripts, and write their pages, pictures and cards beside them."""
    for name in NAMES:
        outcome = run(name)
        (HERE / f"{name}.svg").write_bytes(outcome.picture)
        (HERE / f"{name}.md").write_text(page(outcome), "utf-8")
    (HERE / "cards.inc").write_text(cards(), "utf-8")
