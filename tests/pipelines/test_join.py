"""The rules that keep DVC, Hydra and the code in step."""

import ast
import hashlib
import importlib
import importlib.util
from pathlib import Path

import hydra
import pytest
import yaml
from dvc.repo import Repo

from pipelines import code, configure, schema, stage
from pipelines.chain import sides

ROOT = Path(__file__).resolve().parents[2]
STAGES = (
    "prepare",
    "train",
    "ensembles",
    "closed_form",
    "numerics",
    "correlation",
    "figures",
    "claims",
    "report",
    "dashboard",
)
# The stages that run one module of a package, and depend on the list of its code.
LISTED = {
    "train": "studies",
    "closed_form": "studies",
    "numerics": "studies",
    "correlation": "studies",
    "figures": "figures",
    "ensembles": "ensembles",
}
SIDES = ("closed_form", "numerics", "correlation")
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
# They log and launch a computation, and have no part in it.
OUTSIDE = ("pipelines/live.py", "src/hessian_spectra/fan_out")


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
    return sorted(path.stem for path in (ROOT / "conf" / group).glob("*.yaml"))


def test_params_are_a_fresh_composition():
    fresh = configure.text_of(schema.validate(compose()))
    assert (ROOT / "params.yaml").read_text() == fresh, "run `dvc repro configure`"


def test_every_scale_is_valid():
    for scale in listed("scale"):
        assert schema.validate(compose(f"scale={scale}"))["scale"] == scale


def test_every_study_and_data_set_is_listed(params, dvc_stages):
    assert sorted(params["studies"]) == listed("studies"), "conf/config.yaml lists the studies"
    assert sorted(params["data"]["sets"]) == listed("data"), "conf/config.yaml lists the data sets"
    assert sorted(params["ensembles"]) == listed("ensembles"), "conf/config.yaml lists them"
    assert sorted(items(dvc_stages, "ensembles")) == listed("ensembles"), "dvc.yaml lists them"
    assert sorted(items(dvc_stages, "figures")) == listed("studies"), "dvc.yaml lists the studies"
    written = sorted(Path(out).stem for out in dvc_stages["prepare"]["outs"])
    assert written == listed("data"), "the outs of prepare list the data sets"


def test_the_stages_of_a_study_are_what_its_modules_offer(params, dvc_stages):
    for name, study in params["studies"].items():
        module = importlib.import_module(f"hessian_spectra.studies.{study['kind']}")
        figure = importlib.import_module(f"hessian_spectra.figures.{study['kind']}")
        for side in ("train", *SIDES):
            assert hasattr(module, side) == (name in items(dvc_stages, side)), (name, side)
        assert set(sides(figure)) == {side for side in SIDES if hasattr(module, side)}, name
        drawn = {f"results/{side}/{name}.npz" for side in sides(figure)}
        assert drawn <= set(dvc_stages[f"figures@{name}"]["deps"]), name


def test_a_study_reads_its_own_networks(params, dvc_stages):
    for name, study in params["studies"].items():
        source = f"results/data/{study.get('data')}.npz"
        if "ensemble" in study:
            source = f"results/ensembles/{study['ensemble']}.npz"
        if name in items(dvc_stages, "train"):
            assert source in dvc_stages[f"train@{name}"]["deps"]
            source = f"results/train/{name}.npz"
        for side in SIDES:
            if name in items(dvc_stages, side):
                assert source in dvc_stages[f"{side}@{name}"]["deps"], name


@pytest.mark.parametrize("name", STAGES)
def test_a_stage_declares_the_parameters_it_reads(dvc_stages, name):
    reads = importlib.import_module(f"pipelines.{name}").READS
    for key, found in dvc_stages.items():
        if key.partition("@")[0] == name and "params.yaml" not in found["deps"]:
            assert found["params"] == stage.declared(reads, key.partition("@")[2]), key


def imported(path):
    """The project's files that one file imports, anywhere in it."""
    names = set()
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
            yield from (f for f in files if not any(f.is_relative_to(o) for o in outside))


