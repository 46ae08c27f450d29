"""Overrides sampled from the schema, each run through its study in this process.

sampler = Sampler(compose())
for override in sampler.sample("norm_correlation", number=3, seed=0):
    problems = sampler.run(*override)
"""

import dataclasses
import math
import random
import re
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import hydra
import xarray as xr
from hydra.core.override_parser.overrides_parser import OverridesParser
from matplotlib.text import Text
from omegaconf import DictConfig, OmegaConf

from hessian_papers import compute, labelled
from hessian_papers.drawing import curves
from hessian_papers.ledger import evaluation
from hessian_papers.ledger.bounds import Estimate, NothingToMeasure
from hessian_papers.ledger.record import CaseRecord
from hessian_papers.ledger.statements import Entry, Study
from hessian_papers.networks.tools.divergence import noted
from hessian_papers.report.commands import assignment
from hessian_papers.results import SIDES, Provenance
from hessian_spectra.files import digest
from hessian_spectra.validation import require
from pipelines import inputs, schema
from pipelines.figures import controls, painted
from tests.pipelines.marks import undrawn, unmatched
from tests.pipelines.workspace import ROOT
from tests.prose import long_captions

# What is made smaller so that a study takes a moment, by kind, or by name. A kind that is not here
# is taken as it is configured, less what is cut of its lists of numbers. As one would type it.
LONGEST_LIST = 3
BOUNDED = (
    *(f"{which}two-class-classifiers" for which in ("", "narrow-", "random-")),
    "ten-class-classifiers",
)
TWO_CLASSES = ("two-classes", "random-two-classes")
SMALL: dict[str, dict[str, str]] = {
    "data": {
        "gaussian_features": "size=20 features=8",
        "gaussian_regression": "size=60",
        "images": "per_class=20",
        "sequences": "batch=4 length=4",
        "text": "vocabulary=300",
        "wedge": "size=40",
        **dict.fromkeys(TWO_CLASSES, "classes=[0,0,0,0,0,1,1,1,1,1] per_class=100"),
    },
    "networks": {
        "classifiers": "networks=[F-6,'F-5^2-BN'] seeds=2 epochs=2 kept=[0,2]",
        "multilayer": (
            "teachers=2 drawn_teachers=1 networks=3 width=6 samples=24 batch_size=8 "
            "epochs=3 networks_per_item=4"
        ),
        "inputs_and_teacher": (
            "sizes=[2,4] width=6 samples_per_input=[4,10] teacher_scales=[0.3,3.0] "
            "teachers=2 drawn_teachers=1 networks=3"
        ),
        "gpt2": (
            "seeds=2 layers=2 width=8 heads=2 context=8 steps=6 batch_size=4 warmup=2 "
            "decay_steps=6 sequences=2 measured=[[3,6]] kept=[6] tolerance=0.01"
        ),
        # A posterior is one of linear layers.
        **dict.fromkeys(BOUNDED, "networks=[F-6,'F-5^2'] batch_size=64 held_out=60"),
    },
    "studies": {
        "attention_edge_of_stability": "steps=9 draws=5",
        "attention_scale": (
            "key_dimension=6 points=5 numeric_points=3 dense_points=1 draws=2 draw_points=3"
        ),
        "attention_sinks": "key_dimension=21 points=5 replicates=1 draws=2",
        "balanced_spectrum": "architectures=[[4,4,4],[4,3,5,2]] top=3",
        "bounds": (
            "methods=[base,iterative,local] epochs=1 batch_size=64 local_epochs=1 "
            "local_batch_size=64 draws=200"
        ),
        "class_shares": (
            "samples=40 shares=[0.1,0.5] other_samples=[20] replicates=1 width=8 epochs=20"
        ),
        "data_scale": "width=4 second_width=6 scales=4",
        "decoupling": "networks=[] top=6 tolerance=0.01 probes=2 images=40 shown=['fc1:F-6']",
        "depth_and_norm": "largest_depth=4 contour_points=9 largest_width=5",
        "gauss_newton_error": "points=30",
        "gauss_newton_parts": "tolerance=0.01",
        "identities": "instances=6 width=4 points=6",
        "infinite_width": "widths=[8,16] classes=[3] draws=3 samples=64 layer_samples=32",
        "learning_phases": "instances=12 without_signal=4 width=4",
        "model_overlaps": "networks=[] top=6 images=20 tolerance=0.001",
        "paired_eigenvalues": "widths=[4,6] samples=[10,12] sizes=[1,2,4,6] networks=3 jitters=19",
        "raw_inputs": "samples=40 shares=[0.1,0.3] replicates=1 width=8 epochs=20 recorded=2",
        "sink_density": "masses=[0.81] tolerance=0.05 probes=2 products=6 points=30",
        "spectrum_in_training": "width=4 steps=24",
        "closed2024-fig3": "seeds=6 seed_steps=60 high_settings=[[0.3,0.95],[0.7,2.0]]",
        "poster-pair": "seeds=6 seed_steps=60",
        "diabetes-multi-input": "width=2 record_every=3 numeric_every=2",
        "through_training": "samples=40 width=8 epochs=20 recorded=1",
        "data-fig3": "probes=8",
        "data-fig4": "narrow=4 top=3",
        "training_courses": "samples=20 replicates=2 width=8 epochs=100 recorded=4",
        "uniform_attention": "draws=20 checked=2",
    },
}
# What an entry is called and what it is of: no settings.
NAMES = ("kind", "paper", "artifact", "title")
# A value that no setting takes: the message about it names those that there are.
UNKNOWN = "?"
REFUSAL = re.compile(r": expected .+, got [^\n]+$")
# A field that nobody filled in; braces after a letter, _ or ^ are a formula's.
OPEN = re.compile(r"(?<![_^a-zA-Z])\{[a-z_ ]+\}")


