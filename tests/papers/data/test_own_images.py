"""A user's own images: each breach of the schema is one line that says where."""

import numpy as np
import pytest

from hessian_papers.data.base import OFFLINE, Storage
from hessian_papers.data.images import Config, make
from hessian_papers.data.tools import _archive

IMAGES = np.arange(3 * 4 * 5 * 2, dtype=np.uint8).reshape(3, 4, 5, 2)
LABELS = np.array([1, 0, 1], dtype=np.uint16)


@pytest.fixture
def save(tmp_path):
    def save(**arrays):
        np.savez_compressed(tmp_path / "leaves.npz", **arrays)
        return tmp_path / "leaves.npz"

    return save


def config(source):
    rest = {"classes": [], "random_labels": False, "per_class": 0, "magnification": 1}
    return Config(kind="images", seed=0, sources=[source], split="test", **rest)


@pytest.mark.parametrize("relative", [False, True])
def test_a_file_is_read_by_its_path_or_below_the_root(save, relative):
    path = save(images=IMAGES, labels=LABELS, label_names=np.array(["elm", "oak"]))
    source, storage = str(path), OFFLINE
    if relative:
        source, storage = path.name, Storage(path.parent, False)
    arrays = make(config(source), storage)
    assert arrays["source"].values.tolist() == ["leaves"]
    np.testing.assert_array_equal(arrays["images:leaves"], IMAGES)
    assert arrays["labels:leaves"].dtype == np.int64
    np.testing.assert_array_equal(arrays["labels:leaves"], LABELS)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"images": None}, "expected images uint8 N x H x W x C and labels integers N, "
                           "got no array 'images'"),
        ({"labels": None}, ".*, got no array 'labels'"),
        ({"images": IMAGES / 255}, r"images: expected dtype uint8 \(0 to 255\), got float64"),
        ({"images": IMAGES[..., 0]}, r"images: expected shape N x H x W x C, got \(3, 4, 5\); "
                                     "grey images have C = 1"),
        ({"images": IMAGES.ravel()}, r"images: expected shape N x H x W x C, got \(120,\)"),
        ({"images": IMAGES[:0]}, r"images: expected at least one pixel, got .*\(0, 4, 5, 2\)"),
        ({"images": IMAGES[:, :0]}, r"images: expected at least one pixel, got .*"),
        ({"labels": LABELS / 1}, "labels: expected integers, got dtype float64"),
        ({"labels": np.array(["elm"] * 3)}, "labels: expected integers, got dtype <U3"),
        ({"labels": LABELS[:2]}, r"labels: expected one for each of 3 images, got shape \(2,\)"),
        ({"labels": np.eye(3, dtype=int)}, r"labels: expected one for each of 3 .* \(3, 3\)"),
        ({"labels": np.array([0, -1, 1])}, "labels: expected classes from 0 to 65535, got -1"),
        ({"labels": np.array([0, 2**63, 1], np.uint64)}, "labels: .*, got 9223372036854775808"),
        ({"images": np.array([[None]])}, "cannot be read as an .npz file: Object arrays .*"),
    ],
)  # fmt: skip
def test_a_breach_of_the_schema_is_refused_in_one_line(save, change, message):
    arrays = {"images": IMAGES, "labels": LABELS} | change
    path = save(**{name: array for name, array in arrays.items() if array is not None})
    with pytest.raises(ValueError, match=f"^{path}:? {message}$"):
        _archive.load(path)


def test_a_file_that_is_no_archive_or_a_damaged_one_is_refused_in_one_line(tmp_path, save):
    path = save(images=IMAGES, labels=LABELS)
    whole = path.read_bytes()
    np.save(tmp_path / "other.npy", IMAGES)
    for content in (
        b"",
        b"text",
        (tmp_path / "other.npy").read_bytes(),
        whole[: len(whole) // 2],
        whole[:80] + b"damage!!" + whole[88:],  # a few bytes within the compressed pixels
    ):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=f"^{path} cannot be read as an .npz file: ") as error:
            _archive.load(path)
        assert "\n" not in str(error.value)


def test_a_missing_file_is_named_with_what_it_should_hold(tmp_path):
    message = f"^{tmp_path}/no.npz is missing: expected a file with images uint8 .*"
    with pytest.raises(FileNotFoundError, match=message):
        make(config("no.npz"), Storage(tmp_path, True))
