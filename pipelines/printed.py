"""Command printed: figures as PDF, for a paper: of today's run, and of the recorded one.

    python -m pipelines.printed cracking-fig7 cracking-fig1

They are drawn from the data sets that `dvc repro` has made, and from those of recorded runs.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from hessian_spectra.files import write_bytes
from hessian_spectra.pictures import rendered
from hessian_spectra.validation import one_of, require
from pipelines import chain, inputs
from pipelines.figures import picture
from pipelines.folders import MAP, PARAMS, RESULTS
from pipelines.lifetime import mendable
from pipelines.yaml_files import read_yaml


def printed(study: str) -> Iterator[Path]:
    """Write ``results/pdf/<study>.pdf``, and ``<study>-recorded.pdf``, of the runs that are here.

    Raises:
        ValueError: there is no such study, or none of its runs is there.
    """
    params = read_yaml(PARAMS)
    studies = params["studies"]
    require(study in studies, "study", one_of(sorted(studies), study, MAP), study)
    provenances = inputs.provenances(params, study)
    known = chain.measured(provenances, RESULTS, chain.names_of(studies))
    runs = [run for run in known if run.provenance.arrays]
    require(bool(runs), study, "a run that is here, see dvc repro", "none")
    for run in runs:
        figure, _ = picture(run)
        name = f"{study}-recorded" if run.provenance.recorded else study
        path = RESULTS / "pdf" / f"{name}.pdf"
        write_bytes(path, rendered(figure, ["pdf"])["pdf"])
        yield path


if __name__ == "__main__":
    with mendable():
        for name in sys.argv[1:]:
            for file in printed(name):
                print(f"wrote {file}")
