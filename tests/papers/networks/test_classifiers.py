"""Classifiers of images: against a plain loop, interrupted and not, and their kept weights."""

import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch
from small_images import data_of_images
from torch import nn

from hessian_papers.compute.keys import item_key
from hessian_papers.data.base import IMAGES, TEXT, Form
from hessian_papers.models.classifiers import classifier
from hessian_papers.networks import classifiers
from hessian_papers.networks.tools.result import kept_in, read, write
from hessian_papers.networks.tools.samples import Samples
from hessian_papers.work import TrainingRun
from hessian_spectra.files import DamagedFileError
from hessian_spectra.seeding import generator
from tests.papers.studies.layerwise import small_classifiers

NAMES = ["F-4", "F-5^2-BN"]


def images(samples=30, seed=0):
    draws = np.random.default_rng(seed)
    labels = np.arange(samples) % 3
    grey = draws.integers(0, 60, (samples, 4, 4, 1)) + 60 * labels[:, None, None, None]
    return data_of_images(made=(grey, labels))


def all_of(data):
    """The images and their labels."""
    return data["images:made"].values, data["labels:made"].values


def config(**changes):
    fields = {"networks": NAMES, "seeds": 2, "epochs": 12, "weight_decay": 1e-3, "kept": [12, 0]}
    return small_classifiers.settings(**fields | changes)


def train(settings, folder):
    """Each network in a folder of its own."""
    parts = []
    for number, item in enumerate(classifiers.train.items(settings, images())):
        run = TrainingRun(folder=folder / str(number), checkpoint=None)
        parts.append(classifiers.train.compute(**item, run=run))
    return classifiers.train.gather(settings, parts)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("classifiers")


@pytest.fixture(scope="module")
def trained(folder):
    return train(config(), folder)


