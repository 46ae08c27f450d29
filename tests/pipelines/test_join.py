"""The rules that keep DVC, Hydra and the code in step."""

import ast
import json
from functools import cache
from pathlib import Path

import hydra
import pytest
import yaml
from dvc.repo import Repo

from hessian_papers.provenance import digest_of
from hessian_papers.results import SCALES, SIDES, sides_of
from pipelines import configure, inputs, schema, stage
from pipelines.yaml_files import read_yaml

ROOT = Path(__file__).resolve().parents[2]
# The stages, each with its entry point.
STAGES = {
    "prepare": "prepare",
    "train": "train",
    "closed_form": "side",
    "numerics": "side",
    "correlation": "side",
    "gpt2": "side",
    "layerwise": "side",
    "pac_bayes": "side",
    "figures": "figures",
    "claims": "claims",
    "report": "report",
    "ledger": "ledger",
    "page": "page",
    "dashboard": "dashboard",
    "check": "check",
}
# The stages that serve several studies, networks or papers, and which file each depends on.
SERVING = {
    "train": inputs.COMPUTES,
    **dict.fromkeys(SIDES, inputs.COMPUTES),
    "figures": inputs.DRAWS,
    "claims": inputs.CLAIMS,
    "report": inputs.REPORT,
}
# Carried by every stage and computing nothing: see inputs.CARRIERS.
INFRASTRUCTURE = {
    "pipelines/__init__.py",
    "pipelines/stage.py",
    "pipelines/chain.py",
    "pipelines/schema.py",
    "pipelines/inputs.py",
    "pipelines/recorded.py",
    "pipelines/departures.py",
    "pipelines/files.py",
    "pipelines/lifetime.py",
    "src/hessian_papers/__init__.py",
    "src/hessian_spectra/__init__.py",
    "src/hessian_spectra/files.py",
    "src/hessian_spectra/progress.py",
    "src/hessian_papers/data/__init__.py",
    "src/hessian_papers/data/base.py",
    "src/hessian_papers/manifest.py",
    "src/hessian_papers/results.py",
    "src/hessian_spectra/validation.py",
    "src/hessian_papers/work.py",
}
# They log and launch a computation, and have no part in it; or say where its code is.
OUTSIDE = (
    "src/hessian_papers/fan_out",
    "src/hessian_papers/provenance.py",
)


@cache
def validated(*overrides):
    with hydra.initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        return schema.validate(hydra.compose("config", overrides=list(overrides)))


@pytest.fixture(scope="module")
def params():
    return yaml.safe_load((ROOT / "params.yaml").read_text())


@pytest.fixture(scope="module")
def dvc_stages():
    with Repo(str(ROOT)) as repository:
        return {
            actual.addressing: {
                "deps": [d.def_path for d in actual.deps],
                "outs": [out.def_path for out in actual.outs],
            }
            for actual in repository.index.stages
        }


def items(dvc_stages, name):
    return {key.partition("@")[2] for key in dvc_stages if key.partition("@")[0] == name}


def listed(group):
    return sorted(path.stem for path in (ROOT / "conf" / group).rglob("*.yaml"))


def test_params_are_a_fresh_composition():
    fresh = configure.text_of(validated())
    assert (ROOT / "params.yaml").read_text() == fresh, "run `dvc repro configure`"


def test_every_scale_is_valid():
    *others, usual = SCALES
    assert [validated(f"scale={scale}")["scale"] for scale in others] == others
    assert validated()["scale"] == usual


def test_every_study_network_and_data_set_is_listed(params, dvc_stages):
    assert sorted(params["studies"]) == listed("studies"), "conf/config.yaml lists the studies"
    assert sorted(params["data"]["sets"]) == listed("data"), "conf/config.yaml lists the data sets"
    assert sorted(params["networks"]) == listed("networks"), "conf/config.yaml lists the networks"
    assert items(dvc_stages, "train") >= set(listed("networks")), "dvc.yaml lists the networks"
    assert sorted(items(dvc_stages, "figures")) == listed("studies"), "dvc.yaml lists the studies"


