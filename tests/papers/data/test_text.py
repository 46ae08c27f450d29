"""Text becomes tokens that give it back, the same ones each time, or one line says why not."""

import hashlib
import json
import re
import sys
import types

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hessian_papers.data import text
from hessian_papers.data.base import OFFLINE, TEXT, Storage
from hessian_papers.data.tools import _openwebtext, tokenizer
from hessian_papers.data.tools.tokens import batch, opened

SAMPLE = (
    "It's a low, lower, the lowest of low words.\n\n  The words' 42 widths: naïve, 中文 🙂.\r\n"
)
SAMPLE = 9 * f"{SAMPLE}\n\n\n \r\n\t  \n"  # so that white space becomes tokens, too
SEPARATOR = tokenizer.SEPARATOR


def config(**changes):
    fields = {"sources": ["python-topics"], "tokenizer": "bpe", "vocabulary": 300}
    return text.Config(**{"kind": "text", "seed": 0, "validation": 0.1} | fields | changes)


def text_of(encoding, *tokens):
    """The text that some tokens stand for."""
    return encoding.decode(np.concatenate(tokens).tolist(), skip_special_tokens=False)


def save(folder, tokens, merges):
    """A vocabulary as GPT-2's is published."""
    folder.mkdir(exist_ok=True)
    (folder / "vocab.json").write_text(json.dumps({name: k for k, name in enumerate(tokens)}))
    pairs = "".join(f"{first} {second}\n" for first, second in merges)
    (folder / "merges.txt").write_text(f"#version: 0.2\n{pairs}", "utf-8")


@pytest.fixture(scope="module")
def trained():
    return tokenizer.trained(SAMPLE, 300)


@pytest.fixture(scope="module")
def published(trained):
    """The tokens and merges of an encoding, in their order, with the separator last as in GPT-2."""
    model = json.loads(trained.to_str())["model"]
    tokens = sorted(model["vocab"], key=model["vocab"].get)
    assert tokens[0] == SEPARATOR
    return [*tokens[1:], SEPARATOR], [tuple(pair) for pair in model["merges"]]


@pytest.fixture
def root(tmp_path, published):
    """A folder with a vocabulary and two texts."""
    save(tmp_path / "gpt2", *published)
    (tmp_path / "first.txt").write_bytes(SAMPLE.encode())
    (tmp_path / "second.txt").write_bytes(b"Another text of some words.\n")
    return tmp_path


def test_transformers_finds_the_same_tokens(root):
    from transformers import GPT2TokenizerFast

    peer = GPT2TokenizerFast.from_pretrained(root / "gpt2")
    sample = f"{SAMPLE}{SEPARATOR}\n{SAMPLE}"
    actual = tokenizer.encoded(tokenizer.read(root / "gpt2"), sample)
    assert actual.tolist() == peer(sample, verbose=False)["input_ids"]
    assert (actual == peer.eos_token_id).sum() == 1


def test_a_second_training_gives_the_same_tokens(trained):
    assert tokenizer.trained(SAMPLE, 300).to_str() == trained.to_str()
    first, second = text.make(config()), text.make(config())
    assert all(np.array_equal(first[name], second[name]) for name in first)


# White space of all sorts, also what only Python or only Unicode calls so, words and separators.
PARTS = st.sampled_from(
    [
        *" \n\t\x1c\x85\xa0\u2028.7²é中🙂\0",
        "\n\n\n ",
        "\r\n\t  ",
        "low",
        "er",
        "'s",
        "<|",
        SEPARATOR,
    ]
)


@given(st.lists(PARTS | st.text(max_size=3), max_size=40).map("".join))
@example("low\n\n\n \n\n\nlow")
def test_tokens_give_any_text_back_and_pieces_change_none(trained, sample):
    whole = trained.encode(sample, add_special_tokens=False).ids
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(tokenizer, "PIECE", 1)
        patched.setattr(tokenizer, "PIECES", 2)
        actual = tokenizer.encoded(trained, sample)
    assert actual.tolist() == whole
    assert text_of(trained, actual) == sample


