"""An inspection as text: a line for each quantity, then the eigenvalues and the layers."""

import math
from collections.abc import Callable, Iterator
from textwrap import wrap
from typing import Any

from hessian_spectra.inspection.findings import Finding, Report
from hessian_spectra.texts import aligned

_EIGENVALUES_OF_A_LINE = 8
_WIDTH = 100


def table(report: Report) -> str:
    """The whole inspection, for a terminal."""
    lines = [*_heading(report.subject), ""]
    rows = [(finding.title, *_summary(finding)) for finding in report.findings.values()]
    lines += aligned(rows)
    for key, name, lines_of in _SECTIONS:
        entries = report.values(key).get(name)
        section = lines_of(report, entries) if entries else []
        lines += ["", *section] if section else []
    notes = [
        f"{finding.title}: {note}"
        for finding in report.findings.values()
        for note in _notes(finding)
    ]
    for note in dict.fromkeys(notes):
        lines += ["", *wrap(note, _WIDTH, subsequent_indent="  ")]
    return "\n".join(lines)


def _notes(finding: Finding) -> list[str]:
    failed = [finding.reason] if finding.status == "failed" else []
    return [*failed, *finding.notes]


def _heading(subject: dict[str, Any]) -> Iterator[str]:
    yield " ".join(filter(None, (subject["factory"], subject.get("checkpoint"))))
    batches = "1 batch" if subject["batches"] == 1 else f"{subject['batches']} batches"
    yield (
        f"{subject['model']}, {subject['parameters']} parameters of {subject['dtype']} on "
        f"{subject['device']}, {subject['loss']}, {batches}"
    )


def number(value: float) -> str:
    """Five digits, as many as a residual of 1e-5 leaves.

    Example:
        >>> number(12.345678), number(1.23456e-7), number(0.0)
        ('12.346', '1.2346e-07', '0')
    """
    return f"{value:.5g}"


def _summary(finding: Finding) -> tuple[str, str]:
    """The value and what is known of its error, or why there is none."""
    if finding.status in ("failed", "missing"):
        return "-", "failed, see below" if finding.status == "failed" else finding.reason
    summary = _SUMMARIES[finding.key]
    if isinstance(summary, tuple):
        value, error = (text.format(**finding.values) for text in summary)
    else:
        value, error = summary(finding.values)
    return value, f"{error}; {finding.reason}" if finding.status == "partial" else error


def _top(values: dict[str, Any]) -> tuple[str, str]:
    return str(len(values["eigenvalues"])), f"largest residual {max(values['residuals']):.1e}"


def _gradient(values: dict[str, Any]) -> tuple[str, str]:
    return f"{values['total']:.2%}", f"of its squared length, in {len(values['shares'])} directions"


def _gap(values: dict[str, Any]) -> tuple[str, str]:
    share = values["functional"] / values["hessian"] if values["hessian"] else math.nan
    return number(values["functional"]), f"{share:.2%} of the curvature along the top eigenvector"


def _density(values: dict[str, Any]) -> tuple[str, str]:
    texts = [f"{values['probes']} probes, {values['steps']} steps each"]
    for name in ("negative_mass", "effective_rank"):
        if name in values:
            low, high = map(number, values[f"{name}_interval"])
            title = name.replace("_", " ")
            texts.append(f"{title} {number(values[name])} [{low}, {high}]")
    return "in the figure", "; ".join(texts)


def _layer_count(values: dict[str, Any]) -> tuple[str, str]:
    return str(len(values["layers"])), "below"


def _form_count(values: dict[str, Any]) -> tuple[str, str]:
    if "sharpness" in values:
        return number(values["sharpness"]), f"sharpness by {values['method']}"
    if not values["candidates"]:
        return "none", "see below"
    return "none", f"of {len(values['candidates'])} applies, reasons in the file"


