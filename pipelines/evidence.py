"""Command evidence: run a study and keep what it found, for sizes that `dvc repro` does not run."""

import hashlib
import os
import platform
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from hessian_papers import labelled
from hessian_papers.networks.tools.result import DATA, folder_of, manifest_of
from hessian_papers.results import TIMES
from hessian_spectra.files import digest, write_bytes, write_json
from pipelines import chain, computing, inputs
from pipelines.departures import Settings, check_run, reached
from pipelines.recorded import EVIDENCE
from pipelines.schema import plain
from pipelines.stage import Context, main

# What is recorded of each network is kept up to this size, in bytes.
SMALL = 12 * 2**20


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise ValueError(f"evidence: expected a git repository, got: {done.stderr.strip()}")
    return done.stdout.strip()


def committed() -> str:
    """The commit that is run.

    Raises:
        ValueError: the code or the configuration differs from it.
    """
    changed = _git("status", "--porcelain", "--", "src", "conf", "pipelines")
    if changed:
        files = ", ".join(line.split(maxsplit=1)[1] for line in changed.splitlines()[:3])
        raise ValueError(f"evidence: expected committed code and configuration, changed: {files}")
    return _git("rev-parse", "HEAD")


def processor() -> str:
    """The processor's name as the system gives it."""
    information = Path("/proc/cpuinfo")
    lines = information.read_text("utf-8").splitlines() if information.is_file() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _facts(context: Context, config: Mapping[str, Any], commit: str) -> dict[str, Any]:
    networks, data = (plain(part) for part in (context.config.networks, context.config.data.sets))
    settings = Settings(context.name, config, networks, data)
    scale = reached(context.config.scale, settings)
    facts: dict[str, Any] = {"scale": scale, "commit": commit}
    facts["date"] = _git("show", "--no-patch", "--format=%as", commit)
    facts["configuration"] = {"study": digest(config)}
    facts["study"] = dict(config)
    for key, group in {"ensemble": networks, "data": data}.items():
        if name := config.get(key) or facts.get("ensemble", {}).get(key):
            facts[key] = group[name]
            facts["configuration"][key] = digest(facts[key])
    facts["hardware"] = {"processor": processor(), "cores": os.cpu_count()}
    if devices := {device for spent in context.spent.values() for device in spent.devices}:
        facts["hardware"]["devices"] = sorted(devices)
    facts |= inputs.sources(plain(context.config), context.name)
    times: dict[str, dict[str, float]] = {TIMES["core"]: {}}
    for name, spent in sorted(context.spent.items()):
        unit = "GPU" if spent.devices else "core"
        times.setdefault(TIMES[unit], {})[name] = round(spent.seconds, 1)
    return facts | times


def networks_path(name: str) -> Path:
    """The file with what was recorded of each network."""
    return EVIDENCE / "networks" / f"{name}.nc"


def of_each_network(networks: xr.Dataset) -> xr.Dataset:
    """The record of each network, in half the bytes: the weights have no more digits.

    The images that they were trained on stay with their data set.
    """
    networks = networks.drop_dims("image", errors="ignore")
    double = [name for name, values in networks.items() if values.dtype == np.float64]
    return networks.assign({name: networks[name].astype(np.float32) for name in double})


def keep_networks(name: str, content: bytes) -> None:
    """Keep what was recorded of each network where it is small, and nothing of a run before."""
    path = networks_path(name)
    if len(content) <= SMALL:
        write_bytes(path, content)
    else:
        path.unlink(missing_ok=True)


def weights_of(networks: xr.Dataset) -> dict[str, Any]:
    """Sizes and digests of the weights that trainings kept, which are too large for Git.

    The run's settings and its commit make them again, to the byte on one machine.
    """
    manifest = manifest_of(folder_of(networks))
    kept = {path: facts for path, facts in manifest.items() if path != DATA}
    return {"weights": kept} if kept else {}


def evidence(context: Context) -> None:
    """Write ``reports/evidence/<study>/``: the arrays of its sides, and ``facts.json``.

    Of networks that several studies share, what was recorded of each of them is kept as well, once
    for all these studies, in ``reports/evidence/networks/<name>.nc``, where it is small. Of these
    ``python -m pipelines.reanalysis`` computes other statistics without a training. Weights stay
    where the training keeps them; the facts have their digests.
    """
    commit = committed()
    check_run(context.config, context.name)
    study = computing.study_of(context)
    name, config = study.name, chain.raw_study(context)
    given = computing.networks_of(context, study)
    sides = computing.all_sides(context, study, given)
    facts = _facts(context, config, commit)
    # All of it was made: now it is kept.
    if "ensemble" in config:
        networks = labelled.content(of_each_network(given))
        facts["networks of this run"] = hashlib.sha256(networks).hexdigest()
        keep_networks(config["ensemble"], networks)
        facts |= weights_of(given)
    labelled.write(EVIDENCE / name / labelled.WHOLE, labelled.joined([*sides.values()]))
    write_json(EVIDENCE / name / "facts.json", facts)
    print(f"wrote {EVIDENCE / name}; `dvc repro` measures and shows it")


if __name__ == "__main__":
    main(evidence, estimates=True)
