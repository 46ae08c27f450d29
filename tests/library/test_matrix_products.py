"""Products sent to another library are as exact, and the setting ends with them."""

import multiprocessing
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from hessian_spectra import matrix_products
from hessian_spectra.matrix_products import _THROUGH_ONEDNN, fastest_products, full_precision


def precision():
    return torch.backends.mkldnn.matmul.fp32_precision


@pytest.mark.parametrize(("rows", "inner", "columns"), [(10, 100, 128), (128, 10, 100), (1, 9, 1)])
def test_products_keep_the_precision_of_float32(rows, inner, columns):
    draws = torch.Generator().manual_seed(0)
    left = torch.randn(5, rows, inner, generator=draws)
    right = torch.randn(5, inner, columns, generator=draws)
    with fastest_products():
        actual = left @ right
    exact = left.double() @ right.double()
    # A hundred roundings of 6e-8 at worst; bfloat16 would be off by 1e-3.
    assert (actual - exact).norm() / exact.norm() < 1e-6


def test_the_setting_is_as_before_afterwards():
    before = precision()
    with fastest_products():
        pass
    assert precision() == before
    with pytest.raises(KeyError), fastest_products():
        raise KeyError
    assert precision() == before


@pytest.mark.parametrize("blocks", [full_precision, _THROUGH_ONEDNN])
def test_what_two_threads_set_is_taken_back_by_the_last(blocks):
    before = precision()
    first, second = blocks(), blocks()
    first.__enter__()
    inside = precision()
    second.__enter__()
    first.__exit__(None, None, None)
    assert precision() == inside
    second.__exit__(None, None, None)
    assert precision() == before


def test_an_interrupt_as_a_setting_is_taken_back_does_not_leave_it(monkeypatch):
    before, interrupts, restore = settings(), [KeyboardInterrupt], full_precision._restore

    def interrupted(*read):
        for interrupt in interrupts:
            interrupts.clear()
            raise interrupt
        restore(*read)

    monkeypatch.setattr(full_precision, "_restore", interrupted)
    with pytest.raises(KeyboardInterrupt), full_precision():
        pass
    assert settings() == before
    assert not full_precision.used


def test_a_block_asks_torch_for_little(monkeypatch):
    """It took as long as asking torch 24 times; a product with a small network takes 350."""
    asked, inner = [], matrix_products._precision
    monkeypatch.setattr(matrix_products, "_precision", lambda *of: asked.append(of) or inner(*of))
    with full_precision():
        pass
    assert len(asked) <= 18


def settings():
    """All that torch says of the precision of products, where it is not at odds with itself."""

    def answer(getter):
        try:
            return getter()
        except RuntimeError as error:
            return str(error)

    backends = torch.backends
    return [
        answer(getter)
        for getter in (
            lambda: backends.cudnn.allow_tf32,
            lambda: backends.cuda.matmul.allow_tf32,
            torch.get_float32_matmul_precision,
            *(
                lambda of=of: of.fp32_precision
                for of in (backends, backends.cudnn, backends.cuda.matmul, backends.mkldnn.matmul)
            ),
            *(lambda of=of: matrix_products._precision(*of) for of in matrix_products._OPERATIONS),
        )
    ]


def mixed():
    torch.backends.cudnn.conv.fp32_precision = "ieee"
    torch.backends.cuda.matmul.fp32_precision = "tf32"


CHOICES = {
    "default": lambda: None,
    "high": lambda: torch.set_float32_matmul_precision("high"),
    "medium": lambda: torch.set_float32_matmul_precision("medium"),
    "convolutions off": lambda: setattr(torch.backends.cudnn, "allow_tf32", False),
    "everything": lambda: setattr(torch.backends, "fp32_precision", "tf32"),
    "mixed": mixed,
}


def check(choice):
    """In a process of its own, since what is chosen stays."""
    CHOICES[choice]()
    before = settings()
    with full_precision():
        within = settings()
        with full_precision():
            assert settings() == within
        assert settings() == within
    assert not {"tf32", "bf16"} & {*map(str, within[5:])}, within
    assert settings() == before, (before, settings())


def check_each():
    fork = multiprocessing.get_context("fork")
    processes = {choice: fork.Process(target=check, args=(choice,)) for choice in CHOICES}
    for process in processes.values():
        process.start()
        process.join()
    assert {choice: process.exitcode for choice, process in processes.items()} == dict.fromkeys(
        CHOICES, 0
    )


def test_no_digits_are_lost_within_and_the_choice_is_as_before():
    code = "from library.test_matrix_products import check_each; check_each()"
    folder = Path(__file__).parents[1]
    subprocess.run([sys.executable, "-c", code], check=True, cwd=folder)


def test_nothing_is_set_where_precision_would_be_lost(monkeypatch):
    monkeypatch.setattr(matrix_products, "_single_precision", lambda: False)
    before = precision()
    with fastest_products():
        assert precision() == before
