from collections.abc import Iterator

import pytest
import slurm_cluster


@pytest.fixture(scope="session")
def cluster() -> Iterator[None]:
    """A SLURM cluster, to which this process and its children submit."""
    if reason := slurm_cluster.why_not():
        pytest.skip(reason)
    with slurm_cluster.running():
        yield
