"""From data.root on the command line to images, or to the line about what is not there."""

import re
from pathlib import Path

import hydra
import numpy as np
import pytest
from hydra._internal.hydra import Hydra
from omegaconf import OmegaConf

from hessian_papers import labelled
from pipelines import prepare, runs, schema

# A study with its data, networks, and another data set.
KEPT = ("cracking-fig1", "two-layer-linear", "images")


@pytest.fixture(scope="module")
def compose(settings):
    def call(*overrides):
        with hydra.initialize_config_dir(str(settings), version_base="1.3"):
            return schema.at_scale(hydra.compose("config", overrides=list(overrides)))

    return call


@pytest.fixture(scope="module")
def composed(compose):
    return compose()


def with_data(composed, **changes):
    return OmegaConf.merge(composed, {"data": changes})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"download": True}, "download': expected data.root=<folder> with it, got null"),
        ({"root": "  "}, "root': expected a folder or null, got '  '"),
        ({"download": "sometimes"}, "download': Value 'sometimes' is not a valid bool"),
        (
            {"sets": {"images": {"sources": ["svhn"]}}},
            "sets.images.sources': expected digits, mnist, ",
        ),
    ],
)
def test_bad_values_are_refused_in_one_line(composed, changes, message):
    with pytest.raises(schema.ConfigError) as error:
        schema.validate(with_data(composed, **changes))
    assert str(error.value).startswith(f"invalid config at 'data.{message}")
    assert "\n" not in str(error.value)


def test_missing_data_end_the_stage_with_the_command_that_fetches_them(
    ends, compose, capsys, tmp_path
):
    overrides = ["only=images", "data.sets.images.sources=[mnist]", f"data.root={tmp_path}/none"]
    assert ends(prepare.prepare, "prepare", *overrides) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith(f"error: mnist: {tmp_path}/none/MNIST/raw/train-images-idx3-ubyte")
    command = lines[0].split("is missing: ")[1].replace("'", "")
    assert command.startswith("python -m pipelines.prepare ")
    # What it says to run is a valid configuration.
    fetches = compose(*command.removesuffix(" fetches it").split(" ")[3:])
    assert schema.validate(fetches)["data"]["sets"]["images"]["sources"] == ["mnist"]
    assert schema.storage_of(fetches).download
    assert schema.storage_of(fetches).root == tmp_path / "none"


def test_own_images_below_the_root_are_prepared(ends, tmp_path):
    images = np.zeros((2, 1, 1, 1), np.uint8)
    np.savez(tmp_path / "own.npz", images=images, labels=np.array([0, 1]))
    overrides = ["only=images", "data.sets.images.sources=[own.npz]", f"data.root={tmp_path}"]
    assert ends(prepare.prepare, "prepare", *overrides) == 0
    (written,) = (tmp_path / "results" / "runs").rglob("images.nc")
    assert labelled.read(written)["labels:own"].values.tolist() == [0, 1]


def test_a_root_with_dots_leads_nowhere_else(ends, tmp_path, monkeypatch):
    """Overrides name the folder of a run: here by a path that leaves it, and the checkout."""
    folder = tmp_path / "some" / "where" / "checkout"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    assert ends(prepare.prepare, "prepare", "only=wedge", "data.root=../../../../../esc/here") == 0
    (written,) = (path for path in tmp_path.rglob("*") if path.is_file())
    assert written.relative_to(folder).parts[:2] == ("results", "runs")
    assert len(written.relative_to(folder).parts) == 5


@pytest.mark.parametrize(("mode", "times"), [((), 1), (("hydra.mode=RUN",), 2)])
def test_a_configuration_is_composed_once_unless_it_has_a_mode(ends, monkeypatch, mode, times):
    composed = []
    compose_config = Hydra.compose_config

    def counted(*arguments, **settings):
        composed.append(settings)
        return compose_config(*arguments, **settings)

    monkeypatch.setattr(Hydra, "compose_config", counted)
    assert ends(prepare.prepare, "prepare", "only=wedge", *mode) == 0
    assert len(composed) == times


@pytest.mark.parametrize("root", ["../../esc/here", "/tmp/../../..", ".", "", "x" * 300])
def test_a_run_has_a_name_that_is_a_folders(root):
    name = runs.run_name(f"data.root={root}")
    assert re.fullmatch(r"data\.root=[A-Za-z0-9=,._-]*-[0-9a-f]{12}", name)
    assert len(name) < 150


def test_overrides_that_read_alike_have_folders_of_their_own():
    alike = ("a/b", "a_b", "a//b", "x" * 300 + "1", "x" * 300 + "2")
    assert len({runs.run_name(f"data.root={root}") for root in alike}) == len(alike)


@pytest.mark.parametrize("name", ["../up", "a/b", ".hidden", ""])
def test_a_name_that_is_no_file_name_is_refused(composed, name):
    config = composed.copy()
    OmegaConf.set_struct(config, False)
    config.data.sets[name] = composed.data.sets.wedge
    with pytest.raises(
        schema.ConfigError, match=r"^invalid config at 'data\.sets': expected a nam"
    ):
        schema.validate(config)


def test_a_home_folder_is_found_and_no_root_is_the_default(composed):
    assert schema.storage_of(composed).root is None
    home = schema.storage_of(with_data(composed, root="~/data"))
    assert home.root == Path.home() / "data"


def test_the_same_data_in_another_folder_are_the_same_experiment(composed):
    first, second, other = (
        schema.digest_of(with_data(composed, **changes))
        for changes in ({"root": "/a"}, {"root": "/b"}, {"sets": {"images": {"split": "test"}}})
    )
    assert first == second != other


def test_helpers_of_the_data_sets_are_no_kinds():
    with pytest.raises(schema.ConfigError) as error:
        schema.module_of("data", "whitening", "data.sets.images")
    listed = str(error.value).split("expected one of ")[1].split(", got ")[0].split(", ")
    assert "images" in listed
    assert not {"base", "subsets", "whitening", "reduction", "_archive"} & set(listed)
