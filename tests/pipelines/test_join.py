"""The rules that keep DVC, Hydra and the code in step."""

import ast
import hashlib
import importlib
import inspect
from functools import cache
from pathlib import Path

import hydra
import pytest
import yaml
from dvc.repo import Repo

from hessian_spectra.results import SIDES
from pipelines import code, configure, schema, stage

ROOT = Path(__file__).resolve().parents[2]
# The stages, each with its entry point.
STAGES = {
    "prepare": "prepare",
    "train": "train",
    "closed_form": "side",
    "numerics": "side",
    "correlation": "side",
    "figures": "figures",
    "claims": "claims",
    "report": "report",
    "dashboard": "dashboard",
}
# The stages that run one kind, and the list of its code that they depend on.
LISTED = {
    "train": "computes",
    "closed_form": "computes",
    "numerics": "computes",
    "correlation": "computes",
    "figures": "draws",
}
# Carried by every stage and computing nothing: see the head of dvc.yaml.
INFRASTRUCTURE = {
    "pipelines/__init__.py",
    "pipelines/stage.py",
    "pipelines/chain.py",
    "pipelines/schema.py",
    "src/hessian_spectra/__init__.py",
    "src/hessian_spectra/data/base.py",
    "src/hessian_spectra/results.py",
    "src/hessian_spectra/validation.py",
    "src/hessian_spectra/work.py",
}
TRACKING = "hessian_spectra/tracking"
# They log and launch a computation, and have no part in it; or say where its code is.
OUTSIDE = (
    "src/hessian_spectra/fan_out",
    "src/hessian_spectra/provenance.py",
)


def compose(*overrides):
    with hydra.initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        return hydra.compose("config", overrides=list(overrides))


@pytest.fixture(scope="module")
def params():
    return yaml.safe_load((ROOT / "params.yaml").read_text())


@pytest.fixture(scope="module")
def dvc_stages():
    with Repo(str(ROOT)) as repository:
        return {
            found.addressing: {
                "deps": [d.def_path for d in found.deps if not hasattr(d, "params")],
                "params": [k for d in found.deps if hasattr(d, "params") for k in d.params],
                "outs": [out.def_path for out in found.outs],
            }
            for found in repository.index.stages
        }


def items(dvc_stages, name):
    return {key.partition("@")[2] for key in dvc_stages if key.partition("@")[0] == name}


def listed(group):
    return sorted(path.stem for path in (ROOT / "conf" / group).rglob("*.yaml"))


def test_params_are_a_fresh_composition():
    fresh = configure.text_of(schema.validate(compose()))
    assert (ROOT / "params.yaml").read_text() == fresh, "run `dvc repro configure`"


def test_every_scale_is_valid():
    for scale in listed("scale"):
        assert schema.validate(compose(f"scale={scale}"))["scale"] == scale


def test_every_study_network_and_data_set_is_listed(params, dvc_stages):
    assert sorted(params["studies"]) == listed("studies"), "conf/config.yaml lists the studies"
    assert sorted(params["data"]["sets"]) == listed("data"), "conf/config.yaml lists the data sets"
    assert sorted(params["networks"]) == listed("networks"), "conf/config.yaml lists the networks"
    assert items(dvc_stages, "train") >= set(listed("networks")), "dvc.yaml lists the networks"
    assert sorted(items(dvc_stages, "figures")) == listed("studies"), "dvc.yaml lists the studies"
    written = sorted(Path(out).stem for out in dvc_stages["prepare"]["outs"])
    assert written == listed("data"), "the outs of prepare list the data sets"


def test_a_study_stands_in_the_folder_of_its_paper(params):
    for path in (ROOT / "conf" / "studies").rglob("*.yaml"):
        assert params["studies"][path.stem]["paper"] == path.parent.name, path
        assert path.read_text().startswith(f"# @package studies.{path.stem}\n"), path


def test_each_study_is_one_line_of_dvc_yaml():
    lines = (ROOT / "dvc.yaml").read_text().splitlines()
    for name in listed("studies") + listed("networks"):
        assert sum(line.strip().startswith(f"{name}:") for line in lines) == 1, name


