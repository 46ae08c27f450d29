"""Tiny copies of the published image data sets, in their own formats, with checksums to match."""

import gzip
import hashlib
import io
import pickle
import struct
import tarfile
from pathlib import Path

import numpy as np
from torchvision import datasets

COUNTS = {"train": 12, "t10k": 5}


def idx(array):
    """The bytes of a uint8 array in MNIST's format."""
    return struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.tobytes()


def gzipped(content):
    return gzip.compress(content, mtime=0)


def md5(content):
    return hashlib.md5(content, usedforsecurity=False).hexdigest()


def images_of(split, channels=None):
    shape = (COUNTS[split], 4, 3) if channels is None else (COUNTS[split], channels, 32, 32)
    return np.random.default_rng(COUNTS[split]).integers(0, 256, shape, dtype=np.uint8)


def labels_of(split):
    return np.arange(COUNTS[split], dtype=np.uint8)[::-1] % 4


def mnist_files():
    """The four files of MNIST's layout."""
    files = {}
    for split in COUNTS:
        files[f"{split}-images-idx3-ubyte.gz"] = gzipped(idx(images_of(split)))
        files[f"{split}-labels-idx1-ubyte.gz"] = gzipped(idx(labels_of(split)))
    return files


def cifar_files():
    """The pickled batches of CIFAR-10's layout; two of them train."""
    entries = {
        "data_batch_1": {
            "data": images_of("train", 3).reshape(12, -1)[:7],
            "labels": labels_of("train").tolist()[:7],
        },
        "data_batch_2": {
            "data": images_of("train", 3).reshape(12, -1)[7:],
            "labels": labels_of("train").tolist()[7:],
        },
        "test_batch": {
            "data": images_of("t10k", 3).reshape(5, -1),
            "labels": labels_of("t10k").tolist(),
        },
        "batches.meta": {"label_names": ["cat", "dog", "elk", "fox"]},
    }
    return {name: pickle.dumps(entry) for name, entry in entries.items()}


def tar_of(files, folder):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(f"{folder}/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def publish_mnist(monkeypatch, files, name="MNIST"):
    """Make torchvision expect these files."""
    resources = [(file, md5(content)) for file, content in files.items()]
    monkeypatch.setattr(getattr(datasets, name), "resources", resources)


def publish_cifar(monkeypatch, files):
    """Make torchvision expect these batches, and return the archive with them."""
    archive = tar_of(files, datasets.CIFAR10.base_folder)
    train = [[name, md5(files[name])] for name in ("data_batch_1", "data_batch_2")]
    monkeypatch.setattr(datasets.CIFAR10, "train_list", train)
    monkeypatch.setattr(datasets.CIFAR10, "test_list", [["test_batch", md5(files["test_batch"])]])
    meta = {**datasets.CIFAR10.meta, "md5": md5(files["batches.meta"])}
    monkeypatch.setattr(datasets.CIFAR10, "meta", meta)
    monkeypatch.setattr(datasets.CIFAR10, "tgz_md5", md5(archive))
    return archive


def write(folder: Path, files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
