"""Command evidence: run a study and keep what it found, for sizes that `dvc repro` does not run."""

import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from hessian_spectra.drawing.save import save
from hessian_spectra.ledger.evaluation import evaluate
from hessian_spectra.ledger.record import write_claims
from hessian_spectra.results import digest, write_arrays, write_bytes, write_json
from pipelines import chain
from pipelines.schema import plain
from pipelines.stage import REPORTS, Context, run


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise ValueError(f"evidence: expected a git repository, got: {done.stderr.strip()}")
    return done.stdout.strip()


def _commit() -> str:
    """The commit that is run.

    Raises:
        ValueError: the code or the configuration differs from it.
    """
    changed = _git("status", "--porcelain", "--", "src", "conf", "pipelines")
    if changed:
        files = ", ".join(line.split(maxsplit=1)[1] for line in changed.splitlines()[:3])
        raise ValueError(f"evidence: expected committed code and configuration, changed: {files}")
    return _git("rev-parse", "HEAD")


def _processor() -> str:
    """The processor's name as the system gives it."""
    information = Path("/proc/cpuinfo")
    lines = information.read_text().splitlines() if information.is_file() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _facts(context: Context, config: Mapping[str, Any], commit: str) -> dict[str, Any]:
    facts: dict[str, Any] = {"scale": context.config.scale, "commit": commit}
    facts["configuration"] = {"study": digest(config)}
    groups = {"ensemble": context.config.networks, "data": context.config.data.sets}
    for key, group in groups.items():
        if name := config.get(key):
            facts[key] = plain(group[name])
            facts["configuration"][key] = digest(facts[key])
    facts["hardware"] = {"processor": _processor(), "cores": os.cpu_count()}
    facts["versions"] = {"python": platform.python_version(), "numpy": np.__version__}
    if "torch" in sys.modules:
        facts["versions"]["torch"] = sys.modules["torch"].__version__
    facts["seconds of all items, one core each"] = {
        name: round(seconds, 1) for name, seconds in sorted(context.spent.items())
    }
    return facts


def evidence(context: Context) -> None:
    """Write ``reports/evidence/<study>/``: figure.png, claims.json, facts.json and the arrays."""
    if context.locked:
        raise ValueError("evidence: expected a run with a configuration of its own, got -cn locked")
    commit = _commit()
    drawing = chain.drawn(context)
    name, config = drawing.origin.study, drawing.origin.config
    sides = drawing.reading.sides
    for side, arrays in sides.items():
        write_arrays(context.results / name / f"{side}.npz", arrays)
    # Of all studies, since texts name others by what these are about.
    stated = chain.stated(plain(context.config.studies), context.results)
    records = evaluate([one for one in stated if one[1].name == name])
    figure, caption = (
        part(drawing.reading) for part in (drawing.module.draw, drawing.module.caption)
    )
    save(figure, caption, drawing.origin, context.reports / "figures")
    # All of it was made: now it is kept.
    folder = REPORTS / "evidence" / name
    image = context.reports / "figures" / f"{name}.png"
    write_bytes(folder / "figure.png", image.read_bytes())
    for side, arrays in sides.items():
        write_arrays(folder / f"{side}.npz", arrays)
    write_claims(folder / "claims.json", [record for record in records if record.study == name])
    write_json(folder / "facts.json", _facts(context, config, commit))
    print(f"wrote {folder}; `dvc repro report` shows it on the page")


if __name__ == "__main__":
    run(evidence, reads=[])
