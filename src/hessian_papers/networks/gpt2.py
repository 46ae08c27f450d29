"""GPT-2 and its twins while they are trained, with their sharpness.

The networks behind singh2026cracking, section 4.3 and appendices D.1.5 and D.1.6: for each variant
and seed one training in nanoGPT's set-up, in which the largest eigenvalues of Hessian and
Gauss-Newton matrix are measured at some steps. Variants of one seed are twins: they see the same
batches, and are measured on the same sequences.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from itertools import product
from pathlib import Path
from typing import Annotated

import numpy as np
import torch
import xarray as xr
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from hessian_papers import manifest
from hessian_papers.constraints import Count, Different, ProperFraction
from hessian_papers.data.base import TEXT, Form
from hessian_papers.data.tools.tokens import batch, opened
from hessian_papers.labelled import Variable, Variables, assembled
from hessian_papers.models.gpt2 import (
    VARIANTS,
    Shape,
    fuse_attention,
    gpt2,
    language_loss,
    parameter_count,
    pretrained_shape,
    start_from,
)
from hessian_papers.networks.base import NetworksConfig, shared
from hessian_papers.networks.tools.dry_run import (
    Pieces,
    conclusion,
    described,
    extrapolated,
    pieces_of,
)
from hessian_papers.networks.tools.kept_weights import weights_folder
from hessian_papers.networks.tools.language_model import MATRICES, Measurements, measured_steps
from hessian_papers.networks.tools.memory import Megabytes, free_memory, product_memory
from hessian_papers.training.divergence import has_diverged
from hessian_papers.training.language_model import pretrain
from hessian_papers.training.pretraining import Pretraining
from hessian_papers.work import FanOut, Item, TrainingRun
from hessian_spectra.files import Arrays, digest
from hessian_spectra.training import join
from hessian_spectra.validation import require

# The settings that say how large a network is, but for the text's vocabulary.
SIZES = ("layers", "width", "heads", "context")
# The batch that no update is made of: it holds the sequences that are measured.
MEASURED = -1
# What a measurement takes, about, in the time of one sequence's gradient, for each sequence: the
# first, without an eigenvector to start from and with the check of the products, and a later one.
FIRST, LATER = 80, 25
# The files of weights in a folder of transformers.
WEIGHTS = (".safetensors", ".bin")
# Seconds after which a dry run tries no further variant.
LONGEST_TRIAL = 120.0
_ALONE = "attention alone, the variant whose weights a start has"


@dataclass(frozen=True, kw_only=True)
class LanguageModelTraining(Pretraining):
    """The settings that all trainings have in common.

    Args:
        layers: transformer blocks.
        width: numbers in each token's vector.
        heads: attention heads of a block.
        context: tokens of a sequence.
        dropout: of embeddings, attention and residual branches.
        sequences: how many are measured on.
        measured: which steps are measured: pairs ``[every, until]``, such as every 10 until step
            100; the last step is measured as well.
        tolerance: relative residual of the eigenvalues, ``‖A z − λ z‖ / |λ|``.
        kept: the steps whose weights are kept.
        memory: megabytes that a product may take, about; null: most of what is free on its device.
            Batches are cut to fit, which changes results by rounding alone.
    """

    layers: int
    width: int
    heads: int
    context: int
    dropout: float
    sequences: Count
    measured: list[list[int]]
    tolerance: ProperFraction
    kept: list[int]
    memory: Megabytes

    def __post_init__(self) -> None:
        super().__post_init__()
        self.shape(VARIANTS[0], vocabulary=1)
        pairs = [pair for pair in self.measured if len(pair) == 2 and min(pair) >= 1]
        untils = [pair[1] for pair in pairs]
        fits = len(pairs) == len(self.measured) and untils == sorted(set(untils))
        require(fits, "measured", "pairs [every, until], until rising", self.measured)
        fits = {*self.kept} <= {*range(self.steps + 1)} and len({*self.kept}) == len(self.kept)
        require(fits, "kept", f"different steps from 0 to {self.steps}", self.kept)

    @property
    def measured_at(self) -> list[int]:
        """The steps that are measured, the last among them."""
        steps = measured_steps(self.measured)
        return sorted({step for step in steps if step < self.steps} | {self.steps})

    def shape(self, variant: str, vocabulary: int) -> Shape:
        """The size of a network."""
        sizes = {name: getattr(self, name) for name in SIZES}
        return Shape(variant=variant, vocabulary=vocabulary, dropout=self.dropout, **sizes)


@dataclass(frozen=True, kw_only=True)
class Start:
    """The weights that trainings start from.

    Args:
        folder: where they are, which tells no two trainings apart.
        digest: that of the weights.
    """

    folder: str = field(compare=False)
    digest: str


@dataclass(frozen=True, kw_only=True)
class Config(LanguageModelTraining, NetworksConfig):
    """Settings of language models.

    Args:
        data: the text, a name from ``conf/data``.
        start: a folder as ``save_pretrained`` of a ``GPT2LMHeadModel`` writes it, from whose
            weights each training starts; empty: weights are drawn. With ``steps`` 0 nothing is
            trained, and the network in the folder itself is measured.
        variants: some of :data:`~hessian_papers.models.gpt2.VARIANTS`.
        seeds: trainings of each variant; the first has ``seed``, the others the numbers after it.
    """

    data: str
    start: str
    variants: Annotated[list[str], Different(tuple(VARIANTS))]
    seeds: Count

    def __post_init__(self) -> None:
        super().__post_init__()
        drawn = not self.start
        require(drawn or self.variants == ["attention"], "variants", _ALONE, self.variants)
        require(self.steps > 0 or not drawn, "steps", "at least 1 without a start", self.steps)
        # Further seeds would be the same network on other sequences.
        alone = self.steps > 0 or self.seeds == 1
        require(alone, "seeds", "1, as nothing is trained with steps 0", self.seeds)

    def started(self, vocabulary: int) -> Start | None:
        """The weights that trainings start from, if they are not drawn.

        Args:
            vocabulary: how many different tokens the text has.

        Raises:
            ValueError: the folder has none, or those of another shape; the message begins with the
                setting.
        """
        if not self.start:
            return None
        folder = Path(self.start).expanduser().absolute()
        shape = pretrained_shape(folder)
        for name in SIZES:
            fitted, own = getattr(shape, name), getattr(self, name)
            require(own == fitted, name, f"{fitted}, as the GPT-2 in {folder} has", own)
        expected = f"a text with the {shape.vocabulary} tokens that the GPT-2 in {folder} has"
        require(vocabulary == shape.vocabulary, "data", expected, vocabulary)
        files = sorted(file for file in folder.iterdir() if file.suffix in WEIGHTS)
        expected = f"a folder with weights of GPT-2, files that end in {' or '.join(WEIGHTS)}"
        require(bool(files), "start", expected, self.start)
        return Start(folder=str(folder), digest=digest(manifest.described(folder, files)))

    def require_data(self, form: Form) -> None:
        """Refuse a data set that is no text.

        Raises:
            ValueError: it is none; the message begins with the field.
        """
        require(form.samples == TEXT, "data", f"a data set with {TEXT}", self.data)


def _seeds(config: Config) -> list[int]:
    return [config.seed + number for number in range(config.seeds)]


_EACH = "variant seed"
VARIABLES: Variables = {
    "variant": Variable("variant", "the architecture"),
    "seed": Variable("seed", "of weights, batches and the sequences that are measured"),
    "step": Variable("step", "training step of a measurement"),
    "train_step": Variable("train_step", "training step"),
    "kept": Variable("kept", "training steps whose weights are kept"),
    "parameters": Variable("variant", "number of weights"),
    "tokens_seen": Variable("", "tokens that are seen in a training"),
    "measured_tokens": Variable("seed sequence position", "tokens that are measured on"),
    "diverged": Variable(_EACH, "whether the training diverged"),
    "memory": Variable(_EACH, "memory that a product may take", "MB"),
    "train_loss": Variable(f"{_EACH} train_step", "loss of the step's batch", "nats"),
    "loss": Variable(f"{_EACH} step", "loss on the sequences that are measured", "nats"),
    "residual": Variable(
        f"{_EACH} step", "mean norm of the derivative of a position's loss by its logits"
    ),
    "hessian": Variable(f"{_EACH} step", "largest eigenvalue of the Hessian"),
    "hessian_error": Variable(f"{_EACH} step", "its relative residual"),
    "ggn": Variable(f"{_EACH} step", "largest eigenvalue of the Gauss-Newton matrix"),
    "ggn_error": Variable(f"{_EACH} step", "its relative residual"),
    "mass": Variable(f"{_EACH} step layer head", "mean attention on the first token"),
}


def items(config: Config, data: xr.Dataset) -> list[Item]:
    """Each variant with each seed."""
    vocabulary = int(data["vocabulary"])
    text = {"tokens": data["train"].values, "vocabulary": vocabulary}
    start = config.started(vocabulary)
    settings = {"start": start, **shared(LanguageModelTraining, config)}
    return [
        {"variant": variant, "seed": seed, **text, **settings}
        for variant in config.variants
        for seed in _seeds(config)
    ]


def compute(
    *,
    variant: str,
    seed: int,
    tokens: np.ndarray,
    vocabulary: int,
    start: Start | None,
    run: TrainingRun,
    **shared: object,
) -> Arrays:
    """Train one network, and measure it on the way.

    Args:
        variant: of GPT-2.
        seed: of weights, batches and the sequences that are measured.
        tokens: what the data set has for the text.
        vocabulary: how many different tokens there are.
        start: the weights to start from; ``None``: they are drawn.
        run: where the training logs and keeps its unfinished state, and weights of some steps.
        shared: the :class:`LanguageModelTraining`.

    Returns:
        ``parameters``; ``train_loss`` (t,); ``measured_tokens`` (n, T + 1); ``diverged``
        and ``memory`` (); the arrays of
        :class:`~hessian_papers.networks.tools.language_model.Measurements`.
    """
    settings = LanguageModelTraining(**shared)  # type: ignore[arg-type]
    text, context = opened(tokens), settings.context
    shape = settings.shape(variant, vocabulary)
    device = join()
    model = gpt2(shape, seed)
    if start is not None:
        start_from(model, Path(start.folder))
    model = model.to(device)
    limit = product_memory(settings.memory, device)
    sequences = batch(text, step=MEASURED, size=settings.sequences, length=context, seed=seed)
    with weights_folder(run) as folder:
        measurements = Measurements(
            model,
            sequences.to(device),
            settings.measured_at,
            kept=settings.kept,
            folder=folder,
            tolerance=settings.tolerance,
            memory=limit,
        )
        if device.type == "cuda":
            # What is measured is a copy, whose attention differentiates any number of times.
            fuse_attention(model)
        losses = pretrain(
            model,
            language_loss,
            text,
            settings,
            context=context,
            seed=seed,
            observer=measurements,
            observed=measurements.observed,
            log=run.log,
            checkpoint=run.checkpoint,
            identity=variant,
        )
    measured = measurements.arrays
    curvature = [measured[name] for name in MATRICES]
    return measured | {
        "parameters": np.array(parameter_count(shape)),
        "train_loss": losses,
        "measured_tokens": sequences.numpy(),
        "diverged": np.array(has_diverged(model, measured["loss"][-1], vocabulary, *curvature)),
        "memory": np.array(limit >> 20),
    }


def gather(config: Config, parts: Sequence[Arrays]) -> xr.Dataset:
    """The data set of all trainings: what :data:`VARIABLES` declares.

    Measurements are NaN after a divergence, ``mass`` also without attention. Twins are measured on
    the same sequences.
    """
    seen = config.steps * config.batch_size * config.accumulation * config.context
    facts = {
        "step": np.array(config.measured_at),
        "train_step": np.arange(config.steps),
        "kept": np.array(sorted(config.kept), dtype=np.int64),
        "tokens_seen": np.array(seen),
    }
    trainings = product(config.variants, _seeds(config))
    rows = [
        {"variant": np.array(variant), "seed": np.array(seed), **facts, **part}
        for (variant, seed), part in zip(trainings, parts, strict=True)
    ]
    return assembled(rows, VARIABLES, ("variant", "seed"))


def cost(item: Item) -> float:
    """Sequences whose gradient is computed, and what is measured in the time of one."""
    settings = LanguageModelTraining(
        **{field.name: item[field.name] for field in fields(LanguageModelTraining)}
    )
    trained = settings.steps * settings.batch_size * settings.accumulation
    measured = FIRST + LATER * (len(settings.measured_at) - 1)
    return float(trained + measured * settings.sequences)


def forecast(config: Config, *, name: str, vocabulary: int, workers: int) -> str:
    """The time and memory that all trainings take on this device, in words.

    Each variant is tried with one sequence of random tokens on one thread; after two minutes the
    others are taken to cost what the dearest does.

    Args:
        config: the trainings.
        name: of the networks.
        vocabulary: how many different tokens there are.
        workers: how many trainings share the device at once.

    Raises:
        ValueError: the trainings start from weights of another shape.
    """
    config.started(vocabulary)
    device = join()
    free, limit = free_memory(device), product_memory(config.memory, device)
    draws = torch.Generator().manual_seed(config.seed)
    sequence = torch.randint(vocabulary, (1, config.context + 1), generator=draws).to(device)
    text, started = [], time.perf_counter()
    tried: dict[str, Pieces] = {}
    forecasts = {}
    for variant in tqdm(config.variants, desc="dry run", disable=None, leave=False):
        if not tried or time.perf_counter() - started < LONGEST_TRIAL:
            model = gpt2(config.shape(variant, vocabulary), config.seed).to(device)
            with threadpool_limits(1):
                tried[variant] = pieces_of(model, sequence, reduced=config.precision == "bf16")
            del model
        like = variant if variant in tried else max(tried, key=lambda v: tried[v].gradient.seconds)
        title = variant if like == variant else f"{variant} (not tried, taken as {like})"
        forecasts[variant] = extrapolated(config, tried[like], free=free, limit=limit)
        text += described(title, config, tried[like], forecasts[variant])
    count = {"seeds": config.seeds, "workers": workers}
    text += conclusion(f"networks.{name}", config, forecasts, free=free, **count)
    where = f"{device.type}, one thread, {config.precision} updates, nothing compiled"
    return "\n".join([f"one sequence of {config.context} random tokens on {where}", *text])


def probe(item: Item) -> Item:
    """The first few steps, measured at their ends on few sequences."""
    steps, sequences = min(20, item["steps"]), min(2, item["sequences"])
    return {**item, "steps": steps, "sequences": sequences, "measured": [], "kept": []}


train = FanOut(
    items=items,
    compute=compute,
    gather=gather,
    cost=cost,
    probe=probe,
    trains=True,
    words=lambda given, item: (f"GPT-2 {item['variant']}", f"seed {item['seed']}"),
)
