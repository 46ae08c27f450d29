import shutil
from pathlib import Path

import pytest


@pytest.fixture
def reports(sample_root, tmp_path):
    """A copy of the made-up `reports/`, to be changed at will."""
    return Path(shutil.copytree(sample_root / "reports", tmp_path / "reports"))