def test_no_two_kinds_have_one_name():
    """Their lists of code would be one file, and a study would not know which of them it is."""
    names = [*schema.kinds("networks"), *schema.kinds("studies")]
    assert len(set(names)) == len(names)
    studies = ROOT / "src" / "hessian_spectra" / "studies"
    found = [path.parent.name for path in studies.glob("*/*/study.py")]
    assert sorted(found) == sorted(schema.kinds("studies"))


def test_an_artifact_of_a_paper_has_one_study(params):
    """Claims about it find their study by it."""
    found = [(study["paper"], study["artifact"]) for study in params["studies"].values()]
    assert len(set(found)) == len(found)


@cache
def listed_code(module):
    return [line.split()[1] for line in code.text_of(module).splitlines()]


def is_set(config, key):
    for part in key.split("."):
        if part not in config:
            return False
        config = config[part]
    return True


def module_of(study, part):
    return schema.module_of("studies", study["kind"], "", part)


def test_the_stages_of_a_study_are_what_its_modules_offer(params, dvc_stages):
    for name, study in params["studies"].items():
        module = module_of(study, "study")
        for side in ("train", *SIDES):
            assert hasattr(module, side) == (name in items(dvc_stages, side)), (name, side)
        assert f"results/{name}" in dvc_stages[f"figures@{name}"]["deps"], name


def test_a_study_reads_its_own_networks(params, dvc_stages):
    for name, study in params["studies"].items():
        source = f"results/data/{study.get('data')}.npz"
        if "ensemble" in study:
            source = f"results/networks/{study['ensemble']}"
        if name in items(dvc_stages, "train"):
            assert source in dvc_stages[f"train@{name}"]["deps"]
            source = f"results/networks/{name}"
        for side in SIDES:
            if name in items(dvc_stages, side):
                assert source in dvc_stages[f"{side}@{name}"]["deps"], name


@pytest.mark.parametrize("name", STAGES)
def test_a_stage_declares_the_parameters_it_reads(dvc_stages, params, name):
    reads = importlib.import_module(f"pipelines.{STAGES[name]}").READS
    for key, found in dvc_stages.items():
        if key.partition("@")[0] == name and "params.yaml" not in found["deps"]:
            item = key.partition("@")[2]
            # Networks are configured for themselves, or by the one study that trains them.
            there = [k for k in stage.declared(reads, item) if is_set(params, k)]
            assert found["params"] == there, key


@cache
def imported(path):
    """The project's files that one file imports, anywhere in it."""
    names, found = set(), set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: relative import"
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    parts = {name.rsplit(".", k)[0] for name in names for k in range(name.count(".") + 1)}
    for name in parts:
        if name.split(".")[0] in ("hessian_spectra", "pipelines"):
            base = ROOT / ("src" if name.startswith("hessian") else "") / name.replace(".", "/")
            files = (f for f in (base.with_suffix(".py"), base / "__init__.py") if f.is_file())
            outside = [ROOT / place for place in OUTSIDE]
            found |= {f for f in files if not any(f.is_relative_to(o) for o in outside)}
    return found


def closure(*roots):
    todo, seen = [ROOT / root for root in roots], set()
    while todo:
        path = todo.pop()
        if path not in seen:
            seen.add(path)
            todo += imported(path)
    return {str(path.relative_to(ROOT)) for path in seen} - INFRASTRUCTURE


def file_of(module):
    return str(Path(module.__file__).relative_to(ROOT))


def dynamic_roots(name, item, params):
    """What a stage imports by name: a kind's module, or those of all data sets."""
    if name == "prepare":
        sets = params["data"]["sets"].values()
        return [file_of(schema.module_of("data", one["kind"], "")) for one in sets]
    if name not in LISTED:
        return []
    if item in params["networks"]:
        return [file_of(schema.module_of("networks", params["networks"][item]["kind"], ""))]
    part = "figure" if name == "figures" else "study"
    return [file_of(module_of(params["studies"][item], part))]


@pytest.mark.parametrize("name", LISTED)
def test_a_stage_depends_on_the_list_of_the_code_of_its_kind(dvc_stages, params, name):
    for key, found in dvc_stages.items():
        if key.partition("@")[0] != name:
            continue
        item = key.partition("@")[2]
        kind = (params["networks"] | params["studies"])[item]["kind"]
        assert f"results/code/{kind}/{LISTED[name]}.txt" in found["deps"], key
        (root,) = dynamic_roots(name, item, params)
        module = root.removeprefix("src/hessian_spectra/").removesuffix(".py").replace("/", ".")
        files = listed_code(module)
        needed = {f.removeprefix("src/hessian_spectra/") for f in closure(root)}
        assert needed <= set(files), f"{key} imports what is not listed: {needed - set(files)}"
        own = [dep for dep in found["deps"] if dep.startswith(("src", "pipelines"))]
        assert own == [f"pipelines/{STAGES[name]}.py"], key


