"""What a shard is called: a digest of the function, of its code and of the item."""

import ast
import functools
import hashlib
import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hessian_spectra.results import Arrays
from hessian_spectra.work import Item

PACKAGE = "hessian_spectra"


def function_name(compute: Callable[..., Arrays]) -> str:
    """The name by which another process finds a function: ``module:name``.

    Raises:
        ValueError: it is not a function of a module that can be imported.

    Example:
        >>> function_name(function_name)
        'hessian_spectra.fan_out.keys:function_name'
    """
    module = getattr(compute, "__module__", None)
    name = getattr(compute, "__qualname__", "")
    found: Any = sys.modules.get(module or "")
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is not compute or module == "__main__":
        raise ValueError(
            f"compute: expected a function of a module, which other processes can import, "
            f"got {compute!r}"
        )
    return f"{module}:{name}"


def function_of(name: str) -> Callable[..., Arrays]:
    """The function that :func:`function_name` named."""
    module, _, qualified = name.partition(":")
    found: Any = importlib.import_module(module)
    for part in qualified.split("."):
        found = getattr(found, part)
    return found


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
        module: the module.
        digest: of the code. Comments and docstrings do not count: a better word in one must not
            cost hours of computing.
        files: the files in which it stands.
        content: a digest of these files as they are, comments included.
    """

    module: str
    digest: str
    files: tuple[Path, ...]
    content: str

    @property
    def unchanged(self) -> bool:
        """Whether the code in the files is still the same."""
        try:
            # Reading them is quick, and nearly always enough.
            return (
                _content(self.files) == self.content or code_of(self.module).digest == self.digest
            )
        except FileNotFoundError:
            return False


def _content(files: Sequence[Path]) -> str:
    hasher = hashlib.sha256()
    for file in files:
        hasher.update(hashlib.sha256(file.read_bytes()).digest())
    return hasher.hexdigest()


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
    return Code(module, digest, tuple(files), _content(files))


def _feed(hasher: "hashlib._Hash", value: Any, where: str) -> None:
    """Add a value to a hash so that different values, or types, give different bytes."""
    kind = type(value)
    if kind is np.ndarray or isinstance(value, np.generic):
        array = np.asarray(value)
        if array.dtype.kind not in "biufcSU":
            raise ValueError(f"{where}: expected an array of numbers or strings, got {array.dtype}")
        hasher.update(f"{kind.__name__} {array.dtype.str} {array.shape} ".encode())
        hasher.update(np.ascontiguousarray(array).tobytes())
    elif kind is dict:
        hasher.update(f"dict {len(value)} ".encode())
        for name in sorted(value, key=repr):
            hasher.update(f"{name!r}: ".encode())
            _feed(hasher, value[name], f"{where}.{name}")
    elif kind in (list, tuple):
        hasher.update(f"{kind.__name__} {len(value)} ".encode())
        for index, entry in enumerate(value):
            _feed(hasher, entry, f"{where}[{index}]")
    elif value is None or kind in (bool, int, float, complex, str):
        text = repr(value)
        hasher.update(f"{kind.__name__} {len(text)} {text} ".encode())
    else:
        raise ValueError(
            f"{where}: expected numbers, strings, lists of them or arrays, got a {kind.__name__}"
        )


def item_key(function: str, code: str, item: Item) -> str:
    """The key of an item: equal for equal function, code and item, and for nothing else.

    Example:
        >>> first = item_key("module:f", "code", {"a": 1, "b": [0.5, "x"]})
        >>> first == item_key("module:f", "code", {"b": [0.5, "x"], "a": 1}), len(first)
        (True, 32)
        >>> first == item_key("module:f", "code", {"a": 1.0, "b": [0.5, "x"]})
        False

    Raises:
        ValueError: the item holds something else than numbers, strings, lists and arrays.
    """
    hasher = hashlib.sha256(f"{function} {code} ".encode())
    _feed(hasher, dict(item), "item")
    return hasher.hexdigest()[:32]
