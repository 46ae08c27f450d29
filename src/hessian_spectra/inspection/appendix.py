"""Inspections for a paper's appendix: a CSV file, LaTeX tables, a methods sentence."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, fields, replace

from hessian_spectra.inspection.findings import Report
from hessian_spectra.inspection.table import number

# Reports by the names of their checkpoints, "" where there is one alone.
Reports = Mapping[str, Report]

_METHODS = {"Lanczos": "Lanczos' method with reorthogonalisation"}


@dataclass(frozen=True, kw_only=True)
class Row:
    """A number with what is known of its error.

    Args:
        checkpoint: the name of the weights, or empty.
        quantity: what it is.
        layer: of which layer, empty for the whole network.
        value: the number.
        low: the lower end of its 95 % interval, ``None`` where it is no estimate.
        high: the upper end.
        residual: of an eigenvalue, relative to the largest one met.
    """

    checkpoint: str = ""
    quantity: str
    layer: str = ""
    value: float
    low: float | None = None
    high: float | None = None
    residual: float | None = None


def rows(reports: Reports) -> Iterator[Row]:
    """The numbers of all reports, as far as they were found."""
    for name, report in reports.items():
        for row in (*_of_network(report), *_of_layers(report)):
            yield replace(row, checkpoint=name)


def _estimate(quantity: str, value: float, interval: Sequence[float], layer: str = "") -> Row:
    low, high = interval
    return Row(quantity=quantity, layer=layer, value=value, low=low, high=high)


def _of_network(report: Report) -> Iterator[Row]:
    loss = report.values("loss")
    for key, title in (("loss", "loss"), ("gradient_norm", "gradient norm")):
        if key in loss:
            yield Row(quantity=title, value=loss[key])
    for key, title in (("hessian", "Hessian"), ("ggn", "Gauss-Newton")):
        values = report.values(f"sharpness_{key}")
        if values:
            quantity = f"sharpness, {title}"
            yield Row(quantity=quantity, value=values["sharpness"], residual=values["residual"])
    top = report.values("top")
    pairs = zip(top.get("eigenvalues", ()), top.get("residuals", ()), strict=True)
    for rank, (value, residual) in enumerate(pairs, start=1):
        yield Row(quantity=f"eigenvalue {rank}", value=value, residual=residual)
    for name, part in report.values("operations").get("parts", {}).items():
        yield Row(quantity=f"gap by {name}", value=part)
    if smallest := report.values("smallest"):
        value, residual = smallest["eigenvalue"], smallest["residual"]
        yield Row(quantity="smallest eigenvalue", value=value, residual=residual)
    if trace := report.values("trace"):
        yield _estimate("trace", trace["trace"], trace["interval"])
    density = report.values("density")
    for key in ("negative_mass", "effective_rank"):
        if key in density:
            yield _estimate(key.replace("_", " "), density[key], density[f"{key}_interval"])


def _of_layers(report: Report) -> Iterator[Row]:
    for row in report.values("layers").get("layers", ()):
        name = row["name"] or "(the model itself)"
        value, residual = row["sharpness"], row["residual"]
        yield Row(quantity="sharpness", layer=name, value=value, residual=residual)
        yield _estimate("trace", row["trace"], row["interval"], name)
    for row in report.values("kronecker").get("layers", ()):
        name = row["name"] or "(the model itself)"
        for title, value in (("sharpness by", row["product"][0]), ("overlap with", row["overlap"])):
            yield Row(quantity=f"{title} Kronecker factors", layer=name, value=value)


def csv_text(reports: Reports) -> str:
    """All numbers as a CSV file, a row each; what does not apply is empty."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([field.name for field in fields(Row)])
    writer.writerows(astuple(row) for row in rows(reports))
    return stream.getvalue()


def latex(reports: Reports) -> str:
    """Two tables for ``booktabs``, of the network and of its layers, a column each checkpoint.

    An interval stands in brackets behind its value.
    """
    cells: dict[tuple[str, str], dict[str, str]] = {}
    for row in rows(reports):
        text = _math(row.value)
        if row.low is not None and row.high is not None:
            text += f" [{_math(row.low)}, {_math(row.high)}]"
        cells.setdefault((row.layer, row.quantity), {})[row.checkpoint] = text
    tables = []
    for of_layers in (False, True):
        chosen = {key: texts for key, texts in cells.items() if bool(key[0]) == of_layers}
        if chosen:
            tables.append(_tabular(chosen, reports, of_layers))
    return "\n".join(tables)


def _tabular(
    cells: Mapping[tuple[str, str], Mapping[str, str]], reports: Reports, of_layers: bool
) -> str:
    heads = [*(["layer"] if of_layers else []), "quantity"]
    names = [_escaped(name) or "value" for name in reports]
    lines = [
        rf"\begin{{tabular}}{{{'l' * len(heads)}{'r' * len(names)}}}",
        r"\toprule",
        " & ".join([*heads, *names]) + r" \\",
        r"\midrule",
    ]
    for (layer, quantity), texts in cells.items():
        first = [_escaped(layer)] if of_layers else []
        values = [texts.get(name, "--") for name in reports]
        lines.append(" & ".join([*first, _escaped(quantity), *values]) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def _math(value: float) -> str:
    r"""A number as LaTeX sets it.

    Example:
        >>> print(_math(-1.5), _math(1.25e-7))
        $-1.5$ $1.25\times 10^{-7}$
    """
    digits, power, exponent = number(value).partition("e")
    return rf"${digits}\times 10^{{{int(exponent)}}}$" if power else f"${digits}$"


def _escaped(text: str) -> str:
    r"""A name without LaTeX's special characters.

    Example:
        >>> print(_escaped("h.0_c & %"))
        h.0\_c \& \%
    """
    return "".join(f"\\{letter}" if letter in "_&%#$" else letter for letter in text)


def methods(reports: Reports) -> str:
    """A paragraph on how the numbers were found, for the methods of a paper."""
    report = next(iter(reports.values()))
    subject = report.subject
    single = subject["batches"] == 1
    sentences = [
        f"Curvature is that of the {subject['loss']} of {subject['model']} over "
        f"{'one batch' if single else str(subject['batches']) + ' batches'} with respect to its "
        f"{subject['parameters']} trainable parameters, in {subject['dtype']}, with exact "
        "Hessian-vector products."
    ]
    residuals = [row.residual for row in rows(reports) if row.residual is not None]
    method = report.values("top").get("method", "Lanczos")
    if residuals:
        sentences.append(
            f"Eigenvalues are by {_METHODS.get(method, method)}, to relative residuals of at most "
            f"{max(residuals):.0e}."
        )
    trace = report.findings["trace"]
    if trace.values and not trace.values["standard_error"]:
        sentences.append("The trace is the sum of the whole diagonal.")
    elif trace.values:
        sentences.append(
            f"The trace is estimated from {trace.products} products with random signs, with "
            f"{trace.values['level']:.0%} intervals."
        )
    density = report.values("density")
    if "steps" in density:
        sentences.append(
            "The spectral density, the negative mass (the share of the eigenvalues below zero in "
            "the sum of magnitudes) and the effective rank (the exponential of the entropy of the "
            f"normalised magnitudes) are from stochastic Lanczos quadrature, {density['probes']} "
            f"probes of {density['steps']} steps, with intervals by Student's t over the probes."
        )
    sentences.append(f"(hessian-spectra {subject['version']}, seed {subject['seed']}.)")
    return " ".join(sentences) + "\n"
