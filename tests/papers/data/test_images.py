"""Images: the digits, several sources at once, other labels, and settings that are refused."""

from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits

from hessian_papers.data import images as data
from hessian_papers.data.base import OFFLINE, Storage
from hessian_papers.data.images import Config
from hessian_papers.labelled import arrays_of
from tests.papers.data import published

PARAMS = Path(__file__).parents[3] / "params.yaml"


def config(**changes):
    images = yaml.safe_load(PARAMS.read_text("utf-8"))["data"]["sets"]["images"]
    return Config(**(images | changes))


def make(*settings):
    """The arrays of a set of images."""
    return arrays_of(data.make(*settings))


def save(folder, name, labels):
    images = np.arange(len(labels), dtype=np.uint8)[:, None, None, None]
    np.savez(folder / f"{name}.npz", images=images, labels=np.array(labels))


def test_the_digits_are_scikit_learns():
    arrays = make(config())
    assert arrays["source"].tolist() == ["digits"]
    images, labels = arrays["images:digits"], arrays["labels:digits"]
    digits = load_digits()
    assert images.dtype == np.uint8
    assert images.shape == (1797, 8, 8, 1)
    np.testing.assert_array_equal(images.reshape(1797, 64), digits.data)
    assert labels.dtype == np.int64
    np.testing.assert_array_equal(labels, digits.target)
    again = make(config())
    assert all(np.array_equal(again[name], arrays[name]) for name in arrays)


@pytest.mark.usefixtures("no_network")
def test_several_sources_stand_side_by_side(monkeypatch, tmp_path):
    files = published.mnist_files()
    published.publish_mnist(monkeypatch, files)
    published.write(tmp_path / "MNIST" / "raw", files)
    save(tmp_path, "own", [0, 1])
    sources = ["own.npz", "digits", "mnist"]
    arrays = make(config(sources=sources), Storage(tmp_path, False))
    assert arrays["source"].tolist() == ["own", "digits", "mnist"]
    counts = {name: len(arrays[f"labels:{name}"]) for name in arrays["source"]}
    assert counts == {"own": 2, "digits": 1797, "mnist": 12}
    assert len(arrays) == 8  # with their names, and whether labels are random


def test_classes_can_be_joined_and_left_out(tmp_path):
    save(tmp_path, "own", [0, 1, 2, 3, 0, 2])
    path = str(tmp_path / "own.npz")
    arrays = make(config(sources=[path], classes=[1, -1, 0, 1]))
    assert arrays["labels:own"].tolist() == [1, 0, 1, 1, 0]
    assert arrays["images:own"].ravel().tolist() == [0, 2, 3, 4, 5]
    with pytest.raises(ValueError, match=r"^classes: expected one for each of the labels 0 to 3"):
        make(config(sources=[path], classes=[1, 0]))
    with pytest.raises(ValueError, match=r"^classes: expected some images of own to be kept"):
        make(config(sources=[path], classes=[-1, -1, -1, -1, 0]))


@pytest.mark.parametrize("times", [1, 3])
def test_magnified_images_are_the_same_seen_from_afar(times):
    small, large = (make(config(magnification=n, per_class=2))["images:digits"] for n in (1, times))
    assert large.shape == (20, 8 * times, 8 * times, 1)
    for corner in range(times):
        np.testing.assert_array_equal(large[:, corner::times, corner::times], small)


@settings(max_examples=8)
@given(labels=st.lists(st.integers(0, 3), min_size=1, max_size=30), per_class=st.integers(1, 9))
def test_the_first_of_each_class_are_kept_in_order(tmp_path_factory, labels, per_class):
    folder = tmp_path_factory.mktemp("own")
    save(folder, "own", labels)
    arrays = make(config(sources=["own.npz"], per_class=per_class), Storage(folder, False))
    seen, kept = [], []
    for index, label in enumerate(labels):
        if seen.count(label) < per_class:
            kept.append(index)
        seen.append(label)
    assert arrays["images:own"].ravel().tolist() == kept
    assert arrays["labels:own"].tolist() == [labels[index] for index in kept]


def test_random_labels_are_uniform_and_have_nothing_to_do_with_the_images():
    own = make(config())["labels:digits"]
    drawn = make(config(random_labels=True))["labels:digits"]
    counts = np.bincount(drawn, minlength=10)
    # Chi-squared with 9 degrees of freedom: 27.9 is exceeded once in a thousand draws.
    assert ((counts - 179.7) ** 2 / 179.7).sum() < 27.9
    # A tenth agrees by chance, give or take four standard deviations.
    assert abs((own == drawn).mean() - 0.1) < 4 * np.sqrt(0.09 / len(own))
    assert np.array_equal(make(config(random_labels=True))["labels:digits"], drawn)
    other = make(config(random_labels=True, seed=1))["labels:digits"]
    assert not np.array_equal(other, drawn)


def test_random_labels_of_fewer_images_are_the_same_ones():
    all_of_them = make(config(random_labels=True))
    few = make(config(random_labels=True, per_class=20))
    assert np.bincount(few["labels:digits"]).tolist() == [20] * 10
    images = [image.tobytes() for image in all_of_them["images:digits"]]
    drawn = dict(zip(images, all_of_them["labels:digits"], strict=True))
    pairs = zip(few["images:digits"], few["labels:digits"], strict=True)
    assert all(drawn[image.tobytes()] == label for image, label in pairs)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sources": []}, r"sources: expected at least one source, got \[\]"),
        ({"sources": ["svhn"]}, "sources: expected digits, mnist, fashion-mnist, cifar10 or a path "
                                "to an .npz file, got 'svhn'"),
        ({"sources": ["a/own.npz", "own.npz"]}, "sources: expected different names, got .*"),
        ({"sources": ["mnist.npz", "mnist"]}, "sources: expected different names, got .*"),
        ({"classes": [0, 2]}, r"classes: expected classes 0 to K - 1, all of them, or -1, got .*"),
        ({"classes": [-2, 0]}, "classes: expected .*"),
        ({"classes": [0, 1]}, "classes: expected one for each of 10 labels, or none, got .*"),
        ({"split": "test"}, "split: expected train, as digits come without a test split, got .*"),
        ({"classes": [-1, -1]}, "classes: expected .*"),
    ],
)  # fmt: skip
def test_bad_settings_are_refused_in_one_line(change, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        config(**change)


@pytest.mark.parametrize(
    ("change", "shape"),
    [
        ({}, (1797,)),
        ({"sources": ["mnist", "cifar10"]}, (50000,)),
        ({"sources": ["mnist", "cifar10"], "split": "test"}, (10000,)),
        ({"sources": ["digits", "own.npz"]}, ()),
        ({"classes": [0] * 5 + [-1] * 5}, ()),
        ({"per_class": 3}, (30,)),
        ({"per_class": 3, "sources": ["digits", "own.npz"]}, ()),
        ({"per_class": 5000}, (1797,)),
    ],
)
def test_settings_tell_how_many_images_there_are(change, shape):
    assert config(**change).form.shape == shape


def test_nothing_but_the_digits_is_made_without_a_root():
    assert len(make(config(), OFFLINE)["images:digits"]) == 1797
    with pytest.raises(FileNotFoundError, match=r"data\.root is null"):
        make(config(sources=["digits", "cifar10"]), OFFLINE)
