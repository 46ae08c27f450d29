"""The house keeps its order: no study is named in it, imports go one way, nothing is long."""

import ast
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from hessian_papers.ledger.statements import Study
from pipelines import schema
from tests.pipelines.workspace import environment

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src"
STUDIES = sorted(path.stem for path in (ROOT / "conf" / "studies").rglob("*.yaml"))

TORCHLESS = "Figures, claims and the report never load torch"

LINES_OF_A_FUNCTION = 60  # its docstring does not count


def texts(folder):
    """Every text file below a folder, with its content; not those that Python and pip make."""
    for path in sorted(folder.rglob("*")):
        made = any(part.endswith(("__pycache__", ".egg-info")) for part in path.parts)
        if path.is_file() and not made:
            try:
                yield path, path.read_text("utf-8")
            except UnicodeDecodeError:
                continue


def named(folder, names):
    """Where one of some names stands as a word of its own: file, line and name."""
    either = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    word = re.compile(rf"(?<![A-Za-z0-9-])(?:{either})(?![A-Za-z0-9-])")
    return [
        f"{path.relative_to(folder)}:{number}: {actual[0]}"
        for path, text in texts(folder)
        for number, line in enumerate(text.splitlines(), 1)
        for actual in word.finditer(line)
    ]


def test_no_study_is_named_in_the_library():
    assert named(ROOT / "conf" / "networks", ["two-layer-linear"])
    actual = named(SOURCE, STUDIES)
    assert not actual, "say what it is of the paper instead:\n" + "\n".join(actual)


@pytest.mark.parametrize("kind", schema.kinds("studies"))
def test_what_a_paper_says_of_a_figure_is_said_of_no_other_study(kind):
    """Only what holds of every study of the kind is stated of a study of one's own."""
    study = Study("my-own", {"kind": kind, "paper": "my-paper", "artifact": "My own"})
    for statement in schema.module_of("studies", kind, "", "claims").statements.all:
        if statement.is_about(study.config):
            place = statement.place(study) if callable(statement.place) else statement.place
            places = [place] if isinstance(place, str) else place.values()
            for text in (*places, statement.function.__doc__):
                assert not re.search(r"[Ff]ig(ure|\.)", text), f"{statement.function_name}: {text}"


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """The packages and their import rules in a folder of their own."""
    target = tmp_path_factory.mktemp("imports")
    for folder in ("src", "pipelines"):
        shutil.copytree(
            ROOT / folder,
            target / folder,
            ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"),
        )
    shutil.copy2(ROOT / "pyproject.toml", target)
    return target


def lint_imports(folder):
    """The exit code of the import rules in a folder, and what they print."""
    paths = os.pathsep.join(str(place) for place in (folder / "src", folder))
    done = subprocess.run(
        ["lint-imports", "--no-cache"],
        cwd=folder,
        env=environment() | {"PYTHONPATH": paths, "COLUMNS": "200"},
        capture_output=True,
        text=True,
        timeout=240,
    )
    return done.returncode, done.stdout + done.stderr


def test_the_import_rules_hold(copy):
    code, output = lint_imports(copy)
    assert code == 0, output
    assert f"{TORCHLESS} KEPT" in output


@pytest.mark.parametrize("part", ["derived", "figure", "claims"])
def test_the_rule_about_torch_breaks_for_every_kind(copy, part):
    modules = [f"hessian_papers.{place}.{part}" for place in schema.kinds("studies").values()]
    places = {name: copy / "src" / f"{name.replace('.', '/')}.py" for name in modules}
    # A kind need not have what figure and claims derive alike.
    modules = [name for name, file in places.items() if file.is_file()]
    files = [places[name] for name in modules]
    assert len(files) > 10
    before = {file: file.read_text() for file in files}
    try:
        for file, text in before.items():
            file.write_text(f"{text}\nimport torch\n")
        code, output = lint_imports(copy)
    finally:
        for file, text in before.items():
            file.write_text(text)
    assert code == 1, output
    assert f"{TORCHLESS} BROKEN" in output
    for name in modules:
        assert f"{name} is not allowed to import torch" in output, name


def exported(package):
    """The names in the ``__all__`` of a package, or those that a module defines."""
    file = SOURCE.joinpath(*package.split("."))
    is_package = file.is_dir()
    tree = ast.parse((file / "__init__.py" if is_package else file.with_suffix(".py")).read_text())
    if is_package:
        lists = [n.value for n in tree.body if isinstance(n, ast.Assign)]
        return {name for actual in lists[-1:] for name in ast.literal_eval(actual)}
    set_here = [n for n in ast.walk(tree) if isinstance(n, ast.Name) and type(n.ctx) is ast.Store]
    return {*(getattr(node, "name", "") for node in tree.body), *(name.id for name in set_here)}