class Refused(Exception):  # noqa: N818 - it is no error of ours
    """The configuration is none; the message says what was expected."""


class Override(NamedTuple):
    """A study, and what is changed of it, its networks or its data, as one would type it."""

    study: str
    settings: tuple[str, ...]


def compose() -> DictConfig:
    """The whole configuration, at a size at which a study takes a moment."""
    with hydra.initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        config = schema.at_scale(hydra.compose("config"))
    for group, (prefix, _) in schema.GROUPS.items():
        for place, entry in OmegaConf.select(config, prefix).items():
            for name, value in entry.items():
                if OmegaConf.is_list(value) and all(isinstance(x, int | float) for x in value):
                    entry[name] = value[:LONGEST_LIST]
            small = " ".join(SMALL[group].get(name, "") for name in (entry.kind, place))
            for override in OverridesParser.create().parse_overrides(small.split()):
                entry[override.key_or_group] = override.value()
    return config


def changed(config: DictConfig, study: str, settings: Sequence[str]) -> DictConfig:
    """One study with all networks and data, and with overrides, read as Hydra reads them."""
    kept = {group: config[group] for group in ("networks", "data")}
    actual = OmegaConf.create(kept | {"studies": {study: config.studies[study]}})
    OmegaConf.set_struct(actual, True)
    for override in OverridesParser.create().parse_overrides(list(settings)):
        OmegaConf.update(actual, override.key_or_group, override.value())
    return actual


def _typed(value: Any) -> str:
    """A value as one types it."""
    return assignment("", value).removeprefix("=")


