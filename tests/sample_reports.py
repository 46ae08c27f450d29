"""A folder like `reports/` with made-up figures and claims, for tests of what shows them."""

from pathlib import Path

import numpy as np

from hessian_papers.drawing.record import Origin
from hessian_papers.drawing.save import save
from hessian_papers.ledger.bounds import VERDICTS
from hessian_spectra.files import write_arrays, write_json
from hessian_spectra.pictures import style

STUDIES = {
    "closed2024-fig1": ("singh2024closed", "Figure 1"),
    "closed2024-fig2": ("singh2024closed", "Figure 2"),
    "poster-pair": ("singh2024poster", "Evolution of the outlier pair"),
    "cracking-fig1": ("singh2026cracking", "Figure 1"),
    "cracking-fig2": ("singh2026cracking", "Figure 2"),
    "cracking-fig7": ("singh2026cracking", "Figure 7"),
    "cracking-fig9": ("singh2026cracking", "Figure 9"),
    "cracking-fig27": ("singh2026cracking", "Figure 27"),
}

# What today's runs were made on, and of what one of them.
VERSIONS = {"versions": {"numpy": "2.0.made-up", "python": "3.11.made-up"}}
FILES = {"files": {"made-up/leaves.npz": "c0ffee" * 10}}
# The study that has a recorded run, its facts, and what either run departs in from the paper.
RECORDED = "cracking-fig7"
FACTS = {
    "scale": "paper",
    "commit": "abc",
    "hardware": {"cores": 2, "processor": "made-up"},
    "seconds of all items, one core each": {RECORDED: 1570.0},
}
DEPARTS = {
    "demo": {
        "networks.made-up.large_learning_rates.of_a_long_name": [[0.1] * 9, [1.0] * 9],
        "networks.made-up.networks": [20, 200],
    },
    "paper": {"sizes": [[1, 2], [1, 2, 3]]},
}

# Text that would break a page or a script that does not escape it.
AWKWARD = "a < b && \"c\" > 'd' </script><img src=x onerror=alert(1)> ‖w‖²"


def config(study: str) -> dict[str, object]:
    """A made-up configuration."""
    paper, artifact = STUDIES[study]
    return {
        "kind": "sample",
        "paper": paper,
        "artifact": artifact,
        "title": f"Made-up test data in place of {study}",
        "data": "none",
        "seed": 3,
        "width": 50 if study == "cracking-fig7" else 10,
        "networks": ["linear", "relu"],
    }


def arrays(study: str, scale: str = "demo") -> dict[str, np.ndarray]:
    """Made-up arrays, other ones for each study and scale."""
    phase = len(study) + ord(study[-1]) + (0.5 if scale == "paper" else 0)
    x = np.linspace(0, 4, 40)
    return {"x": x, "outlier": np.sin(x + phase), "names": np.array(["a", "b"])}


def claim(number: int, study: str | None, verdict: str, **changes: object) -> dict[str, object]:
    """One made-up entry of the ledger."""
    measured = None if verdict == "not run at this scale" else 1.23e-14 * (number + 1)
    kind = ("identity", "value", "trend", "correlation")[number % 4]
    has_interval = kind == "correlation" and measured is not None
    entry: dict[str, object] = {
        "id": f"sample/claim {number}",
        "paper": STUDIES[study][0] if study else "singh2026cracking",
        "location": f"Theorem {number}",
        "statement": f"Made-up statement number {number}: λ_1 ≥ ‖w‖² for every width.",
        "kind": kind,
        "expected": None if measured is None else 0.0,
        "source": "made up",
        "measured": measured,
        "interval": [-0.00296, 0.00403] if has_interval else None,
        "relation": "<=",
        "tolerance": 1e-10,
        "reason": "round-off",
        "verdict": verdict,
        "study": study,
        "digest": "0123456789ab" if study else None,
        "test": "tests/sample_reports.py" if study else None,
        "printed": None,
        "printed_error": None,
        "explanation": "" if study else "It takes a longer run.",
        "scale": "demo" if study else None,
        "recorded": False,
        "departs": DEPARTS["demo"] if study == RECORDED else {},
        "beside": None,
    }
    return entry | changes


