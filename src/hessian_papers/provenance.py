"""The code and packages behind a module, and digests that tell when what it computes may change."""

import ast
import functools
import hashlib
import importlib.metadata
import importlib.util
import os
import platform
import sys
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from importlib.util import resolve_name
from pathlib import Path
from typing import Any, NamedTuple, TypeGuard

# The library and the papers: what of them a module imports counts by its code.
PACKAGES = ("hessian_spectra", "hessian_papers")
# Packages that launch a computation, show how far it is, or say what its shapes are, and compute
# none of it.
COMPUTING_NOTHING = {"jaxtyping", "submitit", "tqdm"}
# Modules, with those below them, that launch, watch and log what is computed, or tell what is up to
# date. They hand values on and change none, which tests show, and count only where they are asked
# for by name. So does what computes: to draw and to measure is to read its files.
CARRIERS = (
    *("hessian_papers.processes", "hessian_papers.provenance", "hessian_papers.tracking"),
    *(f"hessian_papers.compute.{name}" for name in ("driver", "items", "launcher", "timing")),
    *(f"pipelines.{name}" for name in ("computing", "described", "inputs", "lifetime")),
    *(f"pipelines.{name}" for name in ("messages", "warm")),
)
# What a module may call when it is loaded, and do no more than define names.
DEFINING = {
    *("classmethod", "dict.fromkeys", "frozenset", "property", "range", "staticmethod", "tuple"),
    *("abc.abstractmethod", "contextlib.contextmanager", "dataclasses.dataclass"),
    *("dataclasses.field", "functools.cache", "functools.cached_property", "functools.partial"),
    *("math.log", "torch.autograd.function.once_differentiable", "torch.enable_grad"),
    *("torch.finfo", "torch.no_grad", "types.MappingProxyType", "typing.ParamSpec"),
    *("typing.TypeVar", "typing.overload", "typing.runtime_checkable"),
    "hessian_spectra.curvature.interface.in_own_type",
    "hessian_spectra.curvature.undisturbed.undisturbed",
    "hessian_spectra.matrix_products.full_precision",
    *(f"hessian_papers.constraints.{name}" for name in ("Above", "AtLeast", "Between", "OneOf")),
}
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
# Its statements may be these, and texts.
STATEMENTS = (*DEFINITIONS, ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign, ast.If, ast.Pass)
# What is run of a module: what runs when it is loaded; what it does by itself; or whatever can be
# reached through it, by whoever has the module in hand.
LOADED, OWN, WHOLE = range(3)
# A use of a name that is none of its attributes.
ITSELF = ""


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


class _Import(NamedTuple):
    """An import: of a module, or of a name from it, and what it is called from then on.

    ``at_once``: when the importing module is loaded, and not later by a function.
    """

    module: str
    name: str
    called: str
    at_once: bool


def _imports(node: ast.AST, at_once: bool) -> Iterator[_Import]:
    """The imports that a node of a syntax tree makes."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield _Import(alias.name, "", alias.asname or "", at_once)
            top = alias.name.partition(".")[0]
            yield _Import(top, "", "" if alias.asname else top, at_once)
    elif isinstance(node, ast.ImportFrom):
        source = "." * node.level + (node.module or "")
        for alias in node.names:
            yield _Import(source, alias.name, alias.asname or alias.name, at_once)
    elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "optional_import":
        # The module, or where only a run knows it, the extra, which is called like its package.
        name = next(str(a.value) for a in node.args if isinstance(a, ast.Constant))
        yield _Import(name, "", "", at_once)


def _at_once(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of a syntax tree that run when the module is loaded: no bodies of functions."""
    yield node
    parts: Iterable[ast.AST] = ast.iter_child_nodes(node)
    if isinstance(node, ast.Lambda | ast.FunctionDef | ast.AsyncFunctionDef):
        body = node.body if isinstance(node.body, list) else [node.body]
        parts = [part for part in parts if part not in body]
    for part in parts:
        yield from _at_once(part)