def test_the_demo_is_the_topics_in_two_splits():
    from pydoc_data.topics import topics

    arrays = text.make(config(validation=0.2))
    whole = SEPARATOR.join(topics[name] for name in sorted(topics))
    assert arrays["digest"] == hashlib.sha256(whole.encode()).hexdigest()
    assert arrays["vocabulary"] == 300
    assert {arrays[split].dtype for split in ("train", "validation")} == {np.dtype(np.uint16)}
    # The vocabulary is that of the training split alone.
    cut = tokenizer.boundary(whole, round(0.8 * len(whole)))
    encoding = tokenizer.trained(whole[:cut], 300)
    assert text_of(encoding, arrays["train"]) == whole[:cut]
    assert text_of(encoding, arrays["validation"]) == whole[cut:]
    assert config().form.samples == TEXT
    assert config().stored == []


def test_files_are_read_as_they_are_and_separated(root):
    settings = config(sources=["first.txt", str(root / "second.txt")], tokenizer="gpt2")
    assert settings.stored == ["first.txt", "gpt2"]
    arrays = text.make(settings, Storage(root, False))
    whole = f"{SAMPLE}{SEPARATOR}Another text of some words.\n"
    encoding = tokenizer.read(root / "gpt2")
    assert text_of(encoding, arrays["train"], arrays["validation"]) == whole
    assert len(text_of(encoding, arrays["train"])) == tokenizer.boundary(
        whole, round(0.9 * len(whole))
    )
    together = np.concatenate([arrays["train"], arrays["validation"]])
    assert (together == encoding.token_to_id(SEPARATOR)).sum() == 1
    assert arrays["digest"] == hashlib.sha256(whole.encode()).hexdigest()


def test_a_vocabulary_without_a_separator_has_an_empty_line_instead(root, published):
    tokens, merges = published
    save(root / "plain", tokens[:-1], merges)
    settings = config(sources=["second.txt", "first.txt"], tokenizer="plain")
    arrays = text.make(settings, Storage(root, False))
    actual = text_of(tokenizer.read(root / "plain"), arrays["train"], arrays["validation"])
    assert actual == f"Another text of some words.\n\n\n{SAMPLE}"


def test_a_large_vocabulary_has_larger_numbers(root, published):
    tokens, merges = published
    extra = [f"<{k}>" for k in range(2**16 + 1 - len(tokens))]
    for number, kind in ((-1, np.uint16), (None, np.uint32)):
        save(root / "large", [*extra[:number], *tokens], merges)
        encoding = tokenizer.read(root / "large")
        actual = tokenizer.encoded(encoding, "low")
        assert actual.dtype == kind
        assert text_of(encoding, actual) == "low"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "is missing: expected a text in UTF-8; see data.root"),
        (b"", "expected some text, got 0 characters of white space"),
        (b" \n\n", "expected some text, got 3 characters of white space"),
        ("naïve".encode("latin-1"), "expected text in UTF-8, got the byte 0xef at 2; convert .*"),
        ("text".encode("utf-16"), "expected text in UTF-8, got the byte 0xff at 0; convert .*"),
    ],
)  # fmt: skip
def test_a_text_that_is_none_is_refused_in_one_line(root, content, message):
    path = root / "own.txt"
    if content is not None:
        path.write_bytes(content)
    settings = config(sources=["first.txt", "own.txt"])
    with pytest.raises((ValueError, FileNotFoundError), match=f"^{path}:? {message}$"):
        text.make(settings, Storage(root, False))


def test_a_text_that_cannot_be_split_is_refused(root):
    (root / "own.txt").write_bytes(b"word")
    message = r"^validation: expected a share that .* of a text of 4 characters, got 0\.1$"
    with pytest.raises(ValueError, match=message):
        text.make(config(sources=["own.txt"]), Storage(root, False))


