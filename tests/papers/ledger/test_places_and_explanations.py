"""Where a claim stands may depend on the artifact, and what else explains it on the case."""

import numpy as np

from hessian_papers.ledger.bounds import at_most
from hessian_papers.ledger.claims import Claims, Study, over
from hessian_papers.results import StudyArrays


def entries(artifact):
    claims = Claims(StudyArrays, values={"mup": "μP"})

    @claims.trend(
        lambda study: f"section {len(study.config['artifact'])}, {{artifact}}",
        at_most(0.0, "a reason"),
        otherwise=lambda case: "{parametrisation} alone" if case["parametrisation"] != "sp" else "",
        each=over("parametrisation"),
    )
    def small(reading, parametrisation):
        """It is small"""
        return 0.0

    small.__module__ = "hessian_papers.studies.family.kind.claims"
    reading = StudyArrays({"correlation": {"parametrisation": np.array(["sp", "mup"])}})
    return list(statements.entries(Study("own", {"paper": "p", "artifact": artifact}), reading))


def test_a_place_is_that_of_the_artifact():
    assert entries("Fig 1")[0].location == "section 5, Fig 1"
    assert entries("Figure 1")[0].location == "section 8, Figure 1"


def test_an_explanation_is_that_of_the_case():
    assert [entry.explanation for entry in entries("Figure 1")] == ["", "μP alone"]