_SHARPNESS = ("{sharpness:.5g}", "residual {residual:.1e}")
# Functions of a finding's values, or texts that these are put into, digits as number has them.
_SUMMARIES: dict[str, Callable[[dict[str, Any]], tuple[str, str]] | tuple[str, str]] = {
    "loss": ("{loss:.5g}", "gradient norm {gradient_norm:.5g}"),
    "closed_forms": _form_count,
    "sharpness_hessian": _SHARPNESS,
    "sharpness_ggn": _SHARPNESS,
    "top": _top,
    "smallest": ("{eigenvalue:.5g}", "residual {residual:.1e}"),
    "gradient": _gradient,
    "operations": _gap,
    "trace": ("{trace:.5g}", "{level:.0%} interval {interval[0]:.5g} to {interval[1]:.5g}"),
    "density": _density,
    "layers": _layer_count,
    "kronecker": _layer_count,
}


def _eigenvalues(report: Report, values: list[float]) -> list[str]:
    texts = [number(value) for value in values]
    width = max(map(len, texts)) + 2
    starts = range(0, len(texts), _EIGENVALUES_OF_A_LINE)
    parts = [texts[start : start + _EIGENVALUES_OF_A_LINE] for start in starts]
    lines = ["".join(text.rjust(width) for text in part) for part in parts]
    return [f"top {len(texts)} eigenvalues of the Hessian", *lines]


def _operations(report: Report, parts: dict[str, float]) -> list[str]:
    """The parts of the gap by the operations whose second derivatives make it."""
    values = report.values("operations")
    head = ("operation", "part of the gap", "of the curvature")
    rows = [
        (name, number(part), f"{part / values['hessian']:.2%}" if values["hessian"] else "-")
        for name, part in {**parts, "(others)": values["rest"]}.items()
    ]
    return aligned([head, *rows])


def _layers(report: Report, layers: list[dict[str, Any]]) -> list[str]:
    trace = report.values("trace")
    low, high = trace.get("interval", (0.0, 0.0))
    # A share of what may as well be zero, or of the other sign, says nothing.
    whole = 0.0 if low <= 0 <= high else trace["trace"]
    head = ("layer", "parameters", "sharpness", "trace", "95 % interval", "share of trace")
    rows = [
        (
            row["name"] or "(the model itself)",
            str(row["parameters"]),
            number(row["sharpness"]),
            number(row["trace"]),
            " to ".join(map(number, row["interval"])),
            f"{row['trace'] / whole:.1%}" if whole else "-",
        )
        for row in layers
    ]
    return aligned([head, *rows])


def _factors(report: Report, layers: list[dict[str, Any]]) -> list[str]:
    """The closeness of each layer's Hessian to the Kronecker product of its factors."""
    of_product = ("by E[M] x E[xx']", "top spaces overlap", "l1/l2 of E[xx']")
    rows = [("layer", "weight", "sharpness", *of_product)]
    for row in layers:
        first, *others = row["input_autocorrelation"]
        ratio = number(first / others[0]) if others and others[0] > 0 else "-"
        rows.append(
            (
                row["name"] or "(the model itself)",
                " x ".join(map(str, row["shape"])),
                number(row["hessian"][0]),
                number(row["product"][0]),
                f"{row['overlap']:.1%} of {len(row['hessian'])}",
                ratio,
            )
        )
    return aligned(rows)


def _forms(report: Report, candidates: list[dict[str, Any]]) -> list[str]:
    """The theorems about networks of this kind, whether they apply or not."""
    fitting = [item for item in candidates if item["fits"]]
    lines = ["closed forms of networks with these layers"] if fitting else []
    for item in fitting:
        reason = item["reason"] + (f": {item['advice']}" if item["advice"] else "")
        verdict = "applies" if item["applies"] else "not"
        text = f"{verdict}: {item['theorem']} ({item['paper']}), {reason}"
        lines += wrap(text, _WIDTH, subsequent_indent="  ")
    return lines


# What has lines of its own, by the finding and the name of its value.
_SECTIONS: tuple[tuple[str, str, Callable[[Report, Any], list[str]]], ...] = (
    ("top", "eigenvalues", _eigenvalues),
    ("operations", "parts", _operations),
    ("layers", "layers", _layers),
    ("kronecker", "layers", _factors),
    ("closed_forms", "candidates", _forms),
)
