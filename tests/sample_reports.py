"""A folder like `reports/` with made-up figures and claims, for tests of what shows them."""

import numpy as np
import xarray as xr

from hessian_papers import labelled
from hessian_papers.drawing.save import save
from hessian_papers.ledger.record import StatementRecord
from hessian_papers.ledger.verdicts import BOOKS, QUANTIFIERS, VERDICTS
from hessian_papers.results import Provenance, folder_of
from hessian_spectra.files import write_json
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

PACKAGE = "hessian_papers.studies.samples.sample"
# What today's runs were made on, and of what one of them.
VERSIONS = {"versions": {"numpy": "2.0.made-up", "python": "3.11.made-up"}}
FILES = {"files": {"made-up/leaves.npz": "c0ffee" * 10}}
# The study that has a recorded run, its facts, and what either run departs in from the paper.
RECORDED = "cracking-fig7"
FACTS = {
    "scale": "paper",
    "commit": "abc",
    "date": "2026-11-20",
    "ensemble": {"kind": "multilayer", "networks": 3, "teachers": 2},
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

# A sentence that stands over a figure: today's run of the study has a case that holds, and its
# recorded one as well; and one over a figure whose statement does not hold.
LEADS = {
    RECORDED: {"sentence": "Made-up lead with σ² ≤ 4.", "rests_on": ["sample-5"]},
    "closed2024-fig1": {"sentence": "This is not so.", "rests_on": ["sample-18"]},
}

# Text that would break a page or a script that does not escape it.
AWKWARD = "a < b && \"c\" > 'd' </script><img src=x onerror=alert(1)> $‖w‖^2$"


def config(study):
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


def arrays(study, scale="demo"):
    """Made-up arrays, other ones for each study and scale."""
    phase = len(study) + ord(study[-1]) + (0.5 if scale == "paper" else 0)
    x = np.linspace(0, 4, 40)
    return {"x": x, "outlier": np.sin(x + phase), "names": np.array(["a", "b"])}


def case(number, study, outcome="holds", **changes):
    """One made-up case of a statement."""
    measured = None if outcome == "not measured" else 1.23e-14 * (number + 1)
    fields: dict[str, object] = {
        "id": f"{study or 'sample'}/case {number}",
        "labels": {"time": f"time {number}"},
        "sentence": "",
        "printed": None,
        "place": f"Theorem {number}",
        "study": study,
        "digest": "0123456789ab" if study else None,
        "test": "tests/sample_reports.py" if study else None,
        "expected": None if measured is None else 0.0,
        "relation": "<=",
        "tolerance": 1e-10,
        "source": "made up",
        "word": "",
        "reason": "round-off",
        "measured": measured,
        "interval": [-0.00296, 0.00403] if number % 4 == 3 and measured is not None else None,
        "outcome": outcome,
        "printed_error": None,
        "explanation": "" if study else "It takes a longer run.",
        "scale": "demo" if study else None,
        "recorded": False,
        "departs": DEPARTS["demo"] if study == RECORDED else {},
        "seconds": None,
        "beside": None,
    }
    return fields | changes


def on_both_runs(number, outcomes, decides):
    """A made-up case of the study with two runs.

    Args:
        number: of the case.
        outcomes: on today's run and on the recorded one.
        decides: the scale of the run that decides.
    """
    today = case(number, RECORDED, outcomes[0])
    at_paper = {"scale": "paper", "recorded": True, "departs": DEPARTS["paper"]}
    recorded = case(number, RECORDED, outcomes[1], measured=0.5 + number, **at_paper)
    first, second = (recorded, today) if decides == "paper" else (today, recorded)
    return first | {"beside": second}


def statement(number, verdict, cases, **changes):
    """One made-up statement of the ledger."""
    study = cases[0]["study"]
    fields: dict[str, object] = {
        "id": f"sample-{number}",
        "places": {STUDIES[study][0] if study else "singh2026cracking": f"Theorem {number}"},
        "sentence": f"Made-up statement number {number}: $λ_1 ≥ ‖w‖^2$ for every width.",
        "statistic": "largest error",
        "quantifier": QUANTIFIERS[number % len(QUANTIFIERS)],
        "book": BOOKS[number % len(BOOKS)],
        "identity": number % 4 == 0,
        "state": "any weights",
        "assumes": "none but its sentence's",
        "surrogate": False,
        "verdict": verdict,
        "pooled": 0.25 if number % 5 == 2 else None,
        "pooled_interval": [0.125, 0.375] if number % 5 == 2 else None,
        "printed": None,
        "cases": cases,
    }
    return fields | changes


def record(number, verdict, cases, **changes):
    """One made-up statement as it is read."""
    return StatementRecord.of(statement(number, verdict, cases, **changes), "made up", "nothing")


# What the only case of a statement with some verdict says.
_OUTCOMES = {"differs": "fails", "open": "open", "depends": "fails", "in part": "open"}


def statements():
    """A made-up ledger of 36 statements, in which every verdict, quantifier and book occurs."""
    studies: list[str | None] = [*STUDIES, None]
    entries = []
    for number in range(36):
        study = studies[number % len(studies)]
        verdict = VERDICTS[(number // 4) % 7] if study else "not tested"
        outcome = _OUTCOMES.get(verdict, "holds") if study else "not measured"
        erratum = verdict == "corrected"
        only = case(number, study, outcome, printed_error=0.25 * number if erratum else None)
        text = f"Printed form {number}" if erratum else None
        entries.append(statement(number, verdict, [only], printed=text))
    entries[0]["sentence"] = AWKWARD
    # Two papers state it.
    entries[3]["places"] = {"singh2024closed": "Theorem 1", "singh2026cracking": "Theorem 3.1"}
    both = {
        5: ("holds", "holds", "paper"),
        14: ("holds", "fails", "paper"),
        23: ("fails", "open", "paper"),
        32: ("open", "open", "demo"),
    }
    for number, (today, recorded, decides) in both.items():
        entries[number]["cases"] = [
            on_both_runs(number, (today, recorded), decides),
            case(number + 100, RECORDED),
        ]
    return entries


def _save(study, scale, reports):
    """Draw one run of a study, and save the figure."""
    values, recorded = arrays(study, scale), scale == "paper"
    figure, axes = style.panels(height=2.6)
    axes.plot(values["x"], values["outlier"], label=f"{study}, {scale}", **style.EXACT)
    axes.set(xlabel="made-up x", ylabel="made-up y")
    axes.legend()
    caption = f"Made-up curve for a test, in place of {study}, with 40 points at $σ^2 ≤ 4$."
    provenance = Provenance(
        study=study,
        config=config(study),
        scale=scale,
        recorded=recorded,
        departs=DEPARTS[scale] if study == RECORDED else {},
        facts=FACTS if recorded else VERSIONS | (FILES if study == "poster-pair" else {}),
        arrays={"data.nc" if recorded else "numerics.nc": "0" * 64},
    )
    controls = None
    if study == RECORDED:
        second, axes = style.panels()
        axes.plot(values["x"], values["x"] ** 2)
        controls = second, f"Made-up errors of {study}."
    save(figure, caption, provenance, PACKAGE, reports / "figures", controls)


def _write(path, values):
    rows = {name: (f"row of {name}", array) for name, array in values.items()}
    labelled.write(path, xr.Dataset(rows))


def write(root):
    """Write `reports/` and `results/` below `root`.

    Returns:
        The folder `reports/`.
    """
    reports, results = root / "reports", root / "results"
    for study in STUDIES:
        values = arrays(study)
        _save(study, "demo", reports)
        folder = folder_of(results, config(study)["paper"], study)
        _write(folder / "numerics.nc", values)
        if study != "cracking-fig9":
            _write(folder / "closed_form.nc", {"outlier": values["outlier"]})
    _save(RECORDED, "paper", reports)
    evidence = reports / "evidence" / RECORDED
    _write(evidence / labelled.WHOLE, arrays(RECORDED, "paper"))
    write_json(evidence / "facts.json", FACTS)
    entries = statements()
    write_json(reports / "claims.json", entries)
    counts = {v: sum(entry["verdict"] == v for entry in entries) for v in VERDICTS}
    write_json(
        reports / "metrics.json",
        {"verdicts": counts, "digits": {"poster-pair": 12}},
    )
    return reports
