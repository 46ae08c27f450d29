"""The code behind a module: what changes its digest, and what does not."""

import sys
import textwrap

import pytest

from hessian_spectra.provenance import code_of


def digest(module):
    return code_of(module).digest


SOURCES = {
    "__init__": "",
    "work": """
        from . import direct
        from .deep.package import name

        def compute():
            import written.lazy
            return direct, name, written.lazy
        """,
    "direct": "import json\nvalue = 1",
    "lazy": "value = 1",
    "deep/__init__": "value = 1",
    "deep/package/__init__": "from .inner import name",
    "deep/package/inner": "from ...above import name",
    "above": "name = 1",
    "unrelated": "value = 1",
}


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


@pytest.mark.parametrize("module", [name for name in SOURCES if name != "unrelated"])
def test_a_change_of_code_that_is_imported_changes_the_digest(written, module):
    before = digest("written.work")
    written(module, textwrap.dedent(SOURCES[module]) + "\nmore = 2\n")
    assert digest("written.work") != before


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
    digests = {digest(f"hessian_spectra.{name}") for name in ("results", "work", "fan_out")}
    assert len(digests) == 3
