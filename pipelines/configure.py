"""Stage configure: compose conf/, check it, and write params.yaml."""

import os
from typing import Any

import yaml
from omegaconf import DictConfig, OmegaConf

from hessian_spectra.files import write_bytes
from pipelines import schema
from pipelines.departures import require_ours
from pipelines.stage import PARAMS, Context, main

HEADER = "# Written by the stage `configure` from conf/: change conf/ or use overrides.\n"

REMEDIES = {
    "only": "name the stage, as in dvc exp run figures@<study>",
    "side": "name the stage, as in dvc exp run numerics@<study>",
    "launcher": "set HESSIAN_SPECTRA_WORKERS and HESSIAN_SPECTRA_CLUSTER, or change conf/launcher",
}


def text_of(params: dict[str, Any]) -> str:
    """The content of ``params.yaml`` for a resolved configuration."""
    return HEADER + yaml.safe_dump(params, sort_keys=True, allow_unicode=True)


def _of_one_process(config: DictConfig) -> dict[str, Any]:
    """The settings of what one process works on and where, by key."""
    launcher = config.get("launcher") or {}
    entries = {f"launcher.{name}": launcher[name] for name in launcher}
    return {"only": config.get("only"), "side": config.get("side")} | entries


def refuse_ignored(composed: DictConfig, said: DictConfig) -> None:
    """Refuse what an experiment sets of one process: its stages would not heed it.

    Args:
        composed: what DVC has composed.
        said: what conf/ says, with the variables of the environment.
    """
    expected = _of_one_process(said)
    for key, got in _of_one_process(composed).items():
        if got != expected.get(key):
            remedy, shown = REMEDIES[key.partition(".")[0]], expected.get(key)
            shown = "null" if shown is None else shown
            raise schema.ConfigError(
                f"{key}: expected {shown} as conf/ and the environment say, got "
                f"{got!r}: no stage heeds what an experiment sets of it; {remedy}"
            )


def configure(context: Context) -> None:
    """Write the resolved configuration.

    Under ``dvc exp run`` DVC has composed ``params.yaml`` with the experiment's overrides before
    any stage ran: then that is what is checked and kept. If it does not pass, the file goes back to
    what conf/ says.
    """
    source = context.config
    if os.environ.get("DVC_EXP_NAME") and PARAMS.exists():
        composed = OmegaConf.load(PARAMS)
        assert isinstance(composed, DictConfig)
        composed.setdefault("only", None)
        source = composed
    try:
        refuse_ignored(source, context.config)
        require_ours(source)
        params = schema.validate(source, stored=True)
    except schema.ConfigError:
        if source is not context.config:
            write_bytes(PARAMS, text_of(schema.validate(context.config)).encode())
        raise
    write_bytes(PARAMS, text_of(params).encode())


if __name__ == "__main__":
    main(configure)