def test_the_lock_is_of_the_stages_that_there_are(dvc_stages):
    """DVC reads and writes all of it for each stage that runs, and removes nothing."""
    locked = read_yaml(ROOT / "dvc.lock")["stages"]
    assert locked.keys() <= dvc_stages.keys(), "delete these stages from dvc.lock"


def test_a_study_stands_in_the_folder_of_its_paper(params):
    for path in (ROOT / "conf" / "studies").rglob("*.yaml"):
        assert params["studies"][path.stem]["paper"] == path.parent.name, path
        assert path.read_text().startswith(f"# @package studies.{path.stem}\n"), path


def test_each_study_is_one_line_of_dvc_yaml():
    lines = (ROOT / "dvc.yaml").read_text().splitlines()
    for name in listed("studies") + listed("networks"):
        assert sum(line.strip().startswith(f"{name}: {{") for line in lines) == 1, name


def test_no_two_studies_or_networks_have_one_name(params):
    """Else their inputs, and their networks, would be one file."""
    assert not {*params["networks"]} & {*params["studies"]}


def test_no_two_kinds_of_studies_have_one_name():
    studies = ROOT / "src" / "hessian_papers" / "studies"
    actual = [path.parent.name for path in studies.glob("*/*/study.py")]
    assert sorted(actual) == sorted(schema.kinds("studies"))


def test_an_artifact_of_a_paper_has_one_study(params):
    """Claims about it find their study by it."""
    actual = [(study["paper"], study["artifact"]) for study in params["studies"].values()]
    assert len(set(actual)) == len(actual)


def module_of(study, part):
    return schema.module_of("studies", study["kind"], "", part)


def test_the_stages_of_a_study_are_what_its_modules_offer(params, dvc_stages):
    for name, study in params["studies"].items():
        module = module_of(study, "study")
        assert sides_of(study) == tuple(side for side in SIDES if hasattr(module, side)), name
        for side in ("train", *SIDES):
            assert hasattr(module, side) == (name in items(dvc_stages, side)), (name, side)
        assert f"results/{name}" in dvc_stages[f"figures@{name}"]["deps"], name


def test_networks_read_their_own_data(params, dvc_stages):
    for name, networks in params["networks"].items():
        sources = {f"results/data/{networks['data']}.nc"} if "data" in networks else set()
        actual = {dep for dep in dvc_stages[f"train@{name}"]["deps"] if "results/data" in dep}
        assert actual == sources, name


def test_a_paper_has_claims_and_a_page_of_its_own_studies(params, dvc_stages, written):
    papers = inputs.papers_of(params)
    assert items(dvc_stages, "claims") == items(dvc_stages, "report") == {*papers}
    assert written["ledger.json"]["settings"]["papers"] == [*papers]
    for paper, studies in papers.items():
        assert f"reports/figures/{paper}" in dvc_stages[f"claims@{paper}"]["deps"]
        assert written[f"{paper}/claims.json"]["settings"]["studies"] == studies
        for name in studies:
            assert f"reports/figures/{paper}/{name}" in dvc_stages[f"figures@{name}"]["outs"]


def test_a_paper_has_what_the_catalogue_of_theorems_measures_of_it(params, dvc_stages, written):
    catalogue = {n: c for n, c in params["studies"].items() if c["kind"] == inputs.CATALOGUE}
    assert catalogue
    for paper, studies in inputs.papers_of(params).items():
        other = {name: config for name, config in catalogue.items() if name not in studies}
        assert written[f"{paper}/claims.json"]["settings"]["theorems"] == other
        assert {f"results/{name}" for name in catalogue} <= {*dvc_stages[f"claims@{paper}"]["deps"]}
        elsewhere = {name: config["paper"] for name, config in other.items()}
        assert written[f"{paper}/report.json"]["settings"]["elsewhere"] == elsewhere


