"""Stage configure: compose conf/, check it against the schema, write params.yaml."""

import os
from pathlib import Path

import yaml
from omegaconf import DictConfig, OmegaConf

from hessian_spectra.results import write_bytes
from pipelines import schema
from pipelines.stage import Context, run

PARAMS = Path("params.yaml")
HEADER = "# Written by the stage `configure` from conf/. Change conf/ or use overrides, not this file.\n"


def configure(context: Context) -> None:
    """Write the resolved configuration; under ``dvc exp run`` only check the one DVC composed."""
    if os.environ.get("DVC_EXP_NAME") and PARAMS.exists():
        composed = OmegaConf.load(PARAMS)
        assert isinstance(composed, DictConfig)
        composed.setdefault("only", None)
        schema.validate(composed)
        return
    params = schema.validate(context.config)
    text = HEADER + yaml.safe_dump(params, sort_keys=True, allow_unicode=True)
    write_bytes(PARAMS, text.encode())


if __name__ == "__main__":
    run(configure, reads=[])
