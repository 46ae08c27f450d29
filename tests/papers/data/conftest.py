import pytest


@pytest.fixture
def no_network(monkeypatch):
    """Whatever torchvision asks the network for is a failure."""

    def refuse(*arguments, **options):
        raise AssertionError(f"the network was asked for {arguments}")

    monkeypatch.setattr("urllib.request.urlopen", refuse)
