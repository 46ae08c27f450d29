import os
import shutil
from pathlib import Path

import pytest


@pytest.fixture
def reports(sample_root, tmp_path):
    """A copy of the made-up `reports/`, to be changed at will."""
    return Path(shutil.copytree(sample_root / "reports", tmp_path / "reports"))


@pytest.fixture(scope="module")
def client():
    """End the client's service process with the tests."""
    yield
    import wandb

    wandb.teardown()


@pytest.fixture
def no_wandb_settings(client, monkeypatch):
    """Keep the settings of whoever runs the tests out of them."""
    # The client notes its own service process there, too, which ends with the tests.
    for name in {name for name in os.environ if name.startswith("WANDB_")} - {"WANDB_SERVICE"}:
        monkeypatch.delenv(name)