def _others(value: Any, known: Sequence[Any], draws: random.Random) -> Any:
    """Another value of the type of ``value``; ``known``: those that there are, of its elements."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return draws.choice([0, 1, 2, 3, 4, value - 1, value + 1, 2 * value])
    if isinstance(value, float):
        return draws.choice([0.0, value / 10, value / 2, 2 * value, 10 * value, 1.0, -1.0])
    if isinstance(value, list):
        pool = [*{_typed(x): x for x in [*value, *known]}.values()]
        if draws.random() < 0.2 and all(isinstance(x, int) for x in pool):
            pool += [1, 7]
        return draws.sample(pool, draws.randint(min(1, len(pool)), len(pool)))
    return draws.choice(list(known) or [value])


def _suits(entries: Mapping[str, tuple[str, Any]]) -> None:
    """Refuse networks or data that do not suit the study, as ``configure`` does."""
    study = entries["studies"][1]
    if "networks" in entries:
        study.require_networks(entries["networks"][1])
    if "data" in entries:
        data = entries["data"][1]
        require(not data.stored, "root", f"the folder of {', '.join(data.stored)}", None)
        if data.form is not None:
            made_from_it = entries["networks"][1] if "networks" in entries else study
            made_from_it.require_data(data.form)


class Sampler:
    """Samples overrides of studies and runs them; what was trained once is not trained again.

    Args:
        config: the configuration that they override.
    """

    def __init__(self, config: DictConfig) -> None:
        self.config = config
        self._made: dict[str, Any] = {}
        self._leads = inputs.leads()
        self._folder = tempfile.TemporaryDirectory()

    def close(self) -> None:
        """Remove what was trained in a folder."""
        self._folder.cleanup()

    def sample(self, kind: str, number: int, seed: int) -> Iterator[Override]:
        """Overrides that the schema accepts, different ones, of the studies of a kind.

        Each third is one of two settings. Fewer than ``number`` come if nearly all are refused.
        """
        draws = random.Random(f"{seed} {kind}")
        studies = [name for name, study in self.config.studies.items() if study.kind == kind]
        actual: set[Override] = set()
        for _ in range(20 * number):
            name = draws.choice(studies)
            settings = dict(self._setting(name, draws) for _ in range(draws.choice([1, 1, 2])))
            override = Override(name, tuple(f"{key}={value}" for key, value in settings.items()))
            if override not in actual and self._accepts(override):
                actual.add(override)
                yield override
            if len(actual) == number:
                return

    def _accepts(self, override: Override) -> bool:
        try:
            self._entries(override)
        except ValueError as error:
            if not REFUSAL.search(str(error)):
                raise AssertionError(f"{override}: refused as {error}") from None
            return False
        return True

    def _entries(self, override: Override) -> dict[str, tuple[str, Any]]:
        """The study with its networks and data, by group: the name and the typed configuration."""
        config = changed(self.config, *override)
        actual = {"studies": (override.study, schema.entry(config, "studies", override.study))}
        for field, group in (("ensemble", "networks"), ("data", "data")):
            # Networks of several studies may have a data set of their own.
            named = (getattr(entry, field, None) for _, entry in actual.values())
            if name := next(filter(None, named), None):
                actual[group] = (name, schema.entry(config, group, name))
        _suits(actual)
        return actual

    def _setting(self, name: str, draws: random.Random) -> tuple[str, str]:
        """A field of a study, its networks or its data, and another value of it."""
        entries = self._entries(Override(name, ()))
        # Half of them are the study's own.
        group = draws.choice([*entries, *["studies"] * (len(entries) - 1)])
        entry, config = entries[group]
        fields = [field.name for field in dataclasses.fields(config) if field.name not in NAMES]
        field = draws.choice(fields)
        value = getattr(config, field)
        path = f"{schema.GROUPS[group][0]}.{entry}.{field}"
        while isinstance(value, dict) and value:
            key = draws.choice(sorted(value))
            path, value = f"{path}.{key}", value[key]
        known = self._known(name, path, value)
        if isinstance(value, list):  # what an ensemble has, where a study takes all
            known += [x for _, other in entries.values() for x in getattr(other, field, None) or []]
        drawn = (_typed(_others(value, known, draws)) for _ in range(100))
        return path, next((other for other in drawn if other != _typed(value)), _typed(value))

    def _known(self, study: str, path: str, value: Any) -> list[Any]:
        """The names that a field takes: the schema's answer to one that it does not know."""
        *_, field = path.split(".")
        if field in ("ensemble", "data"):
            group = schema.GROUPS["networks" if field == "ensemble" else "data"][0]
            return sorted(map(str, OmegaConf.select(self.config, group)))
        if not any(isinstance(x, str) for x in (value if isinstance(value, list) else [value])):
            return []
        name = path.removesuffix(f".{field}").rpartition(".")[2]
        group = next(g for g, (prefix, _) in schema.GROUPS.items() if path.startswith(prefix))
        unknown = UNKNOWN if isinstance(value, str) else [UNKNOWN]
        config = changed(self.config, study, ())
        OmegaConf.update(config, path, unknown)
        try:
            schema.entry(config, group, name)
        except schema.ConfigError as error:
            expected = str(error).partition("expected ")[2].rpartition(", got")[0]
            return re.split(r", | or ", expected.rpartition(" of ")[2])
        return []

    def said(self, study: str, settings: Sequence[str]) -> tuple[str, list[CaseRecord]]:
        """The caption of the figure, and the cases of its statements in the ledger."""
        name, override = study, Override(study, tuple(settings))
        entries = self._entries(override)
        sides = self._sides(entries, self._module(entries, "study"))
        for side, data in sides.items():
            labelled.write(Path(self._folder.name) / "sides" / f"{side}.nc", data)
        statements, config = self._module(entries, "claims").statements, entries["studies"][1]
        run = evaluation.Measured(
            statements=statements,
            provenance=Provenance(study=name, config=dataclasses.asdict(config), scale="demo"),
            folder=Path(self._folder.name) / "sides",
        )
        _, caption = painted(self._module(entries, "figure"), run.data)
        return caption, [evaluation.measure(entry, run).record for entry in evaluation.collect(run)]

    def run(self, study: str, settings: Sequence[str]) -> list[str]:
        """The problems on a study's way from training to the ledger under some overrides.

        Raises:
            Refused: the schema, or the study on meeting its data, refuses them in one line.
        """
        override = Override(study, tuple(settings))
        try:
            entries = self._entries(override)
            module = self._module(entries, "study")
            sides = self._sides(entries, module)
        except ValueError as error:
            if REFUSAL.search(str(error)) and "\n" not in str(error):
                raise Refused(str(error)) from None
            return [_problem("sides", error)]
        except Exception as error:
            return [_problem("sides", error)]
        data = labelled.joined([*sides.values()])
        return [*self._figure(entries, data), *self._claims(entries, data)]

    def _module(self, entries: Mapping[str, tuple[str, Any]], part: str) -> Any:
        return schema.module_of("studies", entries["studies"][1].kind, "", part)

    def _once(self, make: Callable[[], Any], *of: Any) -> Any:
        key = digest([dataclasses.asdict(x) if dataclasses.is_dataclass(x) else x for x in of])
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]

    def _sides(self, entries: Mapping[str, tuple[str, Any]], module: Any) -> dict[str, Any]:
        study = entries["studies"][1]
        if "networks" in entries:
            networks = entries["networks"][1]
            of = [networks, *([entries["data"][1]] if "data" in entries else [])]
            given = self._once(lambda: self._networks(entries), "networks", *of)
        elif "data" not in entries:
            given = xr.Dataset()
        else:
            settings, data = entries["data"][1], self._data(entries)
            given = data
            if hasattr(module, "train"):
                given = self._once(lambda: module.train(study, data), "train", study, settings)
        return {
            side: noted(getattr(module, side)(study, given), given)
            for side in SIDES
            if hasattr(module, side)
        }

    def _data(self, entries: Mapping[str, tuple[str, Any]]) -> Any:
        settings = entries["data"][1]
        made = schema.module_of("data", settings.kind, "")
        return self._once(lambda: made.make(settings), "data", settings)

    def _networks(self, entries: Mapping[str, tuple[str, Any]]) -> Any:
        """The networks of several studies, in a folder if they are more than arrays."""
        networks = entries["networks"][1]
        trainer = schema.module_of("networks", networks.kind, "")
        if "data" not in entries:
            return trainer.train(networks, xr.Dataset())
        folder = Path(self._folder.name) / str(len(self._made))
        training = compute.Computation(
            name="networks",
            work=trainer.train,
            config=networks,
            given=self._data(entries),
            folder=folder / "shards",
        )
        return training.train(compute.Launcher(cluster="debug"), folder / "networks")

    def _figure(self, entries: Mapping[str, tuple[str, Any]], data: Any) -> Iterator[str]:
        module = schema.figure_of(dataclasses.asdict(entries["studies"][1]))
        if module is None:
            return
        try:
            pictures = [painted(module, data)]
            second = controls(module, data)
            pictures += [] if second is None else [second]
            for figure, _ in pictures:
                figure.set_layout_engine("none")  # it takes half of the time
                figure.draw_without_rendering()
                curves.series(figure)  # what is kept of it as numbers
        except Exception as error:
            yield _problem("figure", error)
            return
        # A lead stands where its statements hold, which they do not for a run that diverged.
        captions = [caption for _, caption in pictures]
        diverged = re.search(r"\bdiverge[ds] at step", captions[0])
        lead = "" if diverged else self._leads.get(entries["studies"][0], {}).get("sentence", "")
        yield from (f"figure: {problem}" for problem in long_captions(lead, captions))
        for figure, caption in pictures:
            # Where networks diverged a panel may have nothing.
            for key in () if "diverge" in captions[0] else unmatched(figure):
                yield f"figure: a legend has what no panel draws, {key!r}"
            for word in undrawn(figure, caption):
                yield f"figure: the caption names what is not drawn, {word!r}"
            for text in [*(text.get_text() for text in figure.findobj(Text)), caption]:
                if re.search(r"\b(nan|inf)\b", text) or OPEN.search(text):
                    yield f"figure: a text without its number: {text!r}"

    def _claims(self, entries: Mapping[str, tuple[str, Any]], data: Any) -> Iterator[str]:
        statements = self._module(entries, "claims").statements
        name, config = entries["studies"]
        plain = self.config.studies
        names = {(study.paper, study.artifact): other for other, study in plain.items()}
        try:
            made = list(statements.entries(Study(name, dataclasses.asdict(config), names), data))
        except NothingToMeasure as missing:
            if not str(missing).strip():
                yield "entries: nothing to measure, and nobody says why"
            return
        except Exception as error:
            yield _problem("entries", error)
            return
        twice = [key for key, count in Counter(entry.id for entry in made).items() if count > 1]
        yield from (f"claims: more than one is called {key}" for key in twice)
        for entry in made:
            yield from (f"claims: {problem}" for problem in entry.problems())
            yield from _measured(entry)