# What a type checker or a reader finds at the top of the library, and the rooms within rooms.
TOP = {
    path.stem
    for path in (SOURCE / "hessian_spectra").iterdir()
    if path.suffix == ".py" or (path / "__init__.py").is_file()
}
INNER = {
    "hessian_spectra.closed_form.instances",
    "hessian_spectra.curvature.ensemble",
    "hessian_spectra.curvature.layerwise",
    "hessian_spectra.pictures.style",
}


def private_names(text):
    """The names that a module's source imports from the library, and that are not public."""
    actual = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            actual += [a.name for a in node.names if a.name.startswith("hessian_spectra.")]
        elif isinstance(node, ast.ImportFrom) and node.module.split(".")[0] == "hessian_spectra":
            inner = node.module.partition(".")[2]
            names = [alias.name for alias in node.names]
            if not inner:
                public = TOP
            elif "." in inner and node.module not in INNER:
                public = set()
            else:
                inside = {name.rpartition(".")[2] for name in INNER if name.startswith(node.module)}
                public = exported(node.module) | inside
            actual += [f"{node.module}.{n}" for n in names if n not in public or n[0] == "_"]
    return actual


def test_the_papers_use_public_names_of_the_library_alone():
    inner = "from hessian_spectra.curvature.lanczos import lanczos"
    assert private_names(f"{inner}\nfrom hessian_spectra.curvature import trace") != []
    assert private_names("from hessian_spectra.curvature import trace") == []
    files = [file for file in python_files() if not file.is_relative_to(SOURCE / "hessian_spectra")]
    actual = {str(f.relative_to(ROOT)): n for f in files if (n := private_names(f.read_text()))}
    assert not actual


def test_the_librarys_tests_need_nothing_of_the_papers():
    """They run alone, as whoever changes the library alone runs them."""
    texts_of_tests = {file: file.read_text() for file in (ROOT / "tests/library").rglob("*.py")}
    assert len(texts_of_tests) > 50
    assert not [str(file) for file, text in texts_of_tests.items() if "hessian_papers" in text]


def python_files():
    return sorted(file for folder in ("src", "pipelines") for file in (ROOT / folder).rglob("*.py"))


def length(function):
    """The lines of a function from its `def` on, less those of its docstring."""
    lines = function.end_lineno - function.lineno + 1
    first = function.body[0]
    if ast.get_docstring(function) is not None:
        lines -= first.end_lineno - first.lineno + 1
    return lines


def functions(text):
    """The functions of a module's source, methods and inner ones included: name and length."""
    return [
        (node.name, length(node))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]


def test_no_function_is_long():
    assert functions('def f():\n    """One.\n\n    Two."""\n    x = 1\n\n    return x\n') == [
        ("f", 4)
    ]
    long = {
        f"{file.relative_to(ROOT)}::{name}": lines
        for file in python_files()
        for name, lines in functions(file.read_text())
        if lines > LINES_OF_A_FUNCTION
    }
    assert not long, f"above {LINES_OF_A_FUNCTION} lines: {long}"


# How many arguments there are when the encoding is one of them.
ENCODED = {"read_text": 1, "write_text": 2}


def without_encoding(text):
    """The lines in which a module's source reads or writes a text in whatever encoding is usual."""
    calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    actual = []
    for call in calls:
        name = getattr(call.func, "attr", getattr(call.func, "id", ""))
        binary = any("b" in str(getattr(argument, "value", "")) for argument in call.args)
        said = any(keyword.arg == "encoding" for keyword in call.keywords)
        usual = len(call.args) < ENCODED.get(name, 0) or (name == "open" and not binary)
        actual += [call.lineno] * (usual and not said)
    return actual


def test_texts_are_read_and_written_in_one_encoding():
    seen = 'path.open()\nopen("a", "w")\npath.read_text()\npath.read_text("utf-8"), a.open("rb")'
    assert without_encoding(seen) == [1, 2, 3]
    actual = {
        file.relative_to(ROOT).as_posix(): lines
        for file in python_files()
        if (lines := without_encoding(file.read_text("utf-8")))
    }
    assert not actual, f"say which encoding: {actual}"
