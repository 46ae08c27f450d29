"""The wheel has what it must, and works where nothing but its own dependencies is installed."""

import ast
import email
import importlib
import json
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import hessian_spectra
from tests.pages import LIBRARY, README, blocks
from tests.pipelines.workspace import ROOT, environment

SOURCE = ROOT / "src" / "hessian_spectra"
PACKAGE = "hessian_spectra"
WITHOUT = {"PYTHONPATH", "VIRTUAL_ENV", "PYTHONHOME"}


def run(*command, folder):
    """The output of a command, without this process's path to the source tree."""
    variables = {name: value for name, value in environment().items() if name not in WITHOUT}
    done = subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env=variables,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(make_workspace):
    """A wheel from a copy of the repository, and one by way of a source distribution."""
    workspace = make_workspace("package")
    build = (sys.executable, "-m", "build", "--no-isolation")
    run(*build, "--outdir", "by_sdist", folder=workspace.path)
    assert not workspace.changed().strip().replace("?? by_sdist/", ""), "git ignores what it leaves"
    run(*build, "--wheel", "--outdir", "direct", folder=workspace.path)
    return workspace.path


def content(archive):
    """The bytes of an archive's files, by name without the folder that a source one has."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as opened:
            return {name: opened.read(name) for name in opened.namelist()}
    with tarfile.open(archive) as opened:
        return {
            member.name.partition("/")[2]: opened.extractfile(member).read()
            for member in opened
            if member.isfile()
        }


@pytest.fixture(scope="module")
def wheel(built):
    (archive,) = (built / "by_sdist").glob("*.whl")
    return archive


def test_the_wheel_has_every_file_of_the_library_and_no_other(wheel):
    tracked = run("git", "ls-files", "--cached", "--others", "--exclude-standard", folder=SOURCE)
    named = {f"hessian_spectra/{name}" for name in tracked.splitlines()}
    actual = {name for name in content(wheel) if ".dist-info/" not in name}
    assert actual == {name for name in named if (ROOT / "src" / name).is_file()}
    assert {Path(name).suffix for name in actual} >= {
        ".py",
        ".pyi",
        ".typed",
    }


def test_the_source_distribution_gives_the_same_wheel(built, wheel):
    (direct,) = (built / "direct").glob("*.whl")
    assert content(direct) == content(wheel)


def test_the_source_distribution_is_the_library_without_tests(built):
    (archive,) = (built / "by_sdist").glob("*.tar.gz")
    names = set(content(archive))
    assert names >= {"README.md", "LICENSE", "CITATION.cff", "pyproject.toml"}
    assert {name.split("/")[0] for name in names if "/" in name} == {"src"}
    assert not any("papers" in name for name in names)


def described(wheel):
    """The wheel's metadata: what it is, and what it requires."""
    (text,) = (
        data for name, data in content(wheel).items() if name.endswith(".dist-info/METADATA")
    )
    return email.message_from_bytes(text)


def test_the_metadata_say_what_it_is_by_whom_and_for_whom(wheel):
    about = described(wheel)
    assert about["Author"] == "The hessian-spectra developers"
    assert about["License-Expression"] == "MIT"
    assert {"Typing :: Typed", "Intended Audience :: Science/Research"} <= {
        *about.get_all("Classifier")
    }
    assert {"figures", "curvlinops", "huggingface", "lightning"} <= {
        *about.get_all("Provides-Extra")
    }


def required(requirements, extras):
    """The names, and the extras of these, that some requirements ask for on this machine."""
    for text in requirements:
        first = Requirement(text)
        if first.marker is None or any(first.marker.evaluate({"extra": extra}) for extra in extras):
            yield canonicalize_name(first.name), frozenset(first.extras)


def closure(requirements):
    """The installed distributions behind some requirements, by name."""
    actual, waiting, known = {}, [*required(requirements, {""})], set()
    while waiting:
        name, extras = waiting.pop()
        if (name, extras) not in known:
            known.add((name, extras))
            actual[name] = metadata.distribution(name)
            waiting += required(actual[name].requires or (), {"", *extras})
    return actual