def test_the_page_of_all_papers_waits_for_those_of_each(params, dvc_stages):
    papers = inputs.papers_of(params)
    pages = {f"reports/{paper}.html" for paper in papers}
    assert pages == {dep for dep in dvc_stages["page"]["deps"] if dep.endswith(".html")}
    for paper in papers:
        assert f"reports/{paper}.html" in dvc_stages[f"report@{paper}"]["outs"]


def test_a_study_reads_its_own_networks(params, dvc_stages):
    for name, study in params["studies"].items():
        # What takes neither data nor networks has its settings alone.
        source = f"results/inputs/{name}/computes.json"
        if "data" in study:
            source = f"results/data/{study['data']}.nc"
        if "ensemble" in study:
            source = f"results/networks/{study['ensemble']}"
        if name in items(dvc_stages, "train"):
            assert source in dvc_stages[f"train@{name}"]["deps"]
            source = f"results/networks/{name}"
        for side in SIDES:
            if name in items(dvc_stages, side):
                assert source in dvc_stages[f"{side}@{name}"]["deps"], name


@pytest.fixture(scope="module")
def written(params, tmp_path_factory):
    """The records that `survey` writes for each stage, by the file's path."""
    folder = tmp_path_factory.mktemp("inputs")
    inputs.write(folder, params)
    files = sorted(folder.rglob("*.json"))
    return {file.relative_to(folder).as_posix(): json.loads(file.read_text()) for file in files}


@pytest.mark.parametrize("name", STAGES)
def test_a_stage_depends_on_its_own_file_and_on_no_code_besides(dvc_stages, written, name):
    for key, actual in dvc_stages.items():
        if key.partition("@")[0] == name:
            path = inputs.path_of(Path(), SERVING.get(name, name), key.partition("@")[2])
            assert path.as_posix() in written, key
            own = [dep for dep in actual["deps"] if not dep.startswith(("results/", "reports/"))]
            own += [dep for dep in actual["deps"] if dep.startswith("results/inputs/")]
            assert {*own} == {f"results/inputs/{path.as_posix()}"}, key


def test_a_stage_is_given_the_settings_of_its_own_study_alone(written, params):
    for group in ("networks", "studies"):
        for name, config in params[group].items():
            assert written[f"{name}/computes.json"]["settings"] == {group: {name: config}}
    for name, config in params["studies"].items():
        record = written[f"{name}/draws.json"]
        assert record["settings"] == {"studies": {name: config}}
        assert [*record["about"]] == [name]


@cache
def imported(path):
    """The project's files that one file imports, anywhere in it."""
    names, actual = set(), set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: relative import"
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    parts = {name.rsplit(".", k)[0] for name in names for k in range(name.count(".") + 1)}
    for name in parts:
        if name.split(".")[0] in ("hessian_papers", "hessian_spectra", "pipelines"):
            base = ROOT / ("src" if name.startswith("hessian") else "") / name.replace(".", "/")
            files = (f for f in (base.with_suffix(".py"), base / "__init__.py") if f.is_file())
            outside = [ROOT / place for place in OUTSIDE]
            actual |= {f for f in files if not any(f.is_relative_to(o) for o in outside)}
    return actual


def closure(*roots):
    """The files behind some files; behind the pipeline's own infrastructure there is everything."""
    todo, seen = [ROOT / root for root in roots], set()
    while todo:
        path = todo.pop()
        if path not in seen:
            seen.add(path)
            name = path.relative_to(ROOT).as_posix()
            carried = name in INFRASTRUCTURE and name.startswith("pipelines/")
            todo += [] if carried else imported(path)
    return {path.relative_to(ROOT).as_posix() for path in seen} - INFRASTRUCTURE


def file_of(module):
    return str(Path(module.__file__).relative_to(ROOT))