def _only_defines(node: ast.AST, defining: Callable[[ast.AST], bool]) -> bool:
    """Whether a part of what runs when a module is loaded does no more than define names.

    Args:
        node: the part, without the parts within it.
        defining: whether to call something does no more.
    """
    if isinstance(node, ast.Call):
        return defining(node.func)
    if isinstance(node, ast.Attribute | ast.Subscript):
        return isinstance(node.ctx, ast.Load)  # else what is another's is changed
    if isinstance(node, DEFINITIONS):
        # A class without a metaclass, and no function that makes up names of the module.
        plain = not getattr(node, "keywords", []) and node.name != "__getattr__"
        return plain and all(isinstance(by, ast.Call) or defining(by) for by in node.decorator_list)
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    return isinstance(node, STATEMENTS) or not isinstance(node, ast.stmt)


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


def _is_record(node: ast.AST) -> TypeGuard[ast.ClassDef]:
    """Whether it is a dataclass that runs no code of its own when an instance is made."""
    return (
        isinstance(node, ast.ClassDef)
        and not node.bases
        and [ast.unparse(by).partition("(")[0] for by in node.decorator_list] == ["dataclass"]
        and not any(isinstance(part, DEFINITIONS) and part.name[:2] == "__" for part in node.body)
        and "default_factory" not in ast.unparse(node)
    )


@dataclass(frozen=True)
class _Source:
    """A module's source: its code, and its ways to that of others.

    Args:
        digest: of its code.
        imports: that it makes.
        uses: the attributes that it uses of each name, and :data:`ITSELF`.
        binds: the names that it binds otherwise than by imports.
        only_defines: whether to load it does no more than define names.
    """

    digest: str
    imports: tuple[_Import, ...]
    uses: Mapping[str, Set[str]]
    binds: Set[str]
    only_defines: bool


def _digest(tree: ast.AST, docstrings: bool) -> str:
    code: list[str] = []
    _tell(tree, docstrings, code.append)
    return hashlib.sha256("".join(code).encode()).hexdigest()


@functools.cache
def _parsed(source: bytes) -> _Source:
    tree = ast.parse(source)
    digest = _digest(tree, False)
    for part in tree.body:
        if isinstance(part, ast.If) and ast.unparse(part.test) == "TYPE_CHECKING":
            part.body = [ast.Pass()]  # it is never run
    at_once = [*_at_once(tree)]
    loading, attributes = {*map(id, at_once)}, set()
    imports: list[_Import] = []
    uses: defaultdict[str, set[str]] = defaultdict(set)
    binds: set[str] = set()
    for node in ast.walk(tree):  # a node before those within it
        imports += _imports(node, id(node) in loading)
        if isinstance(node, DEFINITIONS):
            binds.add(node.name)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            uses[node.value.id].add(node.attr)
            attributes.add(id(node.value))
        elif isinstance(node, ast.Name):
            uses[node.id] |= set() if id(node) in attributes else {ITSELF}
            binds |= set() if isinstance(node.ctx, ast.Load) else {node.id}
    records = {part.name for part in tree.body if _is_record(part)}

    def defining(called: ast.AST) -> bool:
        first, _, rest = ast.unparse(called).partition(".")
        if first in binds:
            return first in records
        known = {
            f"{each.module}.{each.name}".strip(".") for each in imports if each.called == first
        }
        return {f"{name}.{rest}".strip(".") for name in known or {first}} <= DEFINING

    only_defines = all(_only_defines(node, defining) for node in at_once)
    return _Source(digest, tuple(imports), dict(uses), binds, only_defines)


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
        return _digest(ast.parse(source), True) if docstrings else _parsed(source).digest
    return hashlib.sha256(source).hexdigest()


@dataclass(frozen=True)
class Code:
    """The code that modules depend on.

    That is their own and all that it can run, however indirectly, of their own top-level packages,
    of the library and of the papers. A name that a package passes on is followed to the module that
    defines it. A module of which no name is used counts if loading it does more than define names.

    Args:
        digest: of the code. Comments and docstrings do not count: a better word in one must not
            cost hours of computing.
        files: those in which it stands, by their place below the folder to import from.
        names: where each name comes from that a package passes on.
        packages: the top-level modules of others that it may import, by name.
    """

    digest: str
    files: Mapping[str, Path]
    names: frozenset[str]
    packages: frozenset[str]

    @property
    def fingerprint(self) -> str:
        """A digest of the code and of the versions of what it runs on, Python and packages."""
        return hashlib.sha256(f"{self.digest} {versions(self.packages)}".encode()).hexdigest()