@pytest.fixture(scope="module")
def bare(wheel, tmp_path_factory):
    """An environment with the wheel and the distributions that it requires, and nothing else."""
    folder = tmp_path_factory.mktemp("bare")
    venv.create(folder)
    (site,) = folder.glob("lib/python*/site-packages")
    behind = closure(described(wheel).get_all("Requires-Dist"))
    owners = metadata.packages_distributions()
    for distribution in behind.values():
        for name in {file.parts[0] for file in distribution.files} - {"..", "__pycache__"}:
            others = {canonicalize_name(owner) for owner in owners.get(name, ())} - set(behind)
            assert not others, f"{name} is shared with {others}"
            place, here = site / name, distribution.locate_file(name)
            if name.endswith(".dist-info"):
                shutil.copytree(here, place)  # uv sees no link
            elif not place.exists():
                place.symlink_to(here)
    # Offline and by name alone: what the wheel requires must be there.
    python = folder / "bin" / "python"
    install = ("uv", "pip", "install", "--offline", "--no-index", "--no-cache", "--python", python)
    run(*install, wheel, folder=folder)
    return folder


@pytest.fixture(scope="module")
def actual(bare):
    """The findings of :mod:`tests.package.in_bare_environment` there."""
    script = Path(__file__).with_name("in_bare_environment.py")
    return json.loads(run(bare / "bin" / "python", "-I", script, folder=bare))


def test_the_environment_is_bare(actual, bare, wheel):
    assert Path(actual["file"]).is_relative_to(bare)
    behind = closure(described(wheel).get_all("Requires-Dist"))
    installed = {canonicalize_name(name) for name in actual["distributions"]}
    assert installed == {"hessian-spectra", *behind}


def test_the_library_requires_five_distributions(wheel):
    requirements = described(wheel).get_all("Requires-Dist")
    direct = {name for name, _ in required(requirements, {""})}
    assert direct == {"jaxtyping", "numpy", "scipy", "torch", "tqdm"}


# Torch brings them as well: an extra names what its own code imports.
OF_TORCH = {"jinja2", "markupsafe"}


def test_what_an_extra_brings_the_library_does_without(wheel):
    message = described(wheel)
    requirements, extras = message.get_all("Requires-Dist"), message.get_all("Provides-Extra")
    assert {"curvlinops", "develop", "figures", "huggingface", "lightning", "pipeline"} == {*extras}
    base = closure(requirements)
    own = {name for name, _ in required(requirements, {""})} | {"hessian-spectra"}
    for extra in extras:
        brought = {name for name, _ in required(requirements, {extra})} - own
        assert brought, extra
        assert not (brought - OF_TORCH) & set(base), extra


def test_the_version_is_the_same_wherever_it_is_asked_for(actual, bare):
    assert actual["version"] == actual["metadata"] == hessian_spectra.__version__
    for command in ([bare / "bin" / "hessian-spectra"], [bare / "bin" / "python", "-m", PACKAGE]):
        said = run(*command, "--version", folder=bare)
        assert said == f"hessian-spectra {hessian_spectra.__version__}\n"


def test_torch_is_loaded_when_it_is_needed(actual):
    assert not actual["loads torch"]


def test_no_module_of_the_library_imports_what_an_extra_brings(actual):
    """But a picture, or a callback for another library, says what it needs."""
    errors = {name: error for name, error in actual["imported"].items() if error}
    pictures = {name for name in errors if name.split(".")[1] == "pictures"}
    integrations = {name for name in errors if name.startswith(f"{PACKAGE}.integrations.")}
    assert errors.keys() == pictures | integrations
    assert pictures
    for name in errors:
        extra = "figures" if name in pictures else name.rpartition(".")[2]
        assert errors[name].endswith(f'pip install "hessian-spectra[{extra}]"'), errors[name]
    rooms = {name.split(".")[1] for name in actual["imported"]}
    assert rooms >= {"closed_form", "curvature", "models", "pac_bayes", "training"}


