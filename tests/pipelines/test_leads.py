"""The lead sentences in conf/studies rest on statements that are measured there."""

import re

import pytest

from hessian_papers.drawing.record import natural_order
from pipelines import inputs
from pipelines.folders import CONF
from pipelines.schema import module_of
from pipelines.yaml_files import read_yaml

FILES = {file.stem: file for file in sorted((CONF / "studies").rglob("*.yaml"))}


@pytest.mark.parametrize("study", sorted(inputs.leads(), key=natural_order))
def test_a_lead_rests_on_statements_of_its_study(study):
    config = read_yaml(FILES[study])
    statements = module_of("studies", config["kind"], study, "claims").statements
    about = [each for each in statements.all if each.is_about(config)]
    known = [
        re.sub(r"\\{\w+\\}", ".+", re.escape(each.id or each.function_name.replace("_", "-")))
        for each in about
    ]
    for name in inputs.leads()[study]["rests_on"]:
        assert any(re.fullmatch(pattern, name) for pattern in known), (name, known)
