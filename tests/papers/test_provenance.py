"""The code behind a module: what changes its digest, and what does not."""

import ast
import sys
import textwrap
from pathlib import Path

import pytest

import hessian_spectra
from hessian_papers.provenance import code_of, digest_of

LIBRARY = Path(hessian_spectra.__file__).parent


def digest(module):
    return code_of(module).digest


SOURCES = {
    "__init__": "",
    "work": """
        import json
        from . import direct
        from . import rooms as r
        from .deep.package import name, given as mine

        def compute():
            import written.lazy
            return direct.value, name, mine, r.used(), written.lazy.value
        """,
    "direct": "import json\nvalue = 1",
    "lazy": "value = 1",
    "deep/__init__": "value = 1",
    "deep/package/__init__": "from .inner import name\nfrom written.handed import given",
    "deep/package/inner": "from ...above import name",
    "above": "name = 1",
    "handed": "from written.origin import given",
    "origin": "given = 1",
    "rooms/__init__": "from .kitchen import used\nfrom .cellar import cold\nfrom .attic import hot",
    "rooms/kitchen": "from written.base import Base\ndef used(): return Base()",
    "rooms/cellar": "from written.base import Base\ndef cold(): return Base()",
    "rooms/attic": "def hot(): return 1",
    "base": "class Base: pass",
    "through": "from written import rooms as r\nfrom written.rooms import cold as again\n"
    "from written.unrelated import value as other",
    "unrelated": "value = 1",
}
# Loaded, since their package names them, and never run; and those that only pass names on.
IDLE = {"rooms/cellar", "rooms/attic"}
PASSING_ON = {"__init__", "deep/__init__", "deep/package/__init__", "rooms/__init__"}
PASSING_ON |= {"deep/package/inner", "handed"}


@pytest.fixture
def written(tmp_path, monkeypatch):
    """A package on disk that can be imported; `write` changes one of its modules."""

    def write(module, source):
        file = tmp_path / "written" / f"{module}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(source))

    for module, source in SOURCES.items():
        write(module, source)
    monkeypatch.syspath_prepend(tmp_path)
    __import__("written.work")
    yield write
    for name in [name for name in sys.modules if name.partition(".")[0] == "written"]:
        del sys.modules[name]


@pytest.mark.parametrize("module", [*SOURCES])
def test_a_change_of_code_changes_the_digest_where_it_is_run(written, module):
    before = digest("written.work")
    written(module, textwrap.dedent(SOURCES[module]) + "\nmore = 2\n")
    run = module not in {"unrelated", "through"} | IDLE | PASSING_ON
    assert (digest("written.work") != before) == run


# What a module that nothing is used of may do to others when it is loaded.
EFFECTS = [
    "import json\njson.loads = None",
    "import json\njson.codes['a'] = 1",
    "import json\ndel json.loads",
    "import json\njson.value += 1",
    "import json\nkept = json.seed(0)",
    "print()",
    "from written.base import register\nvalue = register(1)",
    "from written.base import register\n@register\ndef f(): pass",
    "from written.base import register\nclass A:\n    value = register(1)",
    "from written.base import register\ndef f(a=register(1)): pass",
    "from written.base import Meta\nclass A(metaclass=Meta): pass",
    "from written.base import register\ndef f(a: register(1)): pass",
    "from written.base import cache\n@cache\ndef f(): from functools import cache",
    "def __getattr__(name): print()",
    "def dataclass(of): return of\n@dataclass\nclass A: pass",
    "def f(): pass\nvalue = f()",
    "for value in range(3): pass",
    "with open('a'): pass",
    "try:\n    import json\nexcept ImportError: pass",
    "assert True",
    "if True:\n    print()",
    "from dataclasses import dataclass\n@dataclass\nclass A:\n"
    "    def __post_init__(self): print()\nvalue = A()",
    "from dataclasses import dataclass, field\n@dataclass\nclass A:\n"
    "    a: int = field(default_factory=print)\nvalue = A()",
]


@pytest.mark.parametrize("effect", EFFECTS)
def test_what_a_module_does_when_it_is_loaded_counts_though_nothing_of_it_is_used(written, effect):
    before = digest("written.work")
    written("rooms/attic", f"{SOURCES['rooms/attic']}\n{effect}")
    assert digest("written.work") != before
    loaded = digest("written.work")
    written("rooms/attic", f"def hot(): return 2\n{effect}")
    assert digest("written.work") != loaded


HARMLESS = [
    "from dataclasses import dataclass, field\n@dataclass(frozen=True)\nclass A:\n"
    "    a: int = field(default=1)\nvalue = {'a': A(1)}",
    "import functools\n@functools.cache\ndef f(a=1, *, b=(2, lambda: print())): print()",
    "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import written.unrelated",
    "from written.base import Base\nclass A(Base):\n    @property\n    def a(self): print()",
]


@pytest.mark.parametrize("source", HARMLESS)
def test_definitions_do_not_count_of_which_nothing_is_used(written, source):
    before = digest("written.work")
    written("rooms/attic", f"{SOURCES['rooms/attic']}\n{source}")
    assert digest("written.work") == before


