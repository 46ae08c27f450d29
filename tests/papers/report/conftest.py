import pytest
from documents import Reader

from hessian_papers.report import build, read


@pytest.fixture(scope="session")
def content(sample_root):
    """The content of the pages of the made-up `reports/`."""
    return read(sample_root / "reports")


@pytest.fixture(scope="session")
def text(content):
    """A document that has all."""
    return build(content)


@pytest.fixture(scope="session")
def page(text):
    return Reader(text)
