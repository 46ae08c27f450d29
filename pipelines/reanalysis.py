"""Command reanalysis: evaluate the networks of a recorded run again, by the study of today."""

import hashlib

from hessian_papers import labelled
from hessian_spectra.files import digest, write_json
from pipelines import chain, computing, recorded
from pipelines.evidence import committed, networks_path
from pipelines.recorded import EVIDENCE
from pipelines.stage import Context, main


def reanalysis(context: Context) -> None:
    """Write ``reports/evidence/<study>/`` anew, from what was recorded of each network.

    Nothing is trained. The facts stay those of the training, but for the study's settings and the
    commit that evaluated it.

    Raises:
        ValueError: there is no recorded run, it is damaged, or its networks are not kept.
    """
    commit = committed()
    study, config = computing.study_of(context), chain.raw_study(context)
    known = recorded.read(study.name)
    if known is None or known.damage or "ensemble" not in known.facts["study"]:
        why = known.damage if known and known.damage else "there is none"
        raise ValueError(f"reanalysis: expected a recorded run of {study.name} of networks: {why}")
    path = networks_path(known.facts["study"]["ensemble"])
    networks = labelled.read(path, "python -m pipelines.evidence, which trains them")
    facts = dict(known.facts)
    if hashlib.sha256(path.read_bytes()).hexdigest() != facts["networks of this run"]:
        expected = f"expected {path} to hold the networks of the recorded run of {study.name}"
        raise ValueError(f"reanalysis: {expected}; run python -m pipelines.evidence, which trains")
    sides = computing.all_sides(context, study, networks)
    labelled.write(EVIDENCE / study.name / labelled.WHOLE, labelled.joined([*sides.values()]))
    facts |= {"study": config, "commit of the evaluation": commit}
    facts["configuration"] = facts["configuration"] | {"study": digest(config)}
    write_json(EVIDENCE / study.name / "facts.json", facts)
    print(f"wrote {EVIDENCE / study.name}; `dvc repro` measures and shows it")


if __name__ == "__main__":
    main(reanalysis)
