"""The rules that keep DVC, Hydra and the code in step."""

import json
from functools import cache
from pathlib import Path

import hydra
import pytest
import yaml
from dvc.repo import Repo

from hessian_papers.drawing.record import files
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
    "paper": "paper",
    "ledger": "ledger",
    "page": "page",
    "dashboard": "dashboard",
    "check": "check",
}
# The stages that serve several studies, networks or papers, and which file each depends on.
SERVING = {
    "train": inputs.COMPUTES,
    **dict.fromkeys(SIDES, inputs.COMPUTES),
    "paper": inputs.PAPER,
}


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
    computed = {study for side in SIDES for study in items(dvc_stages, side)}
    assert sorted(computed) == listed("studies"), "dvc.yaml lists the studies"


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


def test_the_plots_are_curves_of_figures_that_say_which(params, dvc_stages):
    """Some, each by the template: those of all figures, as pictures, made a page of 68,000 px."""
    plots = [pair for entry in read_yaml(ROOT / "dvc.yaml")["plots"] for pair in entry.items()]
    assert 0 < len(plots) <= 20
    assert (ROOT / ".dvc" / "plots" / "curves.json").is_file()
    for title, properties in plots:
        ((place, field),) = properties.pop("y").items()
        assert (properties, field) == ({"template": "curves"}, "curves")
        *_, paper, study, _ = Path(place).parts
        config = params["studies"][study]
        assert title == f"{config['paper']}, {config['artifact']}"
        assert files(ROOT / "reports" / "figures" / paper, study)["series"] == ROOT / place
        assert f"reports/figures/{paper}" in dvc_stages[f"paper@{paper}"]["outs"]


def test_no_two_studies_or_networks_have_one_name(params):
    """Else their inputs, and their networks, would be one file."""
    assert not {*params["networks"]} & {*params["studies"]}


def test_no_two_kinds_of_studies_have_one_name():
    studies = ROOT / "src" / "hessian_papers" / "studies"
    actual = [path.parent.name for path in studies.glob("*/*/study.py")]
    assert sorted(actual) == sorted(schema.kinds("studies"))


def module_of(study, part):
    return schema.module_of("studies", study["kind"], "", part)


def test_the_stages_of_a_study_are_what_its_modules_offer(params, dvc_stages):
    outputs = {out for actual in dvc_stages.values() for out in actual["outs"]}
    for name, study in params["studies"].items():
        module = module_of(study, "study")
        assert sides_of(study) == tuple(side for side in SIDES if hasattr(module, side)), name
        for side in ("train", *SIDES):
            assert hasattr(module, side) == (name in items(dvc_stages, side)), (name, side)
            made = f"results/{study['paper']}/{name}/{side}.nc"
            assert side == "train" or (made in outputs) == hasattr(module, side), (name, side)


def test_networks_read_their_own_data(params, dvc_stages):
    for name, networks in params["networks"].items():
        sources = {f"results/data/{networks['data']}.nc"} if networks.get("data") else set()
        actual = {dep for dep in dvc_stages[f"train@{name}"]["deps"] if "results/data" in dep}
        assert actual == sources, name


def test_a_paper_is_made_of_its_own_studies(params, dvc_stages, written):
    papers = inputs.papers_of(params)
    assert items(dvc_stages, "paper") == {*papers}
    places = [[paper, name] for paper, studies in papers.items() for name in studies]
    assert written["ledger.json"]["settings"]["studies"] == places
    for paper, studies in papers.items():
        record, actual = written[f"{paper}/paper.json"], dvc_stages[f"paper@{paper}"]
        assert record["settings"]["studies"] == [*studies]
        assert record["provenances"].keys() == {*studies}
        assert record["provenances"].keys() == record["settings"]["made"].keys()
        assert f"results/{paper}" in actual["deps"]


def test_every_page_is_made_of_the_ledger_of_all_papers(params, dvc_stages):
    """Else a statement that studies of two papers measure may have a verdict on each."""
    papers = inputs.papers_of(params)
    pages = {f"reports/{paper}{end}" for paper in papers for end in ("", ".html")}
    made = {name: {*stage["outs"]} & pages for name, stage in dvc_stages.items()}
    assert {name: own for name, own in made.items() if own} == {"page": pages}
    assert "reports/claims.json" in dvc_stages["page"]["deps"]


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