def test_the_list_of_code_names_each_file_with_its_content():
    folder = "studies/correlations/norm_correlation"
    text = code.text_of(f"{folder.replace('/', '.')}.figure")
    digests = dict(reversed(line.split()) for line in text.splitlines())
    content = (ROOT / "src" / "hessian_spectra" / folder / "figure.py").read_bytes()
    assert hashlib.sha256(content).hexdigest().startswith(digests[f"{folder}/figure.py"])
    assert {f"{folder}/reading.py", "studies/correlations/drawing.py"} <= {*digests}
    others = {"results.py", "studies/scalar/relu_cells/figure.py", f"{folder}/study.py"}
    assert not others & {*digests}


def test_the_schema_depends_on_all_that_it_is_made_of(dvc_stages, tmp_path):
    """An edit of a dataclass that a configuration must fit checks the configuration again."""
    code.code(tmp_path)
    names = {line.split()[1] for line in (tmp_path / "configured.txt").read_text().splitlines()}
    for group in ("data", "networks", "studies"):
        for kind in schema.kinds(group):
            config = schema.module_of(group, kind, "").Config
            for one in config.__mro__[:-1]:
                file = Path(inspect.getfile(one)).relative_to(ROOT / "src" / "hessian_spectra")
                assert str(file) in names, one
    assert "results/code/configured.txt" in dvc_stages["configure"]["deps"]
    assert not [name for name in names if name.endswith(("figure.py", "claims.py"))]


def test_the_list_of_the_claims_names_their_tables():
    """A claim may be a row of a table, which is no code."""
    modules = [f"{name}.claims" for name in schema.kinds("studies").values()]
    listed_files = {line.split()[1] for line in code.text_of(*modules).splitlines()}
    library = ROOT / "src" / "hessian_spectra"
    for table in [*library.glob("studies/**/*.yaml"), *library.glob("studies/**/*.csv")]:
        assert str(table.relative_to(library)) in listed_files, table


@pytest.mark.parametrize("name", [name for name in STAGES if name not in LISTED])
def test_the_code_a_stage_depends_on_is_the_code_it_imports(dvc_stages, params, name):
    (found,) = (found for key, found in dvc_stages.items() if key.partition("@")[0] == name)
    declared = [dep for dep in found["deps"] if dep.startswith(("src", "pipelines"))]
    # Loading a study's base and a kind by name is all that the shared code needs of such packages.
    shared = {
        "src/hessian_spectra/studies/base.py",
        "src/hessian_spectra/networks/tools/result.py",
        "src/hessian_spectra/drawing/save.py",
        "src/hessian_spectra/ledger/claims.py",
        "src/hessian_spectra/ledger/bounds.py",
    }
    # A training logs live runs, wherever it stands.
    live = {str(path.relative_to(ROOT)) for path in (ROOT / "src" / TRACKING).glob("*.py")}
    shared |= live | {"src/hessian_spectra/drawing/record.py"}
    needed = closure(f"pipelines/{STAGES[name]}.py", *dynamic_roots(name, "", params)) - shared
    missing = {f for f in needed if not any(Path(f).is_relative_to(d) for d in declared)}
    missing = {f for f in missing if Path(f).name != "__init__.py"}
    assert not missing, f"{name} imports what it does not declare: {sorted(missing)}"
    used = {dep for dep in declared for f in needed | shared if Path(f).is_relative_to(dep)}
    assert set(declared) == used, f"{name} declares code that it does not import"


def test_an_undeclared_key_cannot_be_read():
    kept = stage._select(compose(), ["studies.cracking-fig7"])
    assert kept.studies["cracking-fig7"].kind == "data_scale"
    with pytest.raises(Exception, match="tracking"):
        kept.tracking  # noqa: B018
    with pytest.raises(Exception, match="read-only"):
        kept.studies["cracking-fig7"].width = 3