@pytest.mark.parametrize("changes", [{"sources": ["own.txt"]}, {"tokenizer": "own.txt"}])
def test_a_relative_path_needs_a_root(changes):
    message = r"^own\.txt is relative to data\.root, which is null: add data\.root=<folder>$"
    with pytest.raises(FileNotFoundError, match=message):
        text.make(config(**changes), OFFLINE)


@pytest.mark.parametrize("name", ["vocab.json", "merges.txt"])
def test_a_missing_vocabulary_is_named(root, name):
    (root / "gpt2" / name).unlink()
    with pytest.raises(FileNotFoundError, match=rf"gpt2/{name} is missing: expected a folder with"):
        tokenizer.read(root / "gpt2")


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("vocab.json", lambda old: old[: len(old) // 2], "Error while reading BPE files: .*"),
        ("vocab.json", lambda old: b"[1]", "Error while reading BPE files: .*"),
        ("vocab.json", lambda old: old.replace(b": 7,", b": 8,"), "only one of the two has '.'"),
        ("vocab.json", lambda old: old.replace(b'"z"', b'"<z>"'), "only one of the two has 'z'"),
        ("vocab.json", lambda old: old.replace(b": 7,", b": 999,"), "the numbers are not 0 to 299"),
        ("merges.txt", lambda old: old[: old.rindex(b"\n", 0, 200)], "only one of the two has .*"),
        ("merges.txt", lambda old: old + b"l o w\n", "Error while reading BPE files: .*"),
        ("merges.txt", lambda old: old + b"z z\n", "Error .*: Token `zz` out of vocabulary"),
        ("merges.txt", lambda old: old + b"\xff a\n", "Error .* did not contain valid UTF-8"),
    ],
)
def test_a_damaged_vocabulary_is_refused_in_one_line(root, name, change, message):
    path = root / "gpt2" / name
    before = path.read_bytes()
    path.write_bytes(change(before))
    assert path.read_bytes() != before
    message = f"^{path.parent} cannot be read as vocab.json and merges.txt of one .*: {message}$"
    with pytest.raises(ValueError, match=message) as error:
        text.make(config(sources=["first.txt"], tokenizer="gpt2"), Storage(root, False))
    assert "\n" not in str(error.value)


def test_a_batch_is_of_its_seed_and_step_alone():
    tokens = np.arange(1000, dtype=np.uint16)[::-1]
    settings = {"size": 5, "length": 7, "seed": 3}
    actual = batch(tokens, step=12, **settings)
    batch(tokens, step=13, **settings)
    assert batch(tokens, step=12, **settings).equal(actual)
    assert batch(tokens.astype(np.uint32), step=12, **settings).equal(actual)
    # Each row is a place of the text, in its order.
    np.testing.assert_array_equal(np.diff(actual.numpy(), axis=1), -np.ones((5, 7)))
    others = (settings | {"step": 13}, settings | {"step": 12, "seed": 4})
    assert not any(batch(tokens, **other).equal(actual) for other in others)


def test_batches_begin_at_any_place_with_equal_probability():
    places, draws = 8, 20000
    actual = batch(np.arange(places + 4), step=0, size=draws, length=4, seed=0)[:, 0]
    counts = np.bincount(actual.numpy(), minlength=places)
    assert len(counts) == places
    # Five standard errors of a binomial count.
    spread = 5 * np.sqrt(draws / places * (1 - 1 / places))
    assert np.abs(counts - draws / places).max() < spread


def test_a_text_of_one_sequence_is_enough_and_a_shorter_one_is_refused():
    tokens = np.arange(5, dtype=np.uint16)
    assert batch(tokens, step=0, size=2, length=4, seed=0).tolist() == [[0, 1, 2, 3, 4]] * 2
    message = (
        r"^tokens: expected at least 6 for sequences of 5 and their targets, got 5; "
        r"take a longer text or shorter sequences$"
    )
    with pytest.raises(ValueError, match=message):
        batch(tokens, step=0, size=2, length=5, seed=0)