def on_both_runs(number: int, verdicts: tuple[str, str], decides: str) -> dict[str, object]:
    """A made-up claim of the study with two runs.

    Args:
        number: of the claim.
        verdicts: on today's run and on the recorded one.
        decides: the scale of the run that decides.
    """
    today = claim(number, RECORDED, verdicts[0])
    at_paper = {"scale": "paper", "recorded": True, "departs": DEPARTS["paper"]}
    recorded = claim(number, RECORDED, verdicts[1], measured=0.5 + number, **at_paper)
    first, second = (recorded, today) if decides == "paper" else (today, recorded)
    return first | {"beside": second}


def claims() -> list[dict[str, object]]:
    """A made-up ledger of 35 statements, in which every verdict and every kind occurs."""
    studies: list[str | None] = [*STUDIES, None]
    entries = []
    for number in range(36):
        study = studies[number % len(studies)]
        verdict = VERDICTS[(number // 5) % 4] if study else "not run at this scale"
        erratum = {"printed": f"Printed form {number}", "printed_error": 0.25 * number}
        entries.append(claim(number, study, verdict, **(erratum if verdict == "corrected" else {})))
    entries[0]["statement"] = AWKWARD
    # Two papers state it, and in one of them it differs.
    entries[11]["statement"] = entries[3]["statement"]
    entries[5] = on_both_runs(5, ("reproduced", "reproduced"), "paper")
    entries[14] = on_both_runs(14, ("reproduced", "differs"), "paper")
    entries[23] = on_both_runs(23, ("differs", "undecided"), "paper")
    entries[32] = on_both_runs(32, ("undecided", "undecided"), "demo")
    return entries


def _save(study: str, scale: str, reports: Path) -> None:
    """Draw one run of a study, and save the figure."""
    values, recorded = arrays(study, scale), scale == "paper"
    figure, axes = style.panels(height=2.6)
    axes.plot(values["x"], values["outlier"], label=f"{study}, {scale}", **style.EXACT)
    axes.set(xlabel="made-up x", ylabel="made-up y")
    axes.legend()
    caption = f"Made-up curve for a test, in place of {study}, with 40 points at σ² ≤ 4."
    origin = Origin(
        study=study,
        config=config(study),
        package="hessian_papers.studies.samples.sample",
        arrays={"numerics": "0" * 64},
        scale=scale,
        facts=FACTS if recorded else VERSIONS | (FILES if study == "poster-pair" else {}),
        departs=DEPARTS[scale] if study == RECORDED else {},
    )
    save(figure, caption, origin, reports / "figures", recorded=recorded)


def write(root: Path) -> Path:
    """Write `reports/` and `results/` below `root`.

    Returns:
        The folder `reports/`.
    """
    reports, results = root / "reports", root / "results"
    for study in STUDIES:
        values = arrays(study)
        _save(study, "demo", reports)
        write_arrays(results / study / "numerics.npz", values)
        if study != "cracking-fig9":
            write_arrays(results / study / "closed_form.npz", {"outlier": values["outlier"]})
    _save(RECORDED, "paper", reports)
    evidence = reports / "evidence" / RECORDED
    write_arrays(evidence / "numerics.npz", arrays(RECORDED, "paper"))
    write_json(evidence / "facts.json", FACTS)
    entries = claims()
    write_json(reports / "claims.json", entries)
    counts = {v: sum(entry["verdict"] == v for entry in entries) for v in VERDICTS}
    write_json(
        reports / "metrics.json",
        {"verdicts": counts, "studies": {"poster-pair": {"sample/claim 2": 3.69e-14}}},
    )
    return reports