def test_closed_form_and_eigen_solver_agree_in_the_bare_environment(actual):
    spectra = actual["spectra"]
    assert spectra["top"] == pytest.approx(spectra["closed form"][-3:], rel=1e-8)


@pytest.mark.parametrize("page", [README, LIBRARY], ids=lambda page: page.stem)
def test_the_code_that_shows_the_library_runs_in_the_bare_environment(bare, tmp_path, page):
    script = tmp_path / "page.py"
    script.write_text("\n".join(text for word, text in blocks(page) if word == "python"))
    assert "cf.of(" in script.read_text()
    assert "outlier" in run(bare / "bin" / "python", "-I", script, folder=tmp_path)


def test_what_needs_an_extra_names_it_in_one_line(actual):
    said = actual["spectra"]["curvlinops"]
    assert said == 'this needs curvlinops: pip install "hessian-spectra[curvlinops]"'


def test_the_command_inspects_a_network_and_says_what_a_figure_needs(bare, tmp_path):
    (tmp_path / "mine.py").write_text(
        "import torch\n"
        "from torch import nn\n\n\n"
        "def factory():\n"
        "    x = torch.linspace(-1, 1, 8, dtype=torch.float64)[:, None]\n"
        "    model = nn.Linear(1, 1, bias=False, dtype=torch.float64)\n"
        "    return model, nn.MSELoss(), [(x, x)]\n"
    )
    command = (bare / "bin" / "hessian-spectra", "inspect", "mine:factory", "--out", "out")
    said = run(*command, folder=tmp_path)
    assert 'no figure: this needs matplotlib: pip install "hessian-spectra[figures]"' in said
    written = sorted(file.name for file in (tmp_path / "out").iterdir())
    assert written == [f"inspection.{suffix}" for suffix in ("csv", "json", "tex", "txt")]
    assert "0.857" in said, "its one eigenvalue, 2 mean(x²) = 6/7"


def test_every_room_is_an_attribute_that_a_type_checker_knows():
    stub = ast.parse((SOURCE / "__init__.pyi").read_text())
    messages = {
        alias.asname: f"{node.module}.{alias.name}"
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    rooms = set(hessian_spectra._ROOMS)
    assert messages == {room: f"{PACKAGE}.{room}" for room in rooms}
    assert rooms | {"__version__"} <= set(dir(hessian_spectra))
    for room in rooms:
        assert getattr(hessian_spectra, room) is importlib.import_module(f"{PACKAGE}.{room}")


def test_an_attribute_that_is_none_is_refused():
    with pytest.raises(AttributeError, match="'hessian_spectra' has no attribute 'curvatur'"):
        hessian_spectra.curvatur  # noqa: B018


def test_nothing_is_installed_that_no_hash_covers():
    """Neither a package, nor what a source archive, as one of them is, is built with."""
    recipe = (ROOT / "Makefile").read_text("utf-8").replace("\\\n", " ").splitlines()
    installs = [line for line in recipe if line.startswith("\t") and "pip install" in line]
    files = [line for line in installs if " -r " in line]
    assert len(installs) == len(files) + 1
    assert all("--require-hashes" in line for line in files)
    (packages,) = [line for line in files if "-r requirements.txt" in line]
    assert "--require-build-hashes" in packages
    assert "--build-constraints requirements.txt" in packages
    # The project itself is built by what is there already, and brings nothing.
    (own,) = [line for line in installs if line not in files]
    assert {"--no-deps", "--no-build-isolation"} <= {*own.split()}
    pinned = (ROOT / "requirements.txt").read_text("utf-8").replace("\\\n", " ").splitlines()
    lines = {line.partition("==")[0]: line for line in pinned if "==" in line and line[0] != " "}
    assert "setuptools" in lines
    assert [name for name, line in lines.items() if "--hash=sha256:" not in line] == []