class Documents(list):
    """Documents as the package datasets gives them."""

    def __getitem__(self, rows):
        return {"text": super().__getitem__(rows)}


@pytest.fixture
def openwebtext(root, monkeypatch):
    """Settings of OpenWebText, and what stands for its download: documents or an error."""
    settings = config(sources=["openwebtext"], tokenizer="gpt2", validation=0.3)
    monkeypatch.setattr(_openwebtext, "DOCUMENTS", 2)

    def make(answer, download=True, published=None):
        def load_dataset(name, revision, split, cache_dir):
            assert (name, split) == ("Skylion007/openwebtext", "train")
            assert re.fullmatch(r"[0-9a-f]{40}", revision), "a state that cannot change"
            assert cache_dir.startswith(str(root))
            if isinstance(answer, Exception):
                raise answer
            return Documents(answer)

        if isinstance(answer, list):
            monkeypatch.setattr(_openwebtext, "PUBLISHED_DOCUMENTS", published or len(answer))
        module = answer and types.SimpleNamespace(load_dataset=load_dataset)
        monkeypatch.setitem(sys.modules, "datasets", module)
        return text.make(settings, Storage(root, download))

    return make


def test_openwebtext_is_kept_in_files_that_are_mapped(root, openwebtext):
    documents = [f"Document {k}: low words." for k in range(7)]
    arrays = openwebtext(documents)
    encoding = tokenizer.read(root / "gpt2")
    for split, some in (("train", documents[:5]), ("validation", documents[5:])):
        tokens = opened(arrays[split].values)
        assert isinstance(tokens, np.memmap)
        assert text_of(encoding, tokens) == "".join(f"{item}{SEPARATOR}" for item in some)
        actual = batch(tokens, step=0, size=3, length=4, seed=0)
        assert actual.equal(batch(np.array(tokens), step=0, size=3, length=4, seed=0))
    assert arrays["vocabulary"] == 300
    # It is there now: neither the network nor the package is needed.
    again = openwebtext(None, download=False)
    assert again.identical(arrays)
    assert [path.name for path in (root / "openwebtext").iterdir()] == [
        opened(arrays["train"].values).filename.parent.name
    ]
    # In place of a token there is another one.
    path = opened(arrays["validation"].values).filename
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(ValueError, match=rf"^{path.parent} is damaged .{path.name} has other"):
        openwebtext(None, download=False)
    path.write_bytes(content)
    opened(arrays["train"].values).filename.unlink()
    with pytest.raises(ValueError, match=r"is damaged .train\.uint16 is missing.: delete it"):
        openwebtext(None, download=False)
    with pytest.raises(FileNotFoundError, match=r"train\.uint16 is missing: python -m pipelines"):
        opened(arrays["train"].values)


def test_openwebtext_needs_leave_and_a_package(root, openwebtext):
    message = r"is missing: data\.download=true fetches OpenWebText .*, or name files of your own"
    with pytest.raises(FileNotFoundError, match=message):
        openwebtext(["text"], download=False)
    with pytest.raises(ValueError, match=r"^openwebtext needs datasets: pip install datasets"):
        openwebtext(None)


def test_another_text_than_the_published_one_is_refused(root, openwebtext):
    with pytest.raises(ValueError, match=r"^openwebtext: expected 3 documents, as .*, got 2$"):
        openwebtext(["one", "two"], published=3)
    assert [*(root / "openwebtext").glob("[!d]*")] == []


def test_a_failed_download_is_one_line_and_leaves_nothing(root, openwebtext):
    with pytest.raises(ValueError, match=r"^openwebtext could not be fetched: no route to host"):
        openwebtext(ConnectionError("no route\nto host"))
    # What ends it in the middle of writing: here a document that no file can hold.
    with pytest.raises(UnicodeEncodeError):
        openwebtext(["one", "two", "three", "four", "\udc80", "six", "seven"])
    assert [*(root / "openwebtext").iterdir()] == []
