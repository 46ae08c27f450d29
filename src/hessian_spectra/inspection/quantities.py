"""The quantities of an inspection, each a function that fills in its finding."""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn

from hessian_spectra import closed_form as cf
from hessian_spectra import curvature as cv
from hessian_spectra.curvature.layerwise.layers import KINDS, is_layer
from hessian_spectra.curvature.products import DifferentiatedOperator
from hessian_spectra.curvature.selection import grouped, named_parameters
from hessian_spectra.inspection.findings import Clock, Finding
from hessian_spectra.spectrum import Spectrum
from hessian_spectra.statistics import student_interval

TITLES = {
    "loss": "loss",
    "closed_forms": "closed forms",
    "sharpness_hessian": "sharpness, Hessian",
    "sharpness_ggn": "sharpness, Gauss-Newton",
    "top": "top eigenvalues, Hessian",
    "smallest": "smallest eigenvalue",
    "gradient": "gradient in the top space",
    "operations": "gap to Gauss-Newton",
    "trace": "trace, Hessian",
    "density": "spectral density, Hessian",
    "layers": "layers, Hessian",
    "kronecker": "layers, Kronecker factors",
}

# Of all intervals.
_LEVEL = 0.95


class Quantities:
    """The quantities that are computed of a problem, the cheapest and most asked for first.

    Args:
        problem: network, loss and data.
        clock: counts products, and stops them.
        k: how many eigenvalues, at most all.
        layers: patterns of the layers' names; all by default.
        seed: of all probes and starts.

    Raises:
        ValueError: ``k`` is below 1, or a pattern fits no layer.
    """

    def __init__(
        self, problem: cv.Problem, clock: Clock, k: int, layers: Sequence[str], seed: int
    ) -> None:
        if k < 1:
            raise ValueError(f"--k: expected at least 1 eigenvalue, got {k}")
        self.problem, self._clock, self._seed = problem, clock, seed
        self._k = min(k, problem.size)
        self.layers = _chosen(list(grouped(problem.names, "module")), layers)
        self._top_pairs: Spectrum | None = None
        self._traces: Mapping[str, cv.TraceEstimate] = {}

    def all(self) -> dict[str, Callable[[Finding], None]]:
        """The functions by key, in the order in which they are called."""
        # Last what needs the Hessian, whose graph is kept to the end: two would be in memory.
        first = ("loss", "closed_forms", "sharpness_ggn")
        keys = (*first, *(key for key in TITLES if key not in first))
        return {key: getattr(self, f"_{key}") for key in keys}

    @cached_property
    def _hessian(self) -> DifferentiatedOperator:
        return cv.hessian(self.problem)

    def _loss(self, finding: Finding) -> None:
        finding.values["loss"] = self.problem.value()
        finding.values["gradient_norm"] = float(self.problem.gradient().norm())

    def _closed_forms(self, finding: Finding) -> None:
        problem = self.problem
        finding.values["candidates"] = []
        if not isinstance(problem.loss, nn.Module):
            finding.notes.append("they are about a loss of outputs and targets that is a module")
            return
        if problem.names != tuple(named_parameters(problem.model)):
            finding.notes.append("they are about all parameters of a network")
            return
        data: Any = problem.data
        candidates = cf.candidates(problem.model, data, problem.loss)
        keys = ("function", "theorem", "paper", "fits", "applies", "reason", "advice")
        finding.values["candidates"] = [
            {key: getattr(candidate, key) for key in keys} for candidate in candidates
        ]
        if any(candidate.applies for candidate in candidates):
            spectrum = cf.of(problem.model, data, problem.loss)
            finding.values["method"] = spectrum.method
            finding.values["sharpness"] = float(spectrum.eigenvalues[-1])

    def _sharpness_hessian(self, finding: Finding) -> None:
        values = finding.values
        values["sharpness"], values["residual"] = self._outermost(finding, self._hessian)

    def _sharpness_ggn(self, finding: Finding) -> None:
        values, operator = finding.values, cv.ggn(self.problem)
        values["sharpness"], values["residual"] = self._outermost(finding, operator)

    def _outermost(
        self, finding: Finding, operator: cv.Operator, which: cv.Which = "LA"
    ) -> tuple[float, float]:
        """An end of the spectrum and its residual, relative to that of largest magnitude."""
        pairs = self._pairs(finding, operator, 1, which)
        assert pairs.residuals is not None
        return float(pairs.values[0]), float(pairs.residuals[0])

    def _pairs(
        self, finding: Finding, operator: cv.Operator, k: int, which: cv.Which = "LA"
    ) -> Spectrum:
        with _noting(finding):
            watched = self._clock.watched(operator)
            return cv.top_eigenpairs(watched, k, which=which, seed=self._seed)

    def _top(self, finding: Finding) -> None:
        pairs = self._pairs(finding, self._hessian, self._k)
        assert pairs.residuals is not None
        order = pairs.values.argsort(descending=True)
        finding.values["eigenvalues"] = pairs.values[order].tolist()
        finding.values["residuals"] = pairs.residuals[order].tolist()
        finding.values["method"] = pairs.method.partition(",")[0]
        self._top_pairs = pairs

    def _smallest(self, finding: Finding) -> None:
        values = finding.values
        values["eigenvalue"], values["residual"] = self._outermost(finding, self._hessian, "SA")

    def _top_vectors(self) -> Tensor:
        if self._top_pairs is None:
            raise ValueError("it needs the top eigenvectors")
        return self._top_pairs.eigenvectors()

    def _gradient(self, finding: Finding) -> None:
        vectors, gradient = self._top_vectors(), self.problem.gradient()
        if not gradient.any():
            raise ValueError("the gradient is zero")
        shares = (vectors.T @ (gradient / gradient.norm())).square().flip(0)
        finding.values["shares"] = shares.tolist()
        finding.values["total"] = float(shares.sum())

    def _operations(self, finding: Finding) -> None:
        """The parts by operation of what the Gauss-Newton matrix misses at the top eigenvector."""
        vector = self._top_vectors()[:, -1].contiguous()
        self._clock.check()
        result = cv.functional_parts(self.problem, vector)
        finding.values |= {"functional": result.functional, "rest": result.rest}
        finding.values |= {"parts": dict(result.parts), "hessian": result.hessian}

    def _trace(self, finding: Finding) -> None:
        estimate = self._estimated(self._hessian)
        # What the layers' rows show, so that these add up to the whole.
        self._traces = estimate.blocks or dict.fromkeys(self._hessian.blocks(), estimate)
        finding.values |= self._traced(estimate)

    def _estimated(self, operator: cv.Operator) -> cv.TraceEstimate:
        return cv.trace(self._clock.watched(operator), seed=self._seed)

    def _traced(self, estimate: cv.TraceEstimate) -> dict[str, Any]:
        return {
            "trace": estimate.value,
            "standard_error": estimate.standard_error,
            "interval": list(estimate.interval()),
            "level": _LEVEL,
        }

    def _density(self, finding: Finding) -> None:
        density = cv.spectral_density(self._clock.watched(self._hessian), seed=self._seed)
        for name in ("grid", "density", "standard_error"):
            values: Tensor = getattr(density, name)
            finding.values[name] = values.tolist()
        finding.values["width"] = density.width
        probes, finding.values["steps"] = density.nodes.shape
        finding.values["probes"], finding.values["level"] = probes, _LEVEL
        for name, (value, error) in {
            "negative_mass": density.negative_mass(),
            "effective_rank": density.effective_rank(self.problem.size),
        }.items():
            low, high = student_interval(value, error, probes - 1.0, 0.0, _LEVEL)
            finding.values[name] = value
            finding.values[f"{name}_interval"] = [max(0.0, float(low)), float(high)]

    def _layers(self, finding: Finding) -> None:
        blocks = self._hessian.blocks()
        for name in self.layers:
            block = blocks[name]
            row: dict[str, Any] = {"name": name, "parameters": block.shape[0]}
            row["sharpness"], row["residual"] = self._outermost(finding, block)
            row |= self._traced(self._traces.get(name) or self._estimated(block))
            # Layer by layer, so that those are there which were done in time.
            finding.values.setdefault("layers", []).append(row)

    def _kronecker(self, finding: Finding) -> None:
        """The factors of each linear or convolutional layer, and how far their product goes."""
        weights = self._hessian.blocks("parameter")
        kinds = dict(self.problem.model.named_modules())
        weight_of = {name: f"{name}.weight" if name else "weight" for name in self.layers}
        names = [
            name
            for name, weight in weight_of.items()
            if weight in weights and is_layer(kinds.get(name))
        ]
        finding.values["layers"] = []
        for layer in self._layerwise(finding, names):
            self._clock.check()
            # Of another kind, such as Hugging Face's Conv1D, the weight may lie the other way.
            usual = isinstance(kinds[layer.name], KINDS)
            weight = weights[weight_of[layer.name]] if usual else layer.hessian
            row = self._factored(finding, layer, weight)
            finding.values["layers"].append(row)

    def _layerwise(self, finding: Finding, names: list[str]) -> Iterator[cv.Layerwise]:
        """The layers that have factors, from passes over the data that they share."""
        try:
            result = cv.layerwise(self.problem, names, check=False) if names else {}
            for layer in result.values():
                _ = layer.output_hessian
        except (ValueError, cv.OperatorError) as error:
            if len(names) == 1:
                finding.notes.append(str(error))
                return
            # One that has none is no reason to leave out the others.
            for name in names:
                yield from self._layerwise(finding, [name])
        else:
            yield from result.values()

    def _factored(
        self, finding: Finding, layer: cv.Layerwise, weight: cv.Operator
    ) -> dict[str, Any]:
        """Eigenvalues of the factors and of both matrices, and the overlap of their top spaces."""
        k = min(self._k, weight.shape[0])
        exact, product = self._pairs(finding, weight, k), layer.kronecker(k)
        largest = torch.linalg.eigvalsh(layer.input_autocorrelation).flip(0)[:k]
        return {
            "name": layer.name,
            "shape": list(layer.shape),
            "output_hessian": torch.linalg.eigvalsh(layer.output_hessian).flip(0)[:k].tolist(),
            "input_autocorrelation": largest.tolist(),
            "hessian": exact.eigenvalues.flip(0).tolist(),
            "product": product.eigenvalues.flip(0).tolist(),
            "overlap": cv.subspace_overlap(exact.eigenvectors(), product.eigenvectors()),
        }


def _chosen(names: list[str], patterns: Sequence[str]) -> list[str]:
    """The layers that the patterns fit, in the network's order."""
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise ValueError(f"--layers: {pattern!r} fits none of {', '.join(names)}")
    if not patterns:
        return names
    return [name for name in names if any(fnmatchcase(name, item) for item in patterns)]


@contextmanager
def _noting(finding: Finding) -> Iterator[None]:
    """Let what the solver warns of become a note of the finding."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for item in caught:
        if item.category.__module__.startswith("hessian_spectra"):
            finding.notes.append(" ".join(str(item.message).split()))
        else:
            warnings.warn_explicit(item.message, item.category, item.filename, item.lineno)
