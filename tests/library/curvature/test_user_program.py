"""The program around is left as it is: loaders, random numbers, modes, and after Ctrl-C too."""

import gc
import random
import sys
from contextlib import suppress
from threading import Barrier, BrokenBarrierError, Event, Thread
from types import FrameType
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from hessian_spectra import curvature as cv
from hessian_spectra.curvature.undisturbed import interrupt_behind, undisturbed, users_code

from .cases import Attention, X, Y, cases, mlp, normal
from .states import of_program


class Augmented(TensorDataset):
    """Draws from global generators, as augmentations do, of which the samples stay the same."""

    def __getitem__(self, index: int) -> Any:
        np.random.rand()  # noqa: NPY002 -- as in the user's code
        torch.rand(1)
        return super().__getitem__(index)


LOADERS = {
    "shuffled": lambda generator: DataLoader(Augmented(X, Y), 2, shuffle=True),
    "with a generator": lambda generator: DataLoader(
        Augmented(X, Y), 2, shuffle=True, generator=generator
    ),
    "with workers": lambda generator: DataLoader(
        Augmented(X, Y), 4, shuffle=True, num_workers=1, generator=generator
    ),
    "with workers that stay": lambda generator: DataLoader(
        Augmented(X, Y), 4, shuffle=True, num_workers=1, persistent_workers=True
    ),
}


def trained(loader: DataLoader, *, track: bool) -> list[torch.Tensor]:
    """The parameters after two epochs over a loader, with or without a tracker on it."""
    torch.manual_seed(0)
    model = mlp().double()
    optimiser = torch.optim.SGD(model.parameters(), 0.1)
    tracker = cv.SharpnessTracker(model, nn.MSELoss(), loader, every=3) if track else None
    step = 0
    for _ in range(2):
        for x, y in loader:
            optimiser.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            optimiser.step()
            if tracker is not None:
                tracker.step(step)
            step += 1
    return [parameter.detach() for parameter in model.parameters()]


@pytest.mark.parametrize("kind", LOADERS)
def test_a_tracker_on_the_training_loader_leaves_the_training_as_it_is(kind):
    alone, tracked = (
        trained(LOADERS[kind](torch.Generator().manual_seed(1)), track=track)
        for track in (False, True)
    )
    assert all(map(torch.equal, alone, tracked))


@pytest.mark.parametrize("kind", LOADERS)
def test_no_generator_is_drawn_from(kind):
    generator = torch.Generator().manual_seed(1)
    loader = LOADERS[kind](generator)
    model = mlp().double()
    before = of_program(generator)
    at = cv.Problem(model, nn.MSELoss(), loader)
    at.value(), at.gradient(), cv.hessian(at) @ normal(at.size)
    cv.loss_along(at, normal(at.size), [0.1])
    assert of_program(generator) == before


@pytest.mark.parametrize("threads", [1, 2])
def test_pythons_numbers_are_given_back(threads, monkeypatch):
    monkeypatch.setattr("threading.active_count", lambda: threads)
    # The checks of types, which tests alone have, draw from them, too.
    before = random.getstate()
    guard = undisturbed()
    guard.__enter__()
    before = before if threads == 1 else random.getstate()
    with users_code(torch.device("cpu"), foreign=True):
        random.random()
        assert random.getstate() != before
    if threads == 2:
        assert random.getstate() == before
    guard.__exit__(None, None, None)
    assert threads == 2 or random.getstate() == before


def test_gradient_mode_is_that_of_before_also_where_it_is_off():
    at = cv.Problem(mlp().double(), nn.MSELoss(), [(X, Y)])
    expected = cv.dense_matrix(cv.hessian(at))
    with torch.no_grad():
        before = of_program()
        assert torch.equal(cv.dense_matrix(cv.hessian(at)), expected)
        assert of_program() == before


class Beside(nn.Module):
    """Another thread draws a number in each forward and each backward pass of the identity."""

    def __init__(self, drawn: list[float], own: bool) -> None:
        super().__init__()
        self.drawn, self.own = drawn, own

    def __deepcopy__(self, memo: Any) -> "Beside":
        return Beside(self.drawn, self.own)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.draw()
        if self.own:
            x = x + 1e-9 * torch.rand(()) * x.detach()
        x = 1 * x
        if x.requires_grad:
            x.register_hook(lambda gradient: self.draw())
        return x

    def draw(self) -> None:
        thread = Thread(target=lambda: self.drawn.append(float(torch.rand(()))))
        thread.start()
        thread.join()


@pytest.fixture
def another_thread():
    """A thread that is there all the time."""
    end = Event()
    thread = Thread(target=end.wait)
    thread.start()
    yield
    end.set()
    thread.join()


def measured(model: nn.Module, data: Any) -> None:
    at = cv.Problem(model, nn.MSELoss(), data)
    at.value(), at.gradient(), cv.hessian(at) @ normal(at.size)
    cv.SharpnessTracker(model, nn.MSELoss(), data).step(0)
    cv.loss_along(at, normal(at.size), [0.1])