def plain(name, seed, settings):
    """The training in the fewest lines."""
    x, y = samples_of(*all_of(images())).trained()
    model = classifier(name, (1, 4, 4), 3, seed)
    optimizer = torch.optim.SGD(
        model.parameters(), lr=settings.learning_rate, momentum=settings.momentum,
        weight_decay=settings.weight_decay,
    )  # fmt: skip
    losses = []
    for epoch in range(settings.epochs):
        order = torch.randperm(len(x), generator=generator(seed, f"order {epoch}"))
        for chosen in order.split(settings.batch_size):
            loss = nn.functional.cross_entropy(model(x[chosen]), y[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return model.eval(), np.array(losses).reshape(settings.epochs, -1).mean(axis=1)


@pytest.mark.parametrize(("place", "number"), [(0, 0), (1, 1)])
def test_it_is_the_plain_loop(trained, folder, place, number):
    model, losses = plain(NAMES[place], 3 + number, config())
    np.testing.assert_allclose(trained["epoch_loss"][place, number], losses, rtol=1e-5)
    item = classifiers.kept_classifier(kept_in(folder, trained), NAMES[place], 3 + number, 12)
    kept = item.load()
    assert not kept.training
    for own, other in zip(kept.state_dict().values(), model.state_dict().values(), strict=True):
        torch.testing.assert_close(own, other, rtol=1e-4, atol=1e-6)
    x, y = item.samples.trained()
    scores = model(x).detach()
    expected = float(nn.functional.cross_entropy(scores, y))
    assert trained["loss"][place, number, 1].item() == pytest.approx(expected, rel=1e-4)
    right = float((scores.argmax(dim=1) == y).double().mean())
    assert trained["accuracy"][place, number, 1].item() == pytest.approx(right)


def test_the_arrays_are_those_of_all_networks(trained):
    assert not trained["diverged"].any()
    assert trained["kept"].values.tolist() == [0, 12]
    assert trained["seed"].values.tolist() == [3, 4]
    assert trained["parameters"].values.tolist() == [4 * 17 + 3 * 5, 5 * 17 + 5 * 6 + 3 * 6]
    assert (trained["loss"].sel(kept=12) < trained["loss"].sel(kept=0)).all()


def test_what_diverged_is_known(tmp_path):
    actual = train(config(variations=[{"learning_rate": 1e30}]), tmp_path)
    assert np.isnan(actual["loss"][:, 2:, -1]).all()
    assert actual["diverged"].values.tolist() == [[False, False, True, True]] * len(NAMES)


def test_without_a_folder_the_last_epoch_says_whether_it_diverged():
    assert not classifiers.train(config(), images())["diverged"].any()
    assert classifiers.train(config(learning_rate=1e30), images())["diverged"].all()


def test_variations_are_trained_as_networks_of_their_own(tmp_path):
    variations = [{"learning_rate": 0.01}, {"momentum": 0.0, "weight_decay": 0.1}]
    actual = train(config(networks=["F-4"], variations=variations), tmp_path)
    assert actual["seed"].values.tolist() == [3, 4, 5, 6, 7, 8]
    assert actual["variation"].values.tolist() == [0, 0, 1, 1, 2, 2]
    for place, changed in enumerate([{}, *variations]):
        for number in range(2):
            at = 2 * place + number
            _, losses = plain("F-4", 3 + at, config(**changed))
            np.testing.assert_allclose(actual["epoch_loss"][0, at], losses, rtol=1e-5)


def test_a_variation_may_be_of_so_many_networks(tmp_path):
    # Those of Figure 6: six by one training, five by each of two others.
    variations = [{"learning_rate": 0.001, "seeds": 5.0}, {"momentum": 0.9, "seeds": 5.0}]
    sixteen = config(seeds=6, variations=variations)
    assert [training["seed"] for training in sixteen.trainings] == list(range(3, 19))
    assert sixteen.varied == [0] * 6 + [1] * 5 + [2] * 5
    assert "seeds" not in sixteen.trainings[-1]
    few = config(networks=["F-4"], variations=[{"learning_rate": 0.01, "seeds": 1.0}])
    assert train(few, tmp_path)["variation"].values.tolist() == [0, 0, 1]


@pytest.mark.parametrize("kept", [[], [0], [1]])
def test_any_epochs_may_be_kept(tmp_path, kept):
    (item, *_) = classifiers.train.items(config(epochs=2, kept=kept), images())
    messages = []
    run = TrainingRun(folder=tmp_path, log=lambda step, metrics: messages.append({**metrics}))
    actual = classifiers.train.compute(**item, run=run)
    assert [len(actual["loss"]), len(list(tmp_path.glob("*.nc")))] == [len(kept)] * 2
    assert "loss_of_all" not in messages[-1]
    assert [m["loss_of_all"] for m in messages if "loss_of_all" in m] == actual["loss"].tolist()


def samples_of(images, labels, **changes):
    fields = {"inputs": "standardised", "largest": 255.0, "held_out": 0, "seed": 3}
    fields["random_labels"] = False
    return Samples(images=images, labels=labels, **fields | changes)


def colours():
    actual = (np.random.default_rng(0).random((20, 5, 5, 3)) * [10, 100, 250]).astype(np.uint8)
    actual[..., 1] = 7
    return actual


@pytest.mark.parametrize("held_out", [0, 5])
def test_channels_are_standardised_each_by_itself(held_out):
    samples = samples_of(colours(), np.arange(20), held_out=held_out)
    x, _ = samples.trained()
    assert x.dtype == torch.float32
    np.testing.assert_allclose(x.mean(dim=(0, 2, 3)), 0, atol=1e-6)
    np.testing.assert_allclose(x.std(dim=(0, 2, 3), correction=0), [1, 0, 1], atol=1e-6)


@pytest.mark.parametrize("inputs", ["standardised", "unit interval"])
def test_every_image_is_trained_on_or_held_out(inputs):
    images = colours()
    (x, y), (z, left) = (
        part
        for samples in [samples_of(images, np.arange(20), held_out=6, inputs=inputs)]
        for part in (samples.trained(), samples.left_out())
    )
    assert sorted([*y.tolist(), *left.tolist()]) == list(range(20))
    assert len(z) == len(left) == 6
    # One map of grey values for both.
    red = torch.cat([x, z])[:, 0].flatten().double()
    grey = torch.from_numpy(images[[*y.tolist(), *left.tolist()], ..., 0]).flatten().double()
    np.testing.assert_allclose(np.corrcoef(red, grey)[0, 1], 1, atol=1e-12)
    if inputs == "unit interval":
        np.testing.assert_allclose(red, grey / 255, atol=1e-7)


def test_other_images_are_held_out_for_another_seed():
    first, second = (
        samples_of(colours(), np.arange(20), held_out=6, seed=seed).left_out()[1] for seed in (3, 4)
    )
    assert first.tolist() != second.tolist()


def test_at_least_one_image_is_trained_on():
    with pytest.raises(ValueError, match="held_out: expected fewer than 30 images, got 30"):
        classifiers.train.items(config(held_out=30), images())


def test_kept_weights_are_told_by_their_content_wherever_they_are(trained, folder, tmp_path):
    shutil.copytree(folder, tmp_path / "copy")
    places = folder, tmp_path / "copy"

    def key(place, seed):
        kept = classifiers.kept_classifier(kept_in(place, trained), "F-4", seed, 12)
        assert kept.path.is_relative_to(place)
        return item_key("module:f", "code", {"kept": kept})

    here, present = ([key(place, seed) for seed in (3, 4)] for place in places)
    assert here == present
    assert here[0] != here[1]


def test_weights_of_another_network_are_named(trained, folder):
    item = classifiers.kept_classifier(kept_in(folder, trained), "F-4", 3, 12)
    with pytest.raises(ValueError, match=r"0/12.nc: expected weights of F-5: "):
        replace(item, network="F-5").load()


def test_weights_that_are_not_as_they_were_written_are_named(trained, folder, tmp_path):
    networks = write(tmp_path / "mine", trained, {".": folder})
    path = tmp_path / "mine" / "0" / "12.nc"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.unlink()  # the file is that of all tests
    path.write_bytes(content)
    message = r"mine is damaged \(0/12\.nc has other bytes than were written\): delete it and train"
    with pytest.raises(DamagedFileError, match=message):
        classifiers.kept_classifier(read(tmp_path / "mine"), "F-4", 3, 12)
    classifiers.kept_classifier(networks, "F-4", 4, 12)


def test_images_are_from_one_source():
    several = data_of_images(made=all_of(images()), more=all_of(images()))
    with pytest.raises(ValueError, match=r"data: expected images from one source, got \['made', "):
        classifiers.train.items(config(), several)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"networks": []}, r"networks: expected different names of architectures, got \[\]"),
        ({"networks": ["F-4", "F-4"]}, "networks: expected different names of architectures"),
        ({"networks": ["G-4"]}, "network: expected a name such as F-200.2, .*, got 'G-4'"),
        ({"networks": ["LeNet-5"]}, r"ResNet18-W48 \(did you mean LeNet5\?\), got 'LeNet-5'"),
        ({"variations": [{}]}, r"variations: expected values of learning_rate, .*, got \[{}\]"),
        ({"variations": [{"epochs": 2.0}]}, "variations: expected values of .*many seeds, got "),
        ({"variations": [{"seeds": 5.0}]}, "variations: expected values of .*many seeds, got "),
        ({"variations": [{"momentum": 0.5, "seeds": 1.5}]}, "variations: expected values of "),
        ({"variations": [{"momentum": 0.5, "seeds": 0.0}]}, "variations: expected values of "),
        ({"variations": [{"momentum": 1.0}]}, r"momentum: expected a number in \[0, 1\), got 1.0"),
        ({"kept": [13]}, r"kept: expected different epochs from 0 to 12, got \[13\]"),
    ],
)
def test_a_bad_setting_is_named(changes, message):
    with pytest.raises(ValueError, match=message):
        config(**changes)


def test_only_images_are_trained_on():
    config().require_data(Form(IMAGES))
    with pytest.raises(ValueError, match="data: expected a data set with"):
        config().require_data(Form(TEXT))


def test_a_probe_is_a_smaller_training():
    for item in classifiers.train.items(config(epochs=40), images()):
        probe = classifiers.train.probe(item)
        assert 0 < classifiers.train.cost(probe) < classifiers.train.cost(item)
