"""Forecasts of trainings of language models: their arithmetic, their words, and what is tried."""

from types import SimpleNamespace

import pytest
import torch

from hessian_papers.models.gpt2 import gpt2
from hessian_papers.networks import gpt2 as networks
from hessian_papers.networks.tools import dry_run, memory
from hessian_papers.networks.tools.dry_run import Cost, Forecast, Pieces
from tests.papers.networks.small_gpt2 import VOCABULARY, config

SMALLER = "networks.my.batch_size=3 networks.my.accumulation=4"
CPU = torch.device("cpu")
PLAN = SimpleNamespace(steps=100, batch_size=6, accumulation=2, measured_at=range(4), sequences=5)
# A vector as long as θ takes 4000 bytes.
PIECES = Pieces(
    parameters=1000,
    gradient=Cost(2.0, 14_000),
    graphs={"hessian": Cost(3.0, 20_000), "ggn": Cost(4.0, 22_000)},
    products={"hessian": Cost(5.0, 30_000), "ggn": Cost(6.0, 25_000)},
)


def test_where_all_sequences_fit_each_search_has_one_graph():
    actual = dry_run.extrapolated(PLAN, PIECES, free=10**6, limit=4 * 4000 + 5 * 30_000)
    # 30 products at first and 10 at each of the three measurements that follow.
    assert actual == Forecast(
        seconds={"updates": 100 * 12 * 2.0, "measurements": 5 * (4 * (3 + 4) + 60 * (5 + 6))},
        memory={
            "updates": 7 * 4000 + 6 * 10_000,
            "measurements": (7 + 30 + 4) * 4000 + 5 * 30_000,
        },
        products=60,
        together=5,
        micro_batch=12,
    )


def test_where_they_do_not_each_product_makes_the_graphs_anew():
    actual = dry_run.extrapolated(PLAN, PIECES, free=28_000 + 35_000, limit=4 * 4000 + 149_999)
    assert actual.together == 4
    assert actual.seconds["measurements"] == 5 * 60 * (3 + 4 + 5 + 6)
    assert actual.memory["measurements"] == 41 * 4000 + 4 * 30_000
    # The divisors of twelve: an update of three at once fits, and none of four.
    assert actual.micro_batch == 3
    assert dry_run.extrapolated(PLAN, PIECES, free=28_000, limit=1).micro_batch == 0


def said(free, workers=2, **changes):
    known = {"seconds": {"updates": 7200.0, "measurements": 3600.0}, "products": 60, "together": 5}
    known |= {"memory": {"updates": 4 * 10**9, "measurements": 3 * 10**9}, "micro_batch": 3}
    forecast = Forecast(**known | changes)
    call = {"seeds": 3, "workers": workers, "free": free}
    return dry_run.conclusion(
        "networks.my", PLAN, {"attention": forecast, "no attention": forecast}, **call
    )


def test_the_conclusion_names_the_largest_part():
    assert said(8 * 10**9) == [
        "6 trainings, 2 at once: 9 h, 8 GB of 8 GB that are free",
        "largest part: updates, 67% of the time; of the memory: updates",
        "it fits",
    ]


@pytest.mark.parametrize(
    ("call", "last"),
    [
        ({"free": 7 * 10**9}, "it does not fit: set launcher.workers=1"),
        ({"free": 35 * 10**8, "workers": 1}, f"it does not fit: set {SMALLER}"),
        (
            {"free": 35 * 10**8},
            f"it does not fit: set {SMALLER} launcher.workers=1",
        ),
        ({"free": 10**9}, "it does not fit: take a device with 3 GB or more"),
        (
            {"free": 35 * 10**8, "micro_batch": 0},
            "it does not fit: take a device with 4 GB or more",
        ),
    ],
)
def test_what_does_not_fit_is_said_with_what_to_change(call, last):
    assert said(**call)[-1] == last


def test_the_pieces_are_those_of_the_network():
    model = gpt2(config().shape("attention", VOCABULARY), 0)
    before = [parameter.clone() for parameter in model.parameters()]
    pieces = dry_run.pieces_of(model, torch.zeros(1, 7, dtype=torch.int64), reduced=True)
    vector = 4 * sum(parameter.numel() for parameter in before)
    assert all(map(torch.equal, before, model.parameters()))
    assert all(parameter.grad is None for parameter in model.parameters())
    assert 4 * pieces.parameters == vector < pieces.gradient.memory
    for name, product in pieces.products.items():
        assert 0 < pieces.graphs[name].memory < product.memory
        assert pieces.graphs[name].seconds > 0 < product.seconds


def test_a_forecast_tries_no_further_variant_when_time_is_over(monkeypatch):
    tried = []

    def pieces_of(model, sequence, *, reduced):
        tried.append(tuple(sequence.shape))
        return PIECES

    def said():
        return networks.forecast(config(), name="gpt2", vocabulary=VOCABULARY, workers=1)

    monkeypatch.setattr(networks, "pieces_of", pieces_of)
    text = said()
    assert tried == [(1, 7), (1, 7)]
    what = "1,000 weights, 50 products with each matrix, sequences of a product: 2"
    assert f"no attention: {what}" in text
    assert "4 trainings, 1 at once: " in text
    monkeypatch.setattr(networks, "LONGEST_TRIAL", 0.0)
    assert f"no attention (not tried, taken as attention): {what}" in said()
    assert len(tried) == 3


def test_a_limit_is_what_the_setting_says_or_most_of_what_is_free(monkeypatch):
    monkeypatch.setattr(memory, "free_memory", lambda device: 1000)
    assert memory.product_memory(None, CPU) == 800
    assert memory.product_memory(None, CPU, operators=2) == 400
    assert memory.product_memory(2, CPU, operators=2) == 2 << 20


def test_processes_of_torchrun_share_what_is_free(monkeypatch):
    known = SimpleNamespace(available=9000)
    monkeypatch.setattr(memory.psutil, "virtual_memory", lambda: known)
    assert memory.free_memory(CPU) == 9000
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "3")
    assert memory.free_memory(CPU) == 3000
