"""MNIST, Fashion-MNIST and CIFAR-10 below a root: read, verified, unpacked elsewhere, fetched."""

import functools
import gc
import http.server
import threading
from contextlib import contextmanager

import numpy as np
import pytest
from local_servers import silent_server
from torchvision import datasets

from hessian_papers.data import images
from hessian_papers.data.base import Storage
from hessian_papers.data.tools import _torchvision
from tests.papers.data import published

SPLITS = {"train": "train", "test": "t10k"}
FOLDERS = {"mnist": "MNIST", "fashion-mnist": "FashionMNIST"}


@pytest.fixture
def root(tmp_path):
    return tmp_path / "data sets"


def everything_below(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@contextmanager
def served(folder):
    """The address of a server of files on the loopback interface, and what it was asked for."""
    asked = []

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *arguments):
            asked.append(f"{self.command} {self.path}")

    handler = functools.partial(Handler, directory=str(folder))
    with http.server.HTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/", asked
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize("name", FOLDERS)
@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.usefixtures("no_network")
def test_four_archives_in_a_folder_that_cannot_be_written_are_enough(
    monkeypatch, root, name, split
):
    files = published.mnist_files()
    published.publish_mnist(monkeypatch, files, FOLDERS[name])
    raw = root / FOLDERS[name] / "raw"
    published.write(raw, files)
    before = everything_below(root)
    for folder in (raw, raw.parent, root):
        folder.chmod(0o555)
    try:
        images, labels = _torchvision.load(name, split, Storage(root, False))
    finally:
        for folder in (raw, raw.parent, root):
            folder.chmod(0o755)
    assert everything_below(root) == before
    assert images.dtype == np.uint8
    assert labels.dtype == np.int64
    np.testing.assert_array_equal(images[..., 0], published.images_of(SPLITS[split]))
    assert images.shape[3] == 1
    np.testing.assert_array_equal(labels, published.labels_of(SPLITS[split]))


@pytest.fixture
def mnist(monkeypatch, root):
    """The four files of MNIST, as published and below the root."""
    files = published.mnist_files()
    published.publish_mnist(monkeypatch, files)
    published.write(root / "MNIST" / "raw", files)
    return files


@pytest.fixture
def cifar(monkeypatch, root):
    """The batches of CIFAR-10 and the archive with them, as published, which is below the root."""
    files = published.cifar_files()
    archive = published.publish_cifar(monkeypatch, files)
    published.write(root, {datasets.CIFAR10.filename: archive})
    return files, archive


@pytest.mark.usefixtures("no_network", "mnist")
def test_both_splits_are_one_after_the_other(root):
    config = images.Config(
        kind="images", seed=0, sources=["mnist"], split="both", classes=[], random_labels=False,
        per_class=0, magnification=1,
    )  # fmt: skip
    actual = images.make(config, Storage(root, False))
    parts = list(SPLITS.values())
    expected = [
        np.concatenate([of(part) for part in parts])
        for of in (published.images_of, published.labels_of)
    ]
    np.testing.assert_array_equal(actual["images:mnist"][..., 0], expected[0])
    np.testing.assert_array_equal(actual["labels:mnist"], expected[1])
    assert config.form.shape == (70000,)


@pytest.mark.parametrize("beside", [None, b"damaged"])
@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.usefixtures("no_network")
def test_cifar_is_read_from_its_archive_or_unpacked_if_no_batch_is_damaged(
    root, cifar, split, beside
):
    files, _ = cifar
    batches = files if beside is None else files | {"test_batch": beside}
    published.write(root / datasets.CIFAR10.base_folder, batches)
    if beside is None:
        (root / datasets.CIFAR10.filename).unlink()
    before = everything_below(root)
    images, labels = _torchvision.load("cifar10", split, Storage(root, False))
    assert everything_below(root) == before
    planes = published.images_of(SPLITS[split], 3)
    np.testing.assert_array_equal(images, planes.transpose(0, 2, 3, 1))
    assert images.flags["C_CONTIGUOUS"]
    np.testing.assert_array_equal(labels, published.labels_of(SPLITS[split]))


@pytest.mark.usefixtures("no_network", "mnist")
def test_unpacked_files_beside_a_missing_archive_are_not_trusted(root):
    # torchvision itself reads them, and they have no checksums.
    datasets.MNIST(root, download=True)
    damaged = root / "MNIST" / "raw" / "train-labels-idx1-ubyte"
    damaged.write_bytes(published.idx(np.zeros(12, np.uint8)))
    _, labels = _torchvision.load("mnist", "train", Storage(root, False))
    np.testing.assert_array_equal(labels, published.labels_of("train"))
    damaged.with_suffix(".gz").unlink()
    with pytest.raises(FileNotFoundError, match=r"train-labels-idx1-ubyte\.gz is missing: "):
        _torchvision.load("mnist", "train", Storage(root, False))


def one_line(error):
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("mnist", "MNIST/raw/train-images-idx3-ubyte.gz"),
        ("fashion-mnist", "FashionMNIST/raw/train-images-idx3-ubyte.gz"),
        ("cifar10", "cifar-10-python.tar.gz"),
    ],
)
@pytest.mark.usefixtures("no_network")
def test_a_missing_file_is_named_with_the_command_that_fetches_it(root, name, file):
    with pytest.raises(FileNotFoundError) as error:
        _torchvision.load(name, "train", Storage(root, False))
    assert one_line(error) == (
        f"{name}: {root / file} is missing: python -m pipelines.prepare only=images "
        f"'data.sets.images.sources=[{name}]' 'data.root={root}' data.download=true fetches it"
    )
    assert not root.exists()


