"""The table of right, refused and wrong: its truth is true, and the pages show what it gives."""

import re
from pathlib import Path

import pytest
import torch

from benchmarks import correctness, trials, verdicts
from benchmarks.trial import leaves, perceptron, truth, truth_by_differences
from hessian_spectra import curvature as cv

ROOT = Path(__file__).resolve().parents[2]
QUICK = [name for name in trials.TRIALS if name not in correctness.SLOW]

pytestmark = [
    # Of ours, that it uses torch's own derivatives.
    pytest.mark.filterwarnings("ignore:model. the fast second derivatives"),
    # Of the other libraries' imports and operations.
    pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:FutureWarning"),
    pytest.mark.filterwarnings("ignore:Using backward.. with create_graph=True:UserWarning"),
    pytest.mark.filterwarnings("ignore:Full backward hook:UserWarning"),
]


@pytest.fixture(scope="module")
def outcomes():
    return {
        (name, library): verdicts.outcome(name, library)
        for name in QUICK
        for library in verdicts.LIBRARIES
    }


def rows(text):
    """The cells of the markdown table whose columns are the libraries."""
    (table,) = re.findall(r"^\| network +\| ours .*(?:\n\|.*)*", text, re.MULTILINE)
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.split("\n")]
    return {line[0]: line[1:] for line in lines}


def words(cell):
    """A verdict without numbers and reasons."""
    return re.match(r"not offered|right|refused|raises|wrong", cell.replace("*", "").lower())[0]


@pytest.mark.parametrize("name", QUICK)
def test_the_truth_agrees_with_differences_of_the_plain_loss(name):
    trial = trials.make(name)
    size = sum(parameter.numel() for parameter in trial.model.parameters())
    vector = torch.randn(size, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    if trial.matrix == "hessian":
        expected = truth_by_differences(trial, vector)
        torch.testing.assert_close(truth(trial, vector), expected, rtol=1e-5, atol=1e-7)
    else:
        model = perceptron()
        model.load_state_dict(trial.model.state_dict())
        other = cv.ggn(cv.Problem(model, torch.nn.CrossEntropyLoss(), trial.data))
        torch.testing.assert_close(truth(trial, vector), other @ vector)


@pytest.mark.parametrize("name", QUICK)
def test_the_plain_loss_is_that_of_the_network(name):
    trial = trials.make(name)
    # Of all batches as one; dropout is judged by what it is in eval mode.
    inputs, targets = (torch.cat(parts) for parts in zip(*trial.data, strict=True))
    value = trial.loss(trial.model.eval()(inputs), targets).double()
    error = 2e-3 if name == "autocast inside the model" else 1e-12
    torch.testing.assert_close(value, trial.plain(leaves(trial)), rtol=error, atol=error)


def test_ours_is_never_wrong_and_leaves_all_as_it_was(outcomes):
    own = [outcome for (_, library), outcome in outcomes.items() if library == "ours"]
    assert {outcome.verdict for outcome in own} <= {"right", "refused:"}
    assert not [outcome.changed for outcome in own if outcome.changed]


@pytest.mark.parametrize("document", ["docs/guides/peers.md", "benchmarks/README.md"])
def test_the_documents_show_these_verdicts(outcomes, document):
    shown = rows((ROOT / document).read_text())
    actual = rows(correctness.table(outcomes, short=document.startswith("docs")))
    assert list(shown) == [*list(actual)[:2], *trials.TRIALS, list(actual)[-1]]
    for name in QUICK:
        assert list(map(words, shown[name])) == list(map(words, actual[name])), name
    assert shown["the user's model afterwards"] == actual["the user's model afterwards"]


def test_a_language_model_in_float64_is_right_although_its_loss_is_in_float32():
    """Differences of its gradient then hold four digits, which the self-check must know."""
    assert verdicts.outcome("Hugging Face GPT-2", "ours").verdict == "right"


def test_a_wrong_product_is_called_wrong():
    right = [torch.ones(2)]
    assert verdicts.judged(right, right, 1e-8) == ("right", "(0e+00)")
    assert verdicts.judged([torch.tensor([1.0, 0.0])], right, 1e-8) == ("WRONG", "71 %")
    assert verdicts.judged([torch.tensor([1.0, torch.nan])], right, 1e-8) == ("WRONG", "not finite")


def test_what_is_changed_is_seen():
    trial = trials.make("MLP")
    before = verdicts.state(trial)
    assert verdicts.changes(before, verdicts.state(trial)) == ()
    trial.model.eval()
    trial.model[0].weight = torch.nn.Parameter(trial.model[0].weight + 1)
    torch.rand(1)
    expected = {
        "set to `eval()`",
        "parameters replaced",
        "values changed",
        "random numbers drawn",
    }
    assert set(verdicts.changes(before, verdicts.state(trial))) == expected