def roots(params, path):
    """The modules that a stage imports by name, or its entry point."""
    item, _, name = path.removesuffix(".json").rpartition("/")
    papers = "src/hessian_papers"
    if name == "prepare":
        sets = params["data"]["sets"].values()
        return [file_of(schema.module_of("data", element["kind"], "")) for element in sets]
    if name == "claims":
        studies = inputs.papers_of(params)[item].values()
        kinds = [file_of(module_of(element, "claims")) for element in studies]
        return [*kinds, f"{papers}/ledger/evaluation.py", f"{papers}/ledger/table.py"]
    if item in params["networks"]:
        return [file_of(schema.module_of("networks", params["networks"][item]["kind"], ""))]
    if name == inputs.COMPUTES:
        return [file_of(module_of(params["studies"][item], "study"))]
    if name == inputs.DRAWS:
        study = params["studies"][item]
        pictures = [f"{papers}/drawing/forest.py", f"{papers}/ledger/evaluation.py"]
        pictures.append(file_of(module_of(study, "claims")))
        drawn = [file_of(module)] if (module := schema.figure_of(study)) else pictures
        return [*drawn, f"{papers}/drawing/save.py"]
    return [f"pipelines/{name}.py"]


def test_the_code_of_a_stage_is_listed(written, params):
    """All that is imported, found in another way; what carries values about aside."""
    for path, record in written.items():
        needed = {name.removeprefix("src/") for name in closure(*roots(params, path))}
        missing = needed - record["code"].keys()
        assert not missing, f"{path} does not list {sorted(missing)}"


def test_the_list_of_code_of_cracking_fig4_names_each_file_with_its_content(written):
    studies = "hessian_papers/studies"
    folder = f"{studies}/correlations/norm_correlation"
    listed_code = written["cracking-fig4/draws.json"]["code"]
    content = digest_of(ROOT / "src" / folder / "figure.py")
    assert content.startswith(listed_code[f"{folder}/figure.py"])
    family = f"{studies}/correlations"
    assert f"{family}/ensembles.py" in listed_code
    others = {"hessian_papers/results.py", f"{studies}/scalar/relu_cells/figure.py"}
    others.add(f"{folder}/study.py")
    assert not others & {*listed_code}


def test_the_list_of_the_claims_names_their_tables(written):
    """A claim may be a row of a table, which is no code."""
    source = ROOT / "src"
    studies = source / "hessian_papers" / "studies"
    for table in [*studies.rglob("*.yaml"), *studies.rglob("*.csv")]:
        name = str(table.relative_to(source))
        listing = [path for path, record in written.items() if name in record["code"]]
        assert any(path.endswith("/claims.json") for path in listing), table


def test_what_the_page_is_made_of_is_listed(written):
    source = ROOT / "src"
    for suffix in ("css", "html", "js", "yaml"):
        for file in (source / "hessian_papers" / "report").glob(f"*.{suffix}"):
            assert str(file.relative_to(source)) in written["page.json"]["code"], file


def test_a_docstring_counts_where_it_is_a_statement(tmp_path):
    """Elsewhere neither it nor a comment makes anything run again."""
    text = '"""A module."""\n\n\ndef one():\n    """It is so."""\n    return 1\n'
    counts = {"claims.py": True, "study.py": False, "theorems/linear.py": True}
    files = [tmp_path / name for name in counts]
    (tmp_path / "theorems").mkdir()
    for file in files:
        file.write_text(text)
    before = inputs.digests(files)
    for file in files:
        file.write_text(text.replace("It is so", "It is not") + "# more\n")
    after = inputs.digests(files)
    changed = [old != new for old, new in zip(before, after, strict=True)]
    assert changed == [*counts.values()]


def test_an_undeclared_key_cannot_be_read(params):
    kept = stage.read_only({"studies": {"cracking-fig7": params["studies"]["cracking-fig7"]}})
    assert kept.studies["cracking-fig7"].kind == "data_scale"
    with pytest.raises(Exception, match="tracking"):
        kept.tracking  # noqa: B018
    with pytest.raises(Exception, match="read-only"):
        kept.studies["cracking-fig7"].width = 3