@pytest.mark.usefixtures("no_network")
def test_a_wrong_checksum_is_said_with_both_sums(root, mnist):
    name = "t10k-labels-idx1-ubyte.gz"
    (root / "MNIST" / "raw" / name).write_bytes(b"something else")
    with pytest.raises(ValueError, match="is damaged") as error:
        _torchvision.load("mnist", "train", Storage(root, False))
    assert one_line(error).startswith(
        f"mnist: {root / 'MNIST' / 'raw' / name} is damaged: expected the MD5 sum "
        f"{published.md5(mnist[name])}, got {published.md5(b'something else')}: python -m "
    )
    assert one_line(error).endswith("data.download=true fetches it anew")


@pytest.mark.parametrize(
    "content",
    [
        b"no gzip at all",
        published.gzipped(published.idx(published.images_of("train")))[:-20],
        published.gzipped(published.idx(published.labels_of("train"))),
    ],
    ids=["not gzip", "cut off", "not images"],
)
@pytest.mark.usefixtures("no_network")
def test_a_corrupt_file_is_said_in_one_line(monkeypatch, root, content):
    files = published.mnist_files() | {"train-images-idx3-ubyte.gz": content}
    # As published, so that the checksum cannot tell.
    published.publish_mnist(monkeypatch, files)
    published.write(root / "MNIST" / "raw", files)
    with pytest.raises(ValueError, match="cannot be read") as error:
        _torchvision.load("mnist", "train", Storage(root, False))
    assert one_line(error).startswith(
        f"{root / 'MNIST' / 'raw'}: the files have the expected checksums and cannot be read: "
    )


def test_only_what_is_missing_or_damaged_is_downloaded_and_then_kept(
    monkeypatch, root, tmp_path, mnist
):
    published.write(tmp_path / "server", mnist)
    first, second, *_ = mnist
    raw = root / "MNIST" / "raw"
    (raw / first).unlink()
    (raw / second).write_bytes(b"damaged")
    with served(tmp_path / "server") as (address, asked):
        monkeypatch.setattr(datasets.MNIST, "mirrors", [address])
        with pytest.raises(FileNotFoundError):
            _torchvision.load("mnist", "train", Storage(root, False))
        assert asked == []
        images, _ = _torchvision.load("mnist", "train", Storage(root, True))
        assert {line.split("/")[-1].split(" ")[0] for line in asked} == {first, second}
        asked.clear()
        _torchvision.load("mnist", "test", Storage(root, True))
        assert asked == []
    np.testing.assert_array_equal(images[..., 0], published.images_of("train"))
    # The archives and nothing else: unpacked files stay in the temporary folder.
    assert {path.name: path.read_bytes() for path in raw.iterdir()} == mnist


def test_cifar_is_downloaded_as_one_archive_or_one_line_says_why_not(
    monkeypatch, root, tmp_path, cifar
):
    name = datasets.CIFAR10.filename
    root.rename(tmp_path / "server")
    with served(tmp_path / "server") as (address, asked):
        monkeypatch.setattr(datasets.CIFAR10, "url", address + name)
        _, labels = _torchvision.load("cifar10", "train", Storage(root, True))
        assert asked
        np.testing.assert_array_equal(labels, published.labels_of("train"))
        assert {path.name: path.read_bytes() for path in root.iterdir()} == {name: cifar[1]}
        # Where it cannot be kept.
        (root / name).unlink()
        root.rmdir()
        root.write_text("a file where the folder should be")
        with pytest.raises(ValueError, match=r"cannot be kept there: .*: choose another data.root"):
            _torchvision.load("cifar10", "train", Storage(root, True))


# For a refused request torchvision leaves the connection to the garbage collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("on_the_server", [{}, {"train-images-idx3-ubyte.gz": b"another file"}])
def test_a_failed_download_is_said_in_one_line_and_leaves_nothing(
    monkeypatch, root, tmp_path, on_the_server
):
    files = published.mnist_files()
    published.publish_mnist(monkeypatch, files)
    published.write(tmp_path / "server", on_the_server)
    with served(tmp_path / "server") as (address, _):
        monkeypatch.setattr(datasets.MNIST, "mirrors", [address])
        with pytest.raises(ValueError, match="could not be downloaded") as error:
            _torchvision.load("mnist", "train", Storage(root, True))
    missing = root / "MNIST" / "raw" / "train-images-idx3-ubyte.gz"
    assert one_line(error).startswith(f"{missing} could not be downloaded: ")
    assert not root.exists()
    del error
    gc.collect()


def test_a_server_that_never_answers_is_given_up(monkeypatch, root):
    published.publish_cifar(monkeypatch, published.cifar_files())
    monkeypatch.setattr(_torchvision, "TIMEOUT_S", 0.2)
    with silent_server() as address:
        monkeypatch.setattr(datasets.CIFAR10, "url", f"{address}/cifar.tar.gz")
        with pytest.raises(ValueError, match=r"could not be downloaded: timed out$"):
            _torchvision.load("cifar10", "train", Storage(root, True))
