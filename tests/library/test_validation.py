"""A package that an extra brings is asked for in one line, and nothing else is taken for that."""

import sys

import numpy as np
import pytest

from hessian_spectra.validation import optional_import, require


def test_a_missing_package_names_its_extra_in_one_line():
    with pytest.raises(ModuleNotFoundError) as caught:
        optional_import("absent_package.inner", "curvlinops")
    assert str(caught.value) == (
        'this needs absent_package: pip install "hessian-spectra[curvlinops]"'
    )
    assert caught.value.name == "absent_package"
    assert caught.value.__suppress_context__, "one line, without the error that it comes from"


def test_it_gives_the_module_itself_not_its_package():
    assert optional_import("xml.dom.minidom", "figures") is sys.modules["xml.dom.minidom"]


@pytest.mark.parametrize(
    ("content", "imported", "error"),
    [
        ("import absent_package", "installed", "No module named 'absent_package'"),
        ("", "installed.absent", "No module named 'installed.absent'"),
        ("raise ImportError('too old')", "installed", "too old"),
    ],
)
def test_an_error_within_an_installed_package_is_not_hidden(
    tmp_path, monkeypatch, content, imported, error
):
    (tmp_path / "installed").mkdir()
    (tmp_path / "installed" / "__init__.py").write_text(content)
    monkeypatch.syspath_prepend(tmp_path)
    try:
        with pytest.raises(ImportError) as caught:
            optional_import(imported, "figures")
    finally:
        sys.modules.pop("installed", None)
    assert str(caught.value) == error


def test_an_array_does_not_fill_the_message():
    with pytest.raises(ValueError, match=r"^size: expected 1, got ndarray$"):
        require(condition=False, field="size", expected="1", value=np.eye(3))
