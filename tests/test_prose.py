"""Texts for readers have sentences of at most 25 words, and none that reads as translated."""

import re
from pathlib import Path

import pytest

from pipelines.yaml_files import read_yaml
from tests.prose import (
    LONGEST_SENTENCE,
    configured,
    count_words,
    guides,
    long_captions,
    sentences,
    stated,
    written,
)

WORDS = read_yaml(Path(__file__).with_name("prose.yaml"))


def too_long(text: str) -> list[str]:
    """The sentences of a text with too many words, and how many they have."""
    counts = {sentence: count_words(sentence) for sentence in sentences(text)}
    return [f"{n} words: {line}" for line, n in counts.items() if n > LONGEST_SENTENCE]


def refused(text: str) -> list[str]:
    """The words of the list that a text has, and what to write instead."""
    line = " ".join(text.split())
    matches = {bad: re.search(rf"\b(?:{bad})\b", line, re.IGNORECASE) for bad in WORDS}
    return [
        f"{match[0]!r}, write {WORDS[bad]!r}: {line[max(match.start() - 40, 0) : match.end() + 40]}"
        for bad, match in matches.items()
        if match
    ]


def wrong(text: str) -> list[str]:
    return too_long(text) + refused(text)


LONG = " ".join(["Word", *["word"] * (LONGEST_SENTENCE - 1)])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{LONG}.", 0),
        (f"{LONG} more.", 1),
        (f"{LONG}. {LONG}.", 0),
        (f"{LONG}. A {LONG}.", 1),
        (f"{LONG}; {LONG}.", 0),
        (f"{LONG}: {LONG.lower()}.", 1),
        (f"{LONG}: A row.", 0),
        (f"{LONG}\n\n{LONG}", 0),
        (f"{LONG} Statistic: {LONG}.", 0),
        (f"{LONG[5:]} $a + b + c$.", 0),
        (f"{LONG[5:]} `a b c`.", 0),
        (f"{LONG[5:]} {{study of a b c}}.", 0),
        (f"{LONG} by eq. (7).", 1),
    ],
)
def test_a_long_sentence_is_found(text, expected):
    assert len(too_long(text)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "relative to the start, less 1, of the network",
        "One less the overlap.",
        "networks of those\nof which training does not diverge",
        "the same of networks",
        "what is left of the loss",
        "from the step on at which the edge is reached",
        "unbalanced at the start",
        "all along training",
        "the network that is drawn",
        "Weights drawn independently.",
        "Softmax makes for the gap.",
        "what the labels ask for",
        "fraction of draws for which it is so",
        "in the place of S",
        "small beside the largest",
        "Today’s run decides.",
    ],
)
def test_a_word_of_the_list_is_found(text):
    assert refused(text)


@pytest.mark.parametrize(
    "text", ["no less than one", "regardless 1", "At the starting point.", "less the more layers"]
)
def test_a_word_that_only_looks_like_one_is_none(text):
    assert refused(text) == []


def test_a_long_caption_is_found_and_its_lead_counts():
    caption = " ".join(["word"] * 58)
    assert long_captions("A lead.", [caption, f"{caption} and more"]) == []
    assert len(long_captions("A longer lead.", [caption, caption])) == 1
    assert len(long_captions("", [caption, f"{caption} and $a$ more"])) == 1


def test_what_is_code_table_or_generated_is_no_prose(tmp_path):
    file = tmp_path / "page.md"
    file.write_text(
        "# Head\nA [link](to/it.md) here.\n- item\n- item\n\n| a | table |\n\n"
        "```python\ncode\n```\n<!-- made of x -->\n1. made\n<!-- end of x -->\nEnd.\n",
        "utf-8",
    )
    assert sentences(written(file)) == ["# Head", "A link here.", "- item", "- item", "End."]


@pytest.mark.parametrize("texts", [stated, configured], ids=lambda texts: texts.__name__)
def test_statements_and_settings_read_well(texts):
    assert sorted({problem for text in texts() for problem in wrong(text or "")}) == []


@pytest.mark.parametrize("file", guides())
def test_the_guides_read_well(file):
    assert wrong(guides()[file]) == []
