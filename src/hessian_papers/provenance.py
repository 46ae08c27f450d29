"""The code and packages behind a module, and digests that tell when what it computes may change."""

import ast
import functools
import hashlib
import importlib.metadata
import importlib.util
import os
import platform
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib.util import resolve_name
from pathlib import Path
from typing import Any

# The library and the papers: what of them a module imports counts by its code.
PACKAGES = ("hessian_spectra", "hessian_papers")
# Packages that show how far a computation is, or say what its shapes are, and compute none of it.
COMPUTING_NOTHING = {"jaxtyping", "tqdm"}


def root_of(module: str) -> Path:
    """The folder to import ``module`` from: the one above its top-level package.

    The module itself is not imported, only the packages that it is in.
    """
    source = sys.modules.get(module)
    spec = source.__spec__ if source is not None else importlib.util.find_spec(module)
    file = spec.origin if spec is not None else None
    assert file is not None
    path = Path(file).resolve()
    if path.stem == "__init__":
        path = path.parent
    return path.parents[module.count(".")]


def _file_of(root: Path, module: str) -> Path | None:
    # As texts, which take a fifth of the time: a look at all stages asks some ten thousand times.
    stem = os.path.join(root, *module.split("."))
    for file in (os.path.join(stem, "__init__.py"), f"{stem}.py"):
        if os.path.isfile(file):
            return Path(file)
    return None


def _imported(tree: ast.AST) -> Iterator[str]:
    """The modules that a module's source may import, names from packages included."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            source = "." * node.level + (node.module or "")
            yield source
            dot = "." if node.module else ""
            yield from (f"{source}{dot}{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "optional_import":
            # The module, or where only a run knows it, the extra, which is called like its package.
            yield next(str(a.value) for a in node.args if isinstance(a, ast.Constant))


# What a syntax tree says twice, or of the spelling alone: whether a name is read or set, the prefix
# u of a string, comments about types.
UNTOLD = {"ctx", "kind", "type_comment", "type_ignores"}
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@functools.cache
def _fields(kind: type[ast.AST]) -> tuple[str, ...]:
    return tuple(sorted(set(kind._fields) - UNTOLD))


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _entries(node: ast.AST, name: str, docstrings: bool) -> list[Any]:
    """The entries of a field that is a list, less those that say nothing."""
    entries: list[Any] = getattr(node, name)
    if isinstance(node, ast.JoinedStr):
        # From 3.12 on the format of f"{x:{width}}" begins with an empty text.
        return [entry for entry in entries if not (_is_text(entry) and entry.value == "")]
    documented = not docstrings and name == "body" and isinstance(node, DOCUMENTED) and entries
    if documented and isinstance(entries[0], ast.Expr) and _is_text(entries[0].value):
        return entries[1:]
    return entries


def _tell(node: Any, docstrings: bool, write: Callable[[str], None]) -> None:
    """Write a syntax tree so that each version of Python writes the same, and no two trees alike.

    A field with nothing in it is left out: a version that knows more fields writes no more. Strings
    are escaped, since what may be printed changes with the version of Unicode.
    """
    if not isinstance(node, ast.AST):
        write(ascii(node))
        return
    kind = type(node)
    write(f"{kind.__name__}(")
    for name in _fields(kind):  # type: ignore[arg-type]
        value = getattr(node, name, None)
        if isinstance(value, list):
            if entries := _entries(node, name, docstrings):
                write(f"{name}=[")
                for entry in entries:
                    _tell(entry, docstrings, write)
                    write(",")
                write("]")
        # Of a constant, nothing is a value, too.
        elif kind is ast.Constant or not (value is None or (type(value) is int and value == 0)):
            write(f"{name}=")
            _tell(value, docstrings, write)
            write(",")
    write(")")


@functools.cache
def _parsed(source: bytes, docstrings: bool) -> tuple[str, tuple[str, ...]]:
    """A digest of a module's code, and the modules that it imports."""
    tree = ast.parse(source)
    code: list[str] = []
    _tell(tree, docstrings, code.append)
    digest = hashlib.sha256("".join(code).encode()).hexdigest()
    return digest, tuple(_imported(tree))


def digest_of(file: Path, docstrings: bool = False) -> str:
    """A digest of what a file says: of Python's source its code, of any other file its bytes.

    Comments, blank lines and how code is laid out do not count, and the digest is the same whatever
    version of Python makes it.

    Args:
        file: which.
        docstrings: whether these count, as those of claims do, which are what the claims state.

    Returns:
        The SHA-256, hexadecimal.

    Raises:
        SyntaxError: it ends in ``.py`` and is no Python.
    """
    source = file.read_bytes()
    if file.suffix == ".py":
        return _parsed(source, docstrings)[0]
    return hashlib.sha256(source).hexdigest()


@dataclass(frozen=True)
class Code:
    """The code that a module depends on.

    That is its own and that of all it imports, however indirectly, from its own top-level package
    and from the library and the papers.

    Args:
        digest: of the code. Comments and docstrings do not count: a better word in one must not
            cost hours of computing.
        files: the files in which it stands.
        packages: the top-level modules of others that it may import, by name.
    """

    digest: str
    files: tuple[Path, ...]
    packages: frozenset[str]

    @property
    def fingerprint(self) -> str:
        """A digest of the code and of the versions of what it runs on, Python and packages."""
        return hashlib.sha256(f"{self.digest} {versions(self.packages)}".encode()).hexdigest()


def code_of(module: str) -> Code:
    """The code that a module depends on, as it stands in the files now."""
    roots = {name.split(".")[0]: root_of(name) for name in (*PACKAGES, module)}
    digests: dict[str, str] = {}
    files: list[Path] = []
    packages: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        top = name.split(".")[0]
        root = roots.get(top)
        if root is None and top and top not in sys.stdlib_module_names:
            packages.add(top)
        if name in digests or root is None:
            continue
        file = _file_of(root, name)
        # Importing a.b.c runs the code of a and a.b as well.
        waiting += [name.rpartition(".")[0]] if "." in name else []
        digests[name] = ""
        if file is not None:
            package = name if file.stem == "__init__" else name.rpartition(".")[0]
            digests[name], imported = _parsed(file.read_bytes(), False)
            files.append(file)
            waiting += [resolve_name(name, package) for name in imported]
    # Names that turned out to be no modules but attributes of one are no code of their own.
    code = repr(sorted((name, digest) for name, digest in digests.items() if digest))
    digest = hashlib.sha256(code.encode()).hexdigest()
    return Code(digest, tuple(files), frozenset(packages - COMPUTING_NOTHING))


@functools.cache
def _version(package: str) -> str | None:
    """The version of the distribution that a top-level module comes from, if it is installed."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        # Some are called otherwise than their module, and to list them all takes a while.
        names = _distributions().get(package)
        return importlib.metadata.version(names[0]) if names else None


_distributions = functools.cache(importlib.metadata.packages_distributions)


def versions(packages: Iterable[str]) -> dict[str, str]:
    """The versions of Python and of some packages, less those that are not installed.

    None of them is imported.

    Args:
        packages: their top-level modules.

    Example:
        >>> sorted(versions(["numpy", "no_such_package"]))
        ['numpy', 'python']
    """
    known = {name: _version(name) for name in sorted(packages)}
    return {"python": platform.python_version()} | {k: v for k, v in known.items() if v}