# Other ways to a module that a package names, of which all or one function is run.
WAYS = {
    "from written import rooms\nuse(rooms)": True,
    "from written import rooms\ngetattr(rooms, name)": True,
    "from written import rooms\nrooms.cold()": True,
    "from written import rooms as written\nwritten.cold": True,
    "from written.rooms import *": True,
    "from written.rooms import cold as warm": True,
    "from written.rooms.cellar import cold": True,
    "from written.rooms import cellar\ncellar.cold()": True,
    "import written.rooms.cellar": True,
    "import written.rooms as r\nr.cold()": True,
    "import written\nwritten.rooms.cold()": True,
    "def f():\n    from written.rooms import cold": True,
    "from written.through import r\nr.cold()": True,
    "from written import through\nthrough.r.cold()": True,
    "from written.through import again\nagain()": True,
    "from written import rooms\nrooms.unknown": True,
    "from written import rooms\nrooms.used()": False,
    "import written.rooms as r\nr.hot()": False,
    "from written.rooms import hot": False,
    "from written.through import other\nother()": False,
}


@pytest.mark.parametrize(("source", "reached"), WAYS.items())
def test_whatever_way_leads_to_a_module_is_found(written, source, reached):
    written("work", source)
    before = digest("written.work")
    written("rooms/cellar", SOURCES["rooms/cellar"] + "\nmore = 2")
    assert (digest("written.work") != before) == reached


def test_where_a_name_comes_from_counts(written):
    """Also where the modules are counted that it came from, and comes from now."""
    written("work", "from written import rooms\nrooms.hot(), rooms.cold()")
    before = code_of("written.work")
    written("rooms/__init__", "from .cellar import cold as hot\nfrom .attic import hot as cold")
    after = code_of("written.work")
    assert {*before.files} == {*after.files}
    assert before.digest != after.digest


def test_no_class_of_the_library_runs_code_where_others_are_derived_from_it():
    """Else it would do so in modules of which nothing is used."""
    hooks = ("__init_subclass__", "__set_name__", "__subclasses__")
    files = [file for file in LIBRARY.rglob("*.py") if any(h in file.read_text() for h in hooks)]
    assert not files


def test_other_code_comments_and_docstrings_do_not_count(written):
    before = digest("written.work")
    written("unrelated", "value = 2")
    written("direct", '"""About it."""\nimport json  # for nothing\n\n\nvalue = 1')
    assert digest("written.work") == before
    written("direct", "import json\nvalue = 2")
    assert digest("written.work") != before


def test_code_that_is_back_has_its_digest_again_and_code_that_is_gone_has_not(written, tmp_path):
    before = digest("written.work")
    written("direct", "import json\nvalue = 2")
    assert digest("written.work") != before
    written("direct", SOURCES["direct"])
    assert digest("written.work") == before
    (tmp_path / "written" / "lazy.py").unlink()
    assert digest("written.work") != before


def test_the_digest_covers_this_package_as_far_as_it_is_imported():
    digests = {digest(f"hessian_papers.{name}") for name in ("results", "work", "compute")}
    assert len(digests) == 3


@pytest.fixture
def said(tmp_path):
    """The digest of a source."""

    def digest(source, docstrings=False):
        file = tmp_path / "source.py"
        file.write_text(source)
        return digest_of(file, docstrings)

    return digest


def test_the_layout_of_code_says_nothing(said):
    source = (LIBRARY / "seeding.py").read_text()
    assert said(ast.unparse(ast.parse(source))) == said(source)
    assert said("# about it\n\n\nx = (1 +\n  'a') # why\n") == said('x=1+"a"')
    assert said("def f(a, b): return a") == said("def f(\n    a,\n    b,\n):\n    return a")


DOCUMENTED = ["{}\nx = 1", "class A:\n    {}\n    x = 1", "async def f():\n    {}\n    return 1"]


@pytest.mark.parametrize("source", DOCUMENTED)
def test_docstrings_count_only_if_they_are_asked_for(said, source):
    first, other = source.format('"""One."""'), source.format("'Another.'")
    assert said(first) == said(other) == said(source.replace("    {}\n", "").replace("{}\n", ""))
    assert said(first, docstrings=True) != said(other, docstrings=True)


def test_a_text_that_is_no_docstring_counts(said):
    assert said("def f():\n    return 'One.'") != said("def f():\n    return 'Another.'")
    assert said("x = 1\n'One.'") != said("x = 1\n'Another.'")
    assert said("if x:\n    'One.'") != said("if x:\n    'Another.'")


def changes(tree):
    """The source, after each of many small changes of the tree."""
    for node in ast.walk(tree):
        for name, value in list(ast.iter_fields(node)):
            if isinstance(node, ast.Constant) and name == "value" and isinstance(value, int):
                changed = value + 1 if type(value) is int else not value
            elif isinstance(value, str) and name in ("id", "arg", "attr", "name", "module"):
                changed = f"{value}_"
            elif isinstance(value, list) and len(value) > 1 and name != "values":
                changed = value[::-1]
            else:
                continue
            setattr(node, name, changed)
            yield ast.unparse(tree)
            setattr(node, name, value)


def test_every_small_change_of_a_module_changes_its_digest(said):
    source = (LIBRARY / "seeding.py").read_text()
    sources = {*changes(ast.parse(source))} - {ast.unparse(ast.parse(source))}
    assert len(sources) > 20
    assert said(source) not in {said(changed) for changed in sources}


def test_other_files_count_by_their_bytes(tmp_path):
    (tmp_path / "table.csv").write_text("a,b\n# c\n")
    before = digest_of(tmp_path / "table.csv")
    (tmp_path / "table.csv").write_text("a,b\n# d\n")
    assert digest_of(tmp_path / "table.csv") != before