def closure(*roots):
    todo, seen = [ROOT / root for root in roots], set()
    while todo:
        path = todo.pop()
        if path not in seen:
            seen.add(path)
            todo += imported(path)
    return {str(path.relative_to(ROOT)) for path in seen} - INFRASTRUCTURE


def module_file(package, kind):
    base = f"src/hessian_spectra/{package}/{kind}"
    return f"{base}.py" if (ROOT / f"{base}.py").is_file() else f"{base}/__init__.py"


def dynamic_roots(name, study, params):
    """What a stage imports by name: the study's kind, all data sets, all claims."""
    if name in LISTED:
        group = "ensembles" if name == "ensembles" else "studies"
        return [module_file(LISTED[name], params[group][study]["kind"])]
    if name == "prepare":
        return [module_file("data", s["kind"]) for s in params["data"]["sets"].values()]
    if name == "claims":
        return [module_file("claims", s["kind"]) for s in params["studies"].values()]
    return []


@pytest.mark.parametrize("name", LISTED)
def test_a_stage_depends_on_the_list_of_the_code_of_its_kind(dvc_stages, params, name):
    for key, found in dvc_stages.items():
        if key.partition("@")[0] != name:
            continue
        (root,) = dynamic_roots(name, key.partition("@")[2], params)
        package, kind = LISTED[name], Path(root.removesuffix("/__init__.py")).stem
        assert f"results/code/{package}/{kind}.txt" in found["deps"], key
        files = [line.split()[1] for line in code.text_of(package, kind).splitlines()]
        needed = {f.removeprefix("src/hessian_spectra/") for f in closure(root)}
        assert needed <= set(files), f"{key} imports what is not listed: {needed - set(files)}"
        own = [dep for dep in found["deps"] if dep.startswith(("src", "pipelines"))]
        assert own == [f"pipelines/{name}.py"], key


def test_the_list_of_code_names_each_file_with_its_content():
    text = code.text_of("figures", "norm_correlation")
    digests = dict(reversed(line.split()) for line in text.splitlines())
    content = (ROOT / "src/hessian_spectra/figures/norm_correlation.py").read_bytes()
    assert hashlib.sha256(content).hexdigest().startswith(digests["figures/norm_correlation.py"])
    assert "figures/drawing/ensembles.py" in digests
    assert not {"results.py", "figures/relu_cells.py", "studies/norm_correlation.py"} & {*digests}


@pytest.mark.parametrize("name", [name for name in STAGES if name not in LISTED])
def test_the_code_a_stage_depends_on_is_the_code_it_imports(dvc_stages, params, name):
    used = set()
    declared = set()
    # Loading a study's base is all that the shared code needs of the package of studies.
    shared = {"src/hessian_spectra/studies/base.py", "src/hessian_spectra/studies/__init__.py"}
    for key, found in dvc_stages.items():
        if key.partition("@")[0] != name:
            continue
        code = [dep for dep in found["deps"] if dep.startswith(("src", "pipelines"))]
        roots = dynamic_roots(name, key.partition("@")[2], params)
        needed = closure(f"pipelines/{name}.py", *roots) - shared
        missing = {f for f in needed if not any(Path(f).is_relative_to(d) for d in code)}
        missing = {f for f in missing if Path(f).name != "__init__.py"}
        assert not missing, f"{key} imports what it does not declare: {sorted(missing)}"
        used |= {dep for dep in code for f in needed | shared if Path(f).is_relative_to(dep)}
        declared |= set(code)
    assert declared == used, f"{name} declares code that no item imports: {declared - used}"


def test_an_undeclared_key_cannot_be_read():
    kept = stage._select(compose(), ["studies.cracking-fig7"])
    assert kept.studies["cracking-fig7"].kind == "data_scale"
    with pytest.raises(Exception, match="tracking"):
        kept.tracking  # noqa: B018
    with pytest.raises(Exception, match="read-only"):
        kept.studies["cracking-fig7"].width = 3
