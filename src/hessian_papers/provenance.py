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
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import resolve_name
from pathlib import Path
from typing import Any, TypeGuard

from hessian_papers.memory import memory, sha256

# The library and the papers: what of them a module imports counts by its code.
PACKAGES = ("hessian_spectra", "hessian_papers")
# Packages that launch a computation, show how far it is, or say what its shapes are, and compute
# none of it.
COMPUTING_NOTHING = {"jaxtyping", "submitit", "tqdm"}
# Modules, with those below them, that launch, watch and log what is computed, or tell what is up to
# date. They hand values on and change none, which tests show, and count only where they are asked
# for by name. So does what computes: to draw and to measure is to read its files.
CARRIERS = (
    *(f"hessian_papers.{name}" for name in ("memory", "processes", "progress", "provenance")),
    "hessian_papers.tracking",
    *(f"hessian_papers.compute.{name}" for name in ("driver", "items", "launcher", "timing")),
    *(f"pipelines.{name}" for name in ("computing", "described", "folders", "inputs", "lifetime")),
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
# reached through it, by whoever has the module in hand. Before them, that a name is passed on.
NAMED, LOADED, OWN, WHOLE = range(-1, 3)
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


def _imports(node: ast.AST) -> Iterator[tuple[str, str, str]]:
    """The imports that a node of a syntax tree makes.

    Of each the module, the name that is imported from it, if any, and what that is called.
    """
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield alias.name, "", alias.asname or ""
            top = alias.name.partition(".")[0]
            yield top, "", "" if alias.asname else top
    elif isinstance(node, ast.ImportFrom):
        for alias in node.names:
            source = "." * node.level + (node.module or "")
            yield source, alias.name, alias.asname or alias.name
    elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "optional_import":
        # The module, or where only a run knows it, the extra, which is called like its package.
        yield next(str(a.value) for a in node.args if isinstance(a, ast.Constant)), "", ""


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


DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def _digest(tree: ast.AST, docstrings: bool) -> str:
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and not docstrings:
            documented = ast.get_docstring(node, clean=False) is not None
            node.body = node.body[1:] if documented else node.body
    # In a version of Python that writes it otherwise all is made anew, as in any other version.
    return hashlib.sha256(ast.dump(tree).encode("utf-8", "surrogatepass")).hexdigest()


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
        imports: that it makes, each as ``(module, name, called, at_once, uses)``: of a module, or
            of a name from it; what it is called from then on; whether when this module is loaded,
            and not later by a function; and the attributes that are used of it, and :data:`ITSELF`.
        binds: the names that it binds otherwise than by imports.
        only_defines: whether to load it does no more than define names.
    """

    digest: str
    imports: Sequence[Sequence[Any]]
    binds: Sequence[str]
    only_defines: bool


def _source(file: Path) -> dict[str, Any]:
    """The entries of :class:`_Source` of a file."""
    tree = ast.parse(file.read_bytes())
    digest = _digest(tree, False)
    for part in tree.body:
        if isinstance(part, ast.If) and ast.unparse(part.test) == "TYPE_CHECKING":
            part.body = [ast.Pass()]  # it is never run
    at_once = [*_at_once(tree)]
    loading, attributes = {*map(id, at_once)}, set()
    imports: list[tuple[str, str, str, bool]] = []
    uses: defaultdict[str, set[str]] = defaultdict(set)
    binds: set[str] = set()
    for node in ast.walk(tree):  # a node before those within it
        imports += [(*each, id(node) in loading) for each in _imports(node)]
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
        known = {f"{module}.{name}".strip(".") for module, name, own, _ in imports if own == first}
        return {f"{name}.{rest}".strip(".") for name in known or {first}} <= DEFINING

    return {
        "digest": digest,
        "imports": [(*each, sorted(uses[each[2]])) for each in imports],
        "binds": sorted(binds),
        "only_defines": all(_only_defines(node, defining) for node in at_once),
    }


def _documented(file: Path) -> str:
    return _digest(ast.parse(file.read_bytes()), True)


def digest_of(file: Path, docstrings: bool = False) -> str:
    """A digest of what a file says: of Python's source its code, of any other file its bytes.

    Comments, blank lines and how code is laid out do not count.

    Args:
        file: which.
        docstrings: whether these count, as those of claims do, which are what the claims state.

    Returns:
        The SHA-256, hexadecimal.

    Raises:
        SyntaxError: it ends in ``.py`` and is no Python.
    """
    if file.suffix != ".py":
        return str(memory().of(sha256, file))
    known = memory().of(_documented if docstrings else _source, file)
    return str(known if docstrings else known["digest"])


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


# A module, and what of it is run; or that a package passes a name on, in words.
Node = tuple[str, int]


class Graph:
    """The ways from one module to others, as they stood in the files at the first look."""

    def __init__(self) -> None:
        self.roots: dict[str, Path] = {}
        self._sources: dict[str, tuple[Path, _Source] | None] = {}
        self._steps: dict[Node, set[Node]] = {}

    def reached(self, *modules: str) -> set[Node]:
        """Modules, and all that they can run, without carriers that are not among them."""
        self.roots |= {name.partition(".")[0]: root_of(name) for name in (*PACKAGES, *modules)}
        left = {"", *map(_carrier, modules)}
        reached: set[Node] = set()
        waiting = {(name, OWN) for name in modules}
        while waiting:
            reached |= waiting
            run = [self._next(node) for node in waiting if _carrier(node[0]) in left]
            waiting = set().union(*run) - reached
        return {node for node in reached if node[1] == NAMED or _carrier(node[0]) in left}

    def source(self, module: str) -> tuple[Path, _Source] | None:
        """The file of a module of ours, and what it says; ``None`` if it is none."""
        root = self.roots.get(module.partition(".")[0])
        if root and module not in self._sources:
            # As texts, which take a fifth of the time: some thousand names are no modules.
            stem = os.path.join(root, *module.split("."))
            files = filter(os.path.isfile, (os.path.join(stem, "__init__.py"), f"{stem}.py"))
            file = next(map(Path, files), None)
            known = memory().of(_source, file) if file else {}
            self._sources[module] = (file, _Source(**known)) if file else None
        return self._sources[module] if root else None

    def place(self, module: str, file: Path) -> str:
        """Where a module's file is, below the folder that it is imported from."""
        return file.relative_to(self.roots[module.partition(".")[0]]).as_posix()

    def _next(self, node: Node) -> set[Node]:
        if node not in self._steps:
            self._steps[node] = {*self._leads_to(*node)}
        return self._steps[node]

    def _leads_to(self, module: str, runs: int) -> Iterator[Node]:
        """Where a module leads to as far as it is run: to what it imports."""
        if not (known := self.source(module)):
            return
        file, source = known
        if not (source.only_defines or runs):
            yield module, OWN
        # Importing a.b.c loads a and a.b as well.
        yield module.rpartition(".")[0], LOADED
        for each, name, called, at_once, uses in source.imports:
            if not (at_once or runs):
                continue
            other = resolve_name(each, _package(module, file))
            yield from ((other, LOADED), (f"{other}.{name}".rstrip("."), LOADED))
            if runs:
                whole = runs == WHOLE or not called
                yield from self._origins(other, name, [ITSELF] if whole else uses)

    def _origins(self, module: str, name: str, uses: Collection[str]) -> Iterator[Node]:
        """Where a name comes from of which ``uses`` are made, or a module itself."""
        if name == "*" or (not name and ITSELF in uses):
            yield module, WHOLE
        elif not name:
            for attribute in uses:
                yield from self._origins(module, attribute, [ITSELF])
        elif known := self.source(module):
            file, source = known
            below = f"{module}.{name}"
            passed_on = [each for each in source.imports if each[3] and each[2] == name]
            if name in source.binds or not (passed_on or self.source(below)):
                yield module, OWN
            elif not passed_on:
                yield from self._origins(below, "", uses)
            for other, given, *_ in passed_on:
                origin = resolve_name(other, _package(module, file))
                yield f"{below} is {origin}.{given}", NAMED
                if f"{origin}.{given}" == below:
                    yield from self._origins(below, "", uses)
                else:
                    yield from self._origins(origin, given, uses)


def _package(module: str, file: Path) -> str:
    return module if file.stem == "__init__" else module.rpartition(".")[0]


@functools.cache
def _carrier(module: str) -> str:
    """The carrier that a module is, or is in; empty if it is none."""
    return next((name for name in CARRIERS if f"{module}.".startswith(f"{name}.")), "")


def code_of(*modules: str, graph: Graph | None = None) -> Code:
    """The code that modules depend on, as it stands in the files now.

    Args:
        modules: by name.
        graph: of earlier calls, so that what they found is not looked at again.
    """
    graph = graph or Graph()
    reached = graph.reached(*modules)
    looked_up = {name: graph.source(name) for name, runs in reached if runs in (OWN, WHOLE)}
    sources = {graph.place(name, known[0]): known for name, known in looked_up.items() if known}
    digests = sorted((place, source.digest) for place, (_, source) in sources.items())
    names = sorted(name for name, runs in reached if runs == NAMED)
    digest = hashlib.sha256(repr((digests, names)).encode()).hexdigest()
    tops = {name.partition(".")[0] for name, runs in reached if runs != NAMED}
    packages = tops - {"", *graph.roots, *sys.stdlib_module_names, *COMPUTING_NOTHING}
    files = {place: file for place, (file, _) in sources.items()}
    return Code(digest, files, frozenset(names), frozenset(packages))


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
