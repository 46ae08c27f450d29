"""The code behind a module: its files, and a digest that tells when what it computes may change."""

import ast
import functools
import hashlib
import importlib.util
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PACKAGE = "hessian_spectra"


def root_of(module: str) -> Path:
    """The folder to import ``module`` from: the one above its top-level package.

    The module itself is not imported, only the packages that it is in.
    """
    found = sys.modules.get(module)
    spec = found.__spec__ if found is not None else importlib.util.find_spec(module)
    file = spec.origin if spec is not None else None
    assert file is not None
    path = Path(file).resolve()
    if path.stem == "__init__":
        path = path.parent
    return path.parents[module.count(".")]


def _file_of(root: Path, module: str) -> Path | None:
    stem = root.joinpath(*module.split("."))
    for file in (stem / "__init__.py", stem.with_suffix(".py")):
        if file.is_file():
            return file
    return None


def _imported(tree: ast.AST, package: str) -> Iterator[str]:
    """The modules that a module's source may import, names from packages included."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1]
            source = ".".join([*(above if node.level else []), *filter(None, [node.module])])
            yield source
            yield from (f"{source}.{alias.name}" for alias in node.names)


def _without_docstrings(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                node.body = node.body[1:] or [ast.Pass()]
    return tree


@functools.cache
def _parsed(source: bytes, package: str) -> tuple[str, tuple[str, ...]]:
    """A digest of a module's code, and the modules that it imports."""
    tree = ast.parse(source)
    imported = tuple(_imported(tree, package))
    code = ast.dump(_without_docstrings(tree))
    return hashlib.sha256(code.encode()).hexdigest(), imported


@dataclass(frozen=True)
class Code:
    """The code that a module depends on.

    That is its own and that of all it imports, however indirectly, from its own top-level package
    and from this one.

    Args:
        digest: of the code. Comments and docstrings do not count: a better word in one must not
            cost hours of computing.
        files: the files in which it stands.
    """

    digest: str
    files: tuple[Path, ...]


def code_of(module: str) -> Code:
    """The code that a module depends on, as it stands in the files now."""
    roots = {name.split(".")[0]: root_of(name) for name in (PACKAGE, module)}
    digests: dict[str, str] = {}
    files: list[Path] = []
    waiting = [module]
    while waiting:
        name = waiting.pop()
        root = roots.get(name.split(".")[0])
        file = _file_of(root, name) if root else None
        if name in digests or root is None:
            continue
        # Importing a.b.c runs the code of a and a.b as well.
        waiting += [name.rpartition(".")[0]] if "." in name else []
        digests[name] = ""
        if file is not None:
            package = name if file.stem == "__init__" else name.rpartition(".")[0]
            digests[name], imported = _parsed(file.read_bytes(), package)
            files.append(file)
            waiting += imported
    # Names that turned out to be no modules but attributes of one are no code of their own.
    code = repr(sorted((name, digest) for name, digest in digests.items() if digest))
    digest = hashlib.sha256(code.encode()).hexdigest()
    return Code(digest, tuple(files))
