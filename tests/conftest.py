import pytest

from tests.pipelines.workspace import copy_repository


@pytest.fixture(scope="session")
def make_workspace(tmp_path_factory):
    """Make a fresh copy of the repository under a given name."""
    return lambda name: copy_repository(tmp_path_factory.mktemp(name))
