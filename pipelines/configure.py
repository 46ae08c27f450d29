"""Stage configure: compose conf/, check it, and write params.yaml."""

import os
from typing import Any

import yaml
from omegaconf import DictConfig, OmegaConf

from hessian_spectra.files import write_bytes
from pipelines import schema
from pipelines.departures import different, require_ours
from pipelines.kept import KEPT, OF_EXPERIMENT, back, named
from pipelines.stage import PARAMS, Context, main

HEADER = "# Written by the stage `configure` from conf/: change conf/ or use overrides.\n"

REMEDIES = {
    "only": "name the stage, as in dvc exp run paper@<paper>",
    "side": "name the stage, as in dvc exp run numerics@<study>",
    "launcher": "set HESSIAN_SPECTRA_WORKERS and HESSIAN_SPECTRA_CLUSTER, or change conf/launcher",
}


def text_of(params: dict[str, Any], said: dict[str, Any] | None = None) -> str:
    """The content of ``params.yaml`` for a resolved configuration.

    Args:
        params: the configuration.
        said: what conf/ says, if it may say something else; a comment then names what differs.
    """
    pairs = different({"": params}, {} if said is None else {"": said})
    shown = named({key[1:]: pair for key, pair in pairs})
    # They stay in the file, and later runs keep them: `survey` says so each time.
    kept = f"{KEPT}{shown}; they stay until `{back(*OF_EXPERIMENT)}`\n" if shown else ""
    return HEADER + kept + yaml.safe_dump(params, sort_keys=True, allow_unicode=True)


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


def refuse_other_entries(composed: DictConfig, said: DictConfig) -> None:
    """Refuse an experiment that takes out or puts in an entry: stages have those of dvc.yaml.

    Args:
        composed: what DVC has composed.
        said: what conf/ says.
    """
    for prefix, noun in schema.GROUPS.values():
        got, expected = (OmegaConf.select(config, prefix) or {} for config in (composed, said))
        for name in sorted({*got} ^ {*expected}, key=str):
            done, undone = ("put in", "add") if name in got else ("taken out", "remove")
            raise schema.ConfigError(
                f"{prefix}: expected each {noun} of conf/ and no other, got {name} {done}: the "
                f"stages are those of dvc.yaml; {undone} it there and in conf/config.yaml"
            )


def configure(context: Context) -> None:
    """Write the resolved configuration.

    Under ``dvc exp run`` DVC has composed ``params.yaml`` with the experiment's overrides before
    any stage ran: then that is what is checked and kept. If it does not pass, the file goes back to
    what conf/ says.
    """
    source, said = context.config, None
    if os.environ.get("DVC_EXP_NAME") and PARAMS.exists():
        composed = OmegaConf.load(PARAMS)
        assert isinstance(composed, DictConfig)
        composed.setdefault("only", None)
        source, said = composed, schema.validate(context.config)
    try:
        refuse_ignored(source, context.config)
        refuse_other_entries(source, context.config)
        require_ours(source)
        params = schema.validate(source, stored=True)
    except schema.ConfigError:
        if said is not None:
            write_bytes(PARAMS, text_of(said).encode())
        raise
    write_bytes(PARAMS, text_of(params, said).encode())


if __name__ == "__main__":
    main(configure)