def _is_in(module: str, package: str) -> bool:
    return f"{module}.".startswith(f"{package}.")


class _Reach:
    """The modules whose code some modules can run."""

    def __init__(self, modules: Collection[str]) -> None:
        self._roots = {name.partition(".")[0]: root_of(name) for name in (*PACKAGES, *modules)}
        self._carriers = [name for name in CARRIERS if not any(_is_in(m, name) for m in modules)]
        self._known: dict[str, tuple[Path, _Source] | None] = {}
        self._runs: dict[str, int] = {}
        self.files: dict[str, Path] = {}
        self.digests: set[tuple[str, str]] = set()
        self.names: set[str] = set()
        self.packages: set[str] = set()
        self._waiting = [(module, OWN) for module in modules]
        while self._waiting:
            self._visit(*self._waiting.pop())

    def _source(self, module: str) -> tuple[Path, _Source] | None:
        """The file of a module of ours, and what it says; ``None`` if it is none."""
        if module not in self._known:
            root = self._roots.get(module.partition(".")[0])
            file = _file_of(root, module) if root else None
            self._known[module] = (file, _parsed(file.read_bytes())) if file else None
        return self._known[module]

    def _visit(self, module: str, runs: int) -> None:
        """Count a module as far as it is run, and go on to what it imports."""
        if runs <= self._runs.get(module, -1):
            return
        self._runs[module] = runs
        top = module.partition(".")[0]
        if top and top not in self._roots and top not in sys.stdlib_module_names:
            self.packages.add(top)
        known = self._source(module)
        if not known or any(_is_in(module, carrier) for carrier in self._carriers):
            return
        file, source = known
        if not source.only_defines:
            runs = self._runs[module] = max(runs, OWN)
        # Importing a.b.c loads a and a.b as well.
        self._waiting.append((module.rpartition(".")[0], LOADED))
        for each in source.imports:
            if not (each.at_once or runs):
                continue
            other = resolve_name(each.module, _package(module, file))
            self._waiting += [(other, LOADED), (f"{other}.{each.name}".rstrip("."), LOADED)]
            if runs:
                whole = runs == WHOLE or not each.called
                uses = {ITSELF} if whole else source.uses.get(each.called, set())
                self._follow(other, each.name, uses)
        if runs:
            place = file.relative_to(self._roots[top]).as_posix()
            self.files[place] = file
            self.digests.add((place, source.digest))

    def _follow(self, module: str, name: str, uses: Set[str]) -> None:
        """Go on to where a name comes from of which ``uses`` are made, or to a module itself."""
        known = self._source(module)
        if name == "*" or (not name and ITSELF in uses):
            self._waiting.append((module, WHOLE))
        elif not name:
            for attribute in uses:
                self._follow(module, attribute, {ITSELF})
        elif known:
            file, source = known
            below = f"{module}.{name}"
            passed_on = [each for each in source.imports if each.at_once and each.called == name]
            if name in source.binds or not (passed_on or self._source(below)):
                self._waiting.append((module, OWN))
            elif not passed_on:
                self._follow(below, "", uses)
            for each in passed_on:
                origin = resolve_name(each.module, _package(module, file))
                self.names.add(f"{below} is {origin}.{each.name}")
                if f"{origin}.{each.name}" == below:
                    self._follow(below, "", uses)
                else:
                    self._follow(origin, each.name, uses)


def _package(module: str, file: Path) -> str:
    return module if file.stem == "__init__" else module.rpartition(".")[0]


def code_of(*modules: str) -> Code:
    """The code that modules depend on, as it stands in the files now."""
    reach = _Reach(modules)
    code = repr((sorted(reach.digests), sorted(reach.names)))
    digest = hashlib.sha256(code.encode()).hexdigest()
    packages = frozenset(reach.packages - COMPUTING_NOTHING)
    return Code(digest, reach.files, frozenset(reach.names), packages)


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
