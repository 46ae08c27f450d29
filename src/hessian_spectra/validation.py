"""The refusal in one line of a bad value or operator, or of a package that is absent."""

import difflib
import importlib
import math
from collections.abc import Callable, Iterable, Sequence
from numbers import Integral
from types import ModuleType
from typing import Any

# Eigenvalues are products of a few of such numbers and differences of these products: beyond, they
# leave float64's range or are lost in the rounding of larger ones.
SMALLEST_SCALE, LARGEST_SCALE = 1e-6, 1e6
# So many names a message lists at most.
LISTED = 8


class OperatorError(RuntimeError):
    """A curvature operator that does not multiply by the matrix it stands for."""


class NotFiniteError(OperatorError):
    """A loss, a gradient or a product that is not finite: numbers overflow at these weights.

    Nothing is wrong with the operator; weights and loss may still be finite.
    """


def require(condition: bool, field: str, expected: str, value: Any) -> None:
    """Refuse a bad value of a configuration field.

    Raises:
        ValueError: ``condition`` is false; the message names the field, what was expected and
            what came.

    Example:
        >>> require(-3 > 0, "width", "at least 1", -3)
        Traceback (most recent call last):
        ValueError: width: expected at least 1, got -3
    """
    if not condition:
        got = repr(value)
        # An array would fill a page.
        got = got if len(got) <= 200 and "\n" not in got else type(value).__name__
        raise ValueError(f"{field}: expected {expected}, got {got}")


def did_you_mean(got: Any, known: Iterable[str]) -> str:
    """A question for the known name that is most like what came; empty if none is.

    Example:
        >>> did_you_mean("widht", ["seed", "width"]), did_you_mean("widht", ["seed"])
        (' (did you mean width?)', '')
    """
    nearest = difflib.get_close_matches(str(got), [*known], n=1)
    return f" (did you mean {nearest[0]}?)" if nearest else ""


def one_of(known: Iterable[str], got: Any, where: str = "") -> str:
    """The words for one of some names, as :func:`require` takes them: those most like it first.

    Args:
        known: the names, in the order in which they are listed where none is like what came.
        got: what came instead.
        where: where all of them stand, for those that are too many to list.

    Example:
        >>> one_of(["data", "kind", "seed", "width"], "widht")
        'one of width, data, kind, seed (did you mean width?)'
        >>> one_of([f"fig{number}" for number in range(80)], "none", "MAP.md")
        'one of fig0, fig1, fig2, fig3, fig4, fig5, fig6, fig7 and 72 more, see MAP.md'
    """
    names = [*known]
    near = difflib.get_close_matches(str(got), names, n=LISTED)
    text = ", ".join([*dict.fromkeys([*near, *names])][:LISTED]) or "none"
    if len(names) > LISTED:
        text += f" and {len(names) - LISTED} more{f', see {where}' if where else ''}"
    return f"one of {text}{did_you_mean(got, names)}"


def require_word(field: str, value: Any, words: Sequence[str]) -> None:
    """Refuse a word that is none of these, like `require`.

    Example:
        >>> require_word("by", "layer", ["module", "parameter"])
        Traceback (most recent call last):
        ValueError: by: expected 'module' or 'parameter', got 'layer'
    """
    *first, last = map(repr, words)
    require(value in words, field, f"{', '.join(first)} or {last}", value)


def is_count(value: Any, least: int, most: int | float = math.inf) -> bool:
    """Whether a value is a whole number within these limits.

    Example:
        >>> is_count(3, 1), is_count(2.0, 1), is_count(3, 1, 2)
        (True, False, False)
    """
    return isinstance(value, Integral) and least <= int(value) <= most


def require_length(field: str, data: Any, cure: str = "") -> None:
    """Refuse data of which it is not known whether it ends, as a stream does not.

    Args:
        field: the name of the argument.
        data: what is to be read to its end.
        cure: what else to do than to use a list.

    Raises:
        ValueError: ``len(data)`` fails.

    Example:
        >>> require_length("data", iter([1]))  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ValueError: data: expected data with a length, got list_iterator, which may be endless: ...
    """
    try:
        len(data)
    except (TypeError, NotImplementedError):
        raise ValueError(
            f"{field}: expected data with a length, got {type(data).__name__}, which may be "
            f"endless: use list({field}) if it ends{cure}"
        ) from None


def require_each(
    settings: Any, fields: Sequence[str], fits: Callable[[Any], bool], expected: str
) -> None:
    """Refuse a field of the settings whose value does not fit, like `require`."""
    for field in fields:
        value = getattr(settings, field)
        require(fits(value), field, expected, value)


def optional_import(name: str, extra: str) -> ModuleType:
    """The module of this name, from a package that only an extra of this library installs.

    Call it in the function that needs the module, so that all else works without the package.

    Args:
        name: the module, with its dots if it has any; the result is this module, not its package.
        extra: the extra that brings it, as in ``pip install "hessian-spectra[extra]"``.

    Raises:
        ModuleNotFoundError: the package is not installed; the one line says what installs it. An
            error within an installed package is raised as it is.

    Example:
        >>> optional_import("json.decoder", "figures").__name__
        'json.decoder'
        >>> optional_import("no_such_package", "figures")
        Traceback (most recent call last):
        ModuleNotFoundError: this needs no_such_package: pip install "hessian-spectra[figures]"
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        package = name.partition(".")[0]
        if error.name != package:
            raise
        message = f'this needs {package}: pip install "hessian-spectra[{extra}]"'
        raise ModuleNotFoundError(message, name=package) from None
