"""The pages of the reference: one for each module that a room of the library exports names of."""

import ast
import importlib
import inspect
import shutil
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import Any

from sphinx.util.typing import stringify_annotation

import hessian_spectra
from hessian_spectra.closed_form._inputs import ArrayLike

PACKAGE = hessian_spectra.__name__
# Words of modules' names that a heading writes otherwise.
ABBREVIATIONS = {"kl": "KL", "pac": "PAC", "bayes": "Bayes"}


def rooms() -> list[ModuleType]:
    """The modules that the library shows as its attributes."""
    return [getattr(hessian_spectra, name) for name in hessian_spectra._ROOMS]


def groups(room: ModuleType) -> dict[str, list[str]]:
    """The public names of a room by the module that defines them, both in the order of the source.

    Those of a package are in its ``__all__``; those of a module are its functions and classes.
    """
    tree = ast.parse(inspect.getsource(room))
    if not hasattr(room, "__all__"):
        defined = [
            node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)
        ]
        return {room.__name__: [name for name in defined if not name.startswith("_")]}
    named: dict[str, list[str]] = {}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            names = [alias.name for alias in node.names if alias.name in room.__all__]
            named.setdefault(str(node.module), []).extend(names)
    here = set(room.__all__).difference(*named.values())
    return {
        module: names for module, names in {**named, room.__name__: sorted(here)}.items() if names
    }


def _short(room: ModuleType) -> str:
    return room.__name__.removeprefix(f"{PACKAGE}.")


def _entry(name: str, member: Any) -> list[str]:
    """The directive that describes a public name; the docstring of a constant is its type's."""
    if inspect.isclass(member):
        kind = "autoexception" if issubclass(member, BaseException) else "autoclass"
        return ["", f".. {kind}:: {name}", "   :members:"]
    if callable(member):
        return ["", f".. autofunction:: {name}"]
    return ["", f".. py:data:: {name}", f"   :value: {member!r}"]


def _heading(text: str, line: str) -> list[str]:
    return ["", text, line * len(text), ""]


def _paragraphs(member: Any) -> tuple[str, str]:
    """The first paragraph of a docstring in one line, and the rest."""
    first, _, rest = inspect.cleandoc(member.__doc__ or "").partition("\n\n")
    return " ".join(first.split()), rest


def _table(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    """A table of names with what they are; no lines without rows."""
    rows = list(rows)
    if not rows:
        return
    yield from ("", ".. list-table::", "   :class: names", "   :widths: auto", "")
    for name, text in rows:
        yield from (f"   * - {name}", f"     - {text}")


def _overview(room: ModuleType, names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The public names of a room, each with the first paragraph of its docstring."""
    for name in names:
        member = getattr(room, name)
        text = _paragraphs(member)[0] if callable(member) else f"``{member!r}``"
        yield f":py:obj:`{name}`", text


def _group(room: ModuleType, module: str, names: Iterable[str]) -> str:
    """The source of a group's page: what its module is about, and each of its names in full."""
    text = "\n\n".join(_paragraphs(importlib.import_module(module)))
    lines = [*_heading(_title(module), "="), text, ""]
    lines += [f".. py:currentmodule:: {room.__name__}"]
    lines += chain.from_iterable(_entry(name, getattr(room, name)) for name in names)
    return "\n".join(lines) + "\n"


def _title(module: str) -> str:
    """The name of a module as a heading."""
    words = module.rpartition(".")[2].split("_")
    text = " ".join(ABBREVIATIONS.get(word, word) for word in words)
    return text[:1].upper() + text[1:]


def pages(room: ModuleType) -> dict[str, str]:
    """The sources of a room's pages by file: an overview, and a page for each of its modules.

    What the room defines itself stands below the overview.
    """
    short, named = _short(room), groups(room)
    own = named.pop(room.__name__, [])
    title, rest = _paragraphs(room)
    lines = [*_heading(short, "="), title, "", rest, ""]
    lines += [f".. py:module:: {room.__name__}", *_table(_overview(room, own))]
    files = {}
    for module, names in named.items():
        name = f"{short}/{module.rpartition('.')[2]}"
        files[f"{name}.rst"] = _group(room, module, names)
        lines += ["", f".. rubric:: :doc:`{_title(module)} </reference/{name}>`"]
        lines += _table(_overview(room, names))
    lines += chain.from_iterable(_entry(name, getattr(room, name)) for name in own)
    if files:
        links = sorted(f"   /reference/{file.removesuffix('.rst')}" for file in files)
        lines += ["", ".. toctree::", "   :hidden:", "", *links]
    return {f"{short}.rst": "\n".join(lines) + "\n", **files}


def write(folder: Path) -> None:
    """Write the pages of each room and a list of the rooms, and drop those of former modules."""
    link = ":doc:`{0} </reference/{0}>`"
    names = [(link.format(_short(room)), _paragraphs(room)[0]) for room in rooms()]
    files = {"rooms.inc": "\n".join(_table(names)) + "\n"}
    for room in rooms():
        files |= pages(room)
    shutil.rmtree(folder, ignore_errors=True)
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")


def skipped(_app: Any, _kind: str, _name: str, member: Any, skip: bool, _options: Any) -> bool:
    """Leave out what Python itself says of the fields of a named tuple."""
    return skip or str(inspect.getdoc(member)).startswith("Alias for field number")


# What any array-like argument may be is said once, by its name.
ARRAY = stringify_annotation(ArrayLike, "smart")


def signature(
    _app: Any, _kind: str, _name: str, _member: Any, _options: Any, text: str | None, result: Any
) -> tuple[str | None, Any]:
    """A signature, if there is one, with the union of what can be read as an array by its name."""
    return text and text.replace(ARRAY, "ArrayLike"), result
