"""Weights of GPT-2 in files: our own, and those of transformers."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from hessian_papers.models.gpt2.architecture import blank
from hessian_papers.models.gpt2.attention import ATTENTION, register_attention
from hessian_papers.models.gpt2.shape import Shape, shape_of
from hessian_spectra.files import write_bytes
from hessian_spectra.validation import optional_import, require

# What transformers' configuration can change besides the shape.
_FIXED = (
    "activation_function",
    "layer_norm_epsilon",
    "n_inner",
    "scale_attn_weights",
    "scale_attn_by_inverse_layer_idx",
    "tie_word_embeddings",
)


def save(model: nn.Module, folder: Path, name: str) -> None:
    """Write a model's weights and shape to ``<name>.safetensors``, whole or not at all.

    The shape stands in the file's header, as JSON. A sink is not kept.

    Args:
        model: a model of :func:`gpt2` or :func:`load`, not compiled or wrapped.
        folder: made where it does not exist.
        name: without the suffix.
    """
    safetensors = optional_import("safetensors.torch", "huggingface")
    weights = {key: value.detach().contiguous() for key, value in _numbers(model).items()}
    shape = json.dumps(asdict(shape_of(model)))
    write_bytes(folder / f"{name}.safetensors", safetensors.save(weights, {"shape": shape}))


def load(folder: Path, name: str) -> nn.Module:
    """The model that :func:`save` wrote, or that of transformers' ``save_pretrained``.

    Args:
        folder: where the file is.
        name: the ``name`` of ``<name>.safetensors``, or a folder of transformers with
            ``config.json`` and the weights of a ``GPT2LMHeadModel``. Nothing is downloaded.

    Returns:
        The model in ``eval()``, float32, on the CPU.

    Raises:
        FileNotFoundError: there is neither.
        ValueError: the file is cut off, or holds something else.
    """
    if (folder / name).is_dir():
        return _load_pretrained(folder / name)
    path = folder / f"{name}.safetensors"
    if not path.is_file():
        raise FileNotFoundError(f"{path}: expected a file with weights of GPT-2, there is none")
    safetensors = optional_import("safetensors", "huggingface")
    try:
        with safetensors.safe_open(path, framework="pt") as file:
            header = file.metadata() or {}
            weights = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    except safetensors.SafetensorError as error:
        raise ValueError(f"{path}: cut off or no safetensors file ({error})") from error
    try:
        model = blank(Shape(**json.loads(header["shape"])))
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path}: expected the shape of a GPT-2 in its header") from error
    _fill(model, weights, path)
    return model.eval()


def _numbers(model: nn.Module) -> dict[str, Tensor]:
    """The weights of a model, and the patterns of its attention if it has any."""
    buffers = model.named_buffers()
    return dict(model.named_parameters()) | {
        name: values for name, values in buffers if name.endswith(".pattern")
    }


def _fill(model: nn.Module, weights: Mapping[str, Tensor], path: Path) -> None:
    """Copy weights of the right names and shapes into a model.

    Raises:
        ValueError: one is missing, not known, or of another shape.
    """
    expected = {name: values.shape for name, values in _numbers(model).items()}
    entries = {name: weight.shape for name, weight in weights.items()}
    for name in sorted(expected.keys() | entries.keys()):
        if expected.get(name) != entries.get(name):
            sizes = [tuple(item[name]) if name in item else "none" for item in (expected, entries)]
            raise ValueError(f"{path}: expected {name} of shape {sizes[0]}, got {sizes[1]}")
    with torch.no_grad():
        for name, values in _numbers(model).items():
            values.copy_(weights[name])


def pretrained_shape(folder: Path) -> Shape:
    """The shape of the ``GPT2LMHeadModel`` in a folder of transformers, by its ``config.json``.

    Raises:
        ValueError: there is none, or its GPT-2 differs from ours in more than the shape.
    """
    transformers = optional_import("transformers", "huggingface")
    try:
        values = json.loads((folder / "config.json").read_text("utf-8"))
        kind = values["model_type"]
    except (OSError, ValueError, KeyError, TypeError):
        kind = "none"
    if kind != "gpt2":
        raise ValueError(f"{folder}: expected config.json with model_type 'gpt2', got {kind!r}")
    config, usual = transformers.GPT2Config.from_dict(values), transformers.GPT2Config()
    for name in _FIXED:
        expected, value = getattr(usual, name), getattr(config, name)
        require(value == expected, f"{folder}: {name}", repr(expected), value)
    return Shape(
        layers=config.n_layer,
        width=config.n_embd,
        heads=config.n_head,
        context=config.n_positions,
        vocabulary=config.vocab_size,
        variant="attention",
        dropout=config.resid_pdrop,
    )


def start_from(model: nn.Module, folder: Path) -> None:
    """Copy the weights in a folder of transformers into a model of the same shape.

    Args:
        model: of :func:`gpt2`; its dropout stays as it is.
        folder: as ``save_pretrained`` of a ``GPT2LMHeadModel`` writes it.

    Raises:
        ValueError: the folder holds something else.
    """
    _fill(model, _numbers(_load_pretrained(folder)), folder)


def _load_pretrained(folder: Path) -> nn.Module:
    """The GPT-2 in a folder of transformers, with the attention of this module.

    Raises:
        ValueError: it holds something else.
    """
    shape = pretrained_shape(folder)
    transformers = optional_import("transformers", "huggingface")
    register_attention(transformers)
    try:
        with _quiet(transformers):
            model, result = transformers.GPT2LMHeadModel.from_pretrained(
                folder,
                local_files_only=True,
                attn_implementation=ATTENTION,
                dtype=torch.float32,
                output_loading_info=True,
            )
    except Exception as error:
        # Of whatever kind the error of a reader of weights is.
        reason = str(error).splitlines()[0]
        raise ValueError(f"{folder}: no weights of a GPT2LMHeadModel ({reason})") from error
    if result["missing_keys"]:
        # Transformers would draw them.
        raise ValueError(
            f"{folder}: expected weights {min(result['missing_keys'])}, there are none"
        )
    model.config.use_cache = False
    model.config.shape = asdict(shape)
    return model.eval()


@contextmanager
def _quiet(transformers: Any) -> Iterator[None]:
    """While this is on, transformers shows no progress bar and says nothing below an error."""
    logging = transformers.utils.logging
    shown, level = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if shown:
            logging.enable_progress_bar()