@pytest.mark.parametrize(
    "data",
    [[(X, Y)], [(X[:3], Y[:3]), (X[3:], Y[3:])], DataLoader(TensorDataset(X, Y), 4, shuffle=True)],
    ids=["one batch", "two", "shuffled"],
)
def test_another_thread_draws_what_it_would_alone(data, another_thread):
    drawn: list[float] = []
    model = nn.Sequential(nn.Linear(3, 4), Beside(drawn, own=False), nn.Linear(4, 3)).double()
    torch.manual_seed(0)
    measured(model, data)
    torch.manual_seed(0)
    assert len(drawn) > 20
    assert drawn == [float(torch.rand(())) for _ in drawn]


def test_what_the_model_draws_is_given_back_beside_another_thread(another_thread):
    model = nn.Sequential(nn.Linear(3, 4), nn.Dropout(), nn.Linear(4, 3)).double()
    at = cv.Problem(model, nn.MSELoss(), [(X, Y)])
    before = of_program()
    assert at.value() == at.value()
    with pytest.raises(cv.OperatorError, match="two passes over the data"):
        cv.hessian(at)
    cv.hessian(at, check=False)
    assert of_program() == before
    with pytest.raises(ValueError, match="another each time"):
        cv.Problem(model, nn.L1Loss(), [(X[:3], Y[:3]), (X[3:], Y[3:])])


class Meeting(Attention):
    """Waits within the forward pass until as many threads are there, if others still come."""

    def __init__(self, barrier: Barrier) -> None:
        super().__init__()
        self.barrier = barrier

    def __deepcopy__(self, memo: Any) -> "Meeting":
        twin = Meeting(self.barrier).double()
        twin.load_state_dict(self.state_dict())
        return twin

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        with suppress(BrokenBarrierError):
            self.barrier.wait(5)
        return super().forward(tokens)


def test_threads_that_measure_at_once_leave_the_kernels_of_attention_as_they_were():
    """The first to begin is the first to end, while the other is within its own."""
    before = of_program()[3:6]
    barrier, case = Barrier(2), cases["attention"]
    at = cv.Problem(Meeting(barrier).double(), case.loss, case.data[:1])
    threads = [Thread(target=at.value) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert of_program()[3:6] == before == [True, True, True]


class Interrupting:
    """Ctrl-C at some line that Python runs: counts lines, and raises at one of them.

    Not at those of beartype, which these tests alone have: the lock of its cache stays closed after
    an interrupt at the end of its block, and the next call would wait for ever.

    Args:
        last: the number of the line to raise at; none by default.
        module: where these lines are; everywhere by default.
    """

    def __init__(self, last: int = 0, module: str = "") -> None:
        self.count, self.last, self.module = 0, last, module

    def __call__(self, frame: FrameType, event: str, value: Any) -> "Interrupting | None":
        """Called by the interpreter before each line."""
        name = frame.f_globals.get("__name__", "")
        if name.startswith("beartype."):
            return None
        if event != "line" or not name.startswith(self.module):
            return self
        self.count += 1
        if self.count == self.last:
            sys.settrace(None)
            raise KeyboardInterrupt
        return self


def users_own() -> tuple[nn.Module, DataLoader]:
    """A model and its data; torch leaves gradients off where it is interrupted in making them."""
    model = nn.Sequential(nn.Linear(3, 2), nn.GELU(), nn.LayerNorm(2), nn.Linear(2, 2)).double()
    return model, DataLoader(TensorDataset(X[:4], Y[:4, :2]), batch_size=2, shuffle=True)


def everything(model: nn.Module, loader: DataLoader) -> None:
    at = cv.Problem(model, nn.MSELoss(), loader)
    cv.hessian(at) @ normal(at.size)
    cv.ggn(at, check=False), at.gradient()


def traced(tracer: Interrupting) -> int:
    """The number of lines that ran, to the end or to the interrupt."""
    outer, own = sys.gettrace(), users_own()
    sys.settrace(tracer)
    try:
        everything(*own)
    finally:
        sys.settrace(outer)
    return tracer.count


# Python reports those that fall to a finaliser, and goes on.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(("module", "count"), [("", 50), ("contextlib", 12)])
def test_after_an_interrupt_at_any_line_all_is_as_before(module, count):
    """Also when the blocks that it left half-way are freed: they restore nothing later."""
    # What is imported late is imported now.
    everything(*users_own())
    lines = traced(Interrupting(module=module))
    interrupted, before = 0, of_program()[:7]
    for line in random.Random(0).sample(range(1, lines), count):
        try:
            traced(Interrupting(line, module))
        except KeyboardInterrupt:
            interrupted += 1
        gc.collect()
        assert of_program()[:7] == before
    # A finaliser swallows those that fall to it.
    assert interrupted >= 0.9 * count


def test_an_interrupt_is_found_behind_the_error_that_it_caused():
    def broken() -> None:
        try:
            raise KeyboardInterrupt
        finally:
            raise RuntimeError("half-way")

    with pytest.raises(RuntimeError) as caught:
        broken()
    assert isinstance(interrupt_behind(caught.value), KeyboardInterrupt)
    assert interrupt_behind(ValueError()) is None
