"""The settings that the configurations of all networks have in common."""

from dataclasses import dataclass, fields
from typing import Any

from hessian_papers.constraints import Checked


@dataclass(frozen=True, kw_only=True)
class NetworksConfig(Checked):
    """The fields that every ``conf/networks/<name>.yaml`` has.

    Args:
        kind: the module of ``hessian_papers.networks`` that trains them.
        seed: seed of all random draws.
    """

    kind: str
    seed: int


def shared(settings: type, config: Any) -> dict[str, Any]:
    """The fields that each item takes from a configuration as they are.

    Args:
        settings: a dataclass that ``config`` is an instance of: its fields are taken, no others,
            so that an item holds nothing that does not change it.
        config: the configuration.
    """
    return {field.name: getattr(config, field.name) for field in fields(settings)}