def _problem(step: str, error: Exception) -> str:
    """An exception in one line, with where it was raised."""
    *_, last = traceback.extract_tb(error.__traceback__)
    ours = [f for f in traceback.extract_tb(error.__traceback__) if "/src/hessian_" in f.filename]
    place = (ours or [last])[-1]
    where = f"{place.filename.rpartition('/src/')[2]}:{place.lineno} {place.name}"
    return f"{step}: {type(error).__name__}: {' '.join(str(error).split())[:300]} ({where})"


def _measured(entry: Entry) -> Iterator[str]:
    """The problems of the measurement of a claim: no number but says that it is one."""
    for text in (entry.explanation, entry.heading.printed or ""):
        if OPEN.search(text):
            yield f"{entry.id}: a text with an open field: {text!r}"
    for measure in filter(None, (entry.measure, entry.measure_printed)):
        try:
            actual = measure()
        except NothingToMeasure as missing:
            if not str(missing).strip():
                yield f"{entry.id}: nothing to measure, and nobody says why"
            continue
        except Exception as error:
            yield _problem(entry.id, error)
            continue
        value = actual.value if isinstance(actual, Estimate) else float(actual)
        if math.isnan(value):
            yield f"{entry.id}: measured NaN"
        elif entry.heading.identity and measure is entry.measure:
            assert entry.bound is not None
            if not entry.bound.holds(value):
                yield f"{entry.id}: broken identity, {value:.3g}, expected {entry.bound}"