def test_the_code_behind_a_figure_is_that_of_its_kind(params):
    studies = "hessian_papers/studies"
    folder = f"{studies}/correlations/norm_correlation"
    listed_code = inputs.shown_by(params["studies"]["cracking-fig4"])["code"]
    content = digest_of(ROOT / "src" / folder / "figure.py")
    assert content.startswith(listed_code[f"{folder}/figure.py"])
    for file in (f"{folder}/claims.py", f"{studies}/correlations/ensembles.py"):
        assert file in listed_code
    assert "pipelines/chain.py" in listed_code
    assert not {f"{folder}/study.py", f"{studies}/scalar/relu_cells/figure.py"} & {*listed_code}


def computing(written, place):
    """The studies and networks whose computing runs a file."""
    ending = f"/{inputs.COMPUTES}.json"
    return {
        path.removesuffix(ending)
        for path, record in written.items()
        if path.endswith(ending) and place in record["code"]
    }


# What makes, orders, gathers, keeps and reads back what is computed.
BETWEEN = [
    *("pipelines/computing.py", "pipelines/schema.py", "pipelines/side.py", "pipelines/stage.py"),
    *("hessian_papers/labelled.py", "hessian_papers/results.py", "hessian_papers/work.py"),
    *("hessian_papers/manifest.py", "hessian_papers/networks/tools/result.py"),
    *(f"hessian_papers/compute/{name}.py" for name in ("computation", "keys", "plan", "shards")),
    "hessian_spectra/files.py",
]


@pytest.mark.parametrize("place", BETWEEN)
def test_what_stands_between_a_computation_and_its_files_is_code_of_each(written, params, place):
    assert computing(written, place) == {*params["networks"], *params["studies"]}


# Of parts of packages that pass all of them on: studies that run them, and others of the package.
PARTS = {
    "hessian_spectra/closed_form/two_layer_relu.py": (
        {"cracking-fig1", "poster-relu", "closed-form-identities"},
        {"cracking-fig4", "cracking-fig7", "cracking-fig10", "data-fig1c", "gpt2"},
    ),
    "hessian_spectra/curvature/lanczos.py": (
        {"cracking-fig2", "data-fig4", "dissecting-fig2", "gpt2", "pac-bayes-bases"},
        {"cracking-fig1", "cracking-fig4", "cracking-fig7", "poster-pair", "two-layer-linear"},
    ),
    "hessian_papers/training/pretraining.py": (
        {"gpt2", "gpt2-arms"},
        {"cracking-fig1", "cracking-fig8", "data-fig1c", "digit-classifiers", "deep-linear"},
    ),
}


@pytest.mark.parametrize(("place", "studies"), PARTS.items())
def test_a_part_of_a_package_is_code_of_what_runs_it_alone(written, place, studies):
    actual, (running, others) = computing(written, place), studies
    assert running <= actual
    assert not others & actual


def test_the_list_of_the_claims_names_their_tables(written):
    """A claim may be a row of a table, which is no code."""
    source = ROOT / "src"
    studies = source / "hessian_papers" / "studies"
    for table in [*studies.rglob("*.yaml"), *studies.rglob("*.csv")]:
        name = str(table.relative_to(source))
        listing = [path for path, record in written.items() if name in record["code"]]
        assert any(path.endswith("/paper.json") for path in listing), table


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
    before = [inputs.said_by(file) for file in files]
    for file in files:
        file.write_text(text.replace("It is so", "It is not") + "# more\n")
    after = [inputs.said_by(file) for file in files]
    changed = [old != new for old, new in zip(before, after, strict=True)]
    assert changed == [*counts.values()]


def test_a_stage_is_given_the_settings_that_are_compared(params, tmp_path):
    """So what writes and reads its inputs is none of them."""
    inputs.write(tmp_path, params)
    for group in ("networks", "studies"):
        for name, config in params[group].items():
            settings = inputs.read(tmp_path, inputs.COMPUTES, name)["settings"]
            assert schema.plain(stage.read_only(settings)) == {group: {name: config}}
    data = inputs.read(tmp_path, "prepare", None)["settings"]
    assert schema.plain(stage.read_only(data)) == {"data": params["data"]}


def test_an_undeclared_key_cannot_be_read(params):
    kept = stage.read_only({"studies": {"cracking-fig7": params["studies"]["cracking-fig7"]}})
    assert kept.studies["cracking-fig7"].kind == "data_scale"
    with pytest.raises(Exception, match="tracking"):
        kept.tracking  # noqa: B018
    with pytest.raises(Exception, match="read-only"):
        kept.studies["cracking-fig7"].width = 3
