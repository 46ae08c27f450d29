"""Stage configure: compose conf/, check it, write params.yaml and what each stage is made from."""

import os
from typing import Any

import yaml
from omegaconf import DictConfig, OmegaConf

from hessian_spectra.results import write_bytes
from pipelines import inputs, schema
from pipelines.stage import INPUTS, PARAMS, Context, run

HEADER = "# Written by the stage `configure` from conf/: change conf/ or use overrides.\n"


def text_of(params: dict[str, Any]) -> str:
    """The content of ``params.yaml`` for a resolved configuration."""
    return HEADER + yaml.safe_dump(params, sort_keys=True, allow_unicode=True)


def configure(context: Context) -> None:
    """Write the resolved configuration, and of it and the code what each stage is made from.

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
        params = schema.validate(source)
    except schema.ConfigError:
        if source is not context.config:
            write_bytes(PARAMS, text_of(schema.validate(context.config)).encode())
        raise
    write_bytes(PARAMS, text_of(params).encode())
    inputs.write(INPUTS, params)


if __name__ == "__main__":
    run(configure)
