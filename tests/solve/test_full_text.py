"""The full-text index: building, searching without operators, and damaged files."""

import gzip
import json
import pickle
import sqlite3
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, strategies as st

from tests.conftest import examples
from winosmith.errors import FormatError, OutputError
from winosmith.solve import FullTextIndex, _full_text
from winosmith.solve._full_text import read_passages

BOOK = """\
The councilmen refused the demonstrators a permit
because they feared violence. Mr. Hyde ran away!  "Nobody lifts it," he said.

The movers were not lifting the piano: it was heavy.
"""

WORDS = [f"w{number}" for number in range(90)]


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    """Return a folder of two texts."""
    folder = tmp_path / "texts"
    (folder / "more").mkdir(parents=True)
    (folder / "book.txt").write_text(BOOK, "utf-8")
    lines = [{"text": "She carried two heavy bags home."}, {"text": "Ein großer Bär schläft hier."}]
    with gzip.open(folder / "more" / "lines.jsonl.gz", "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)
    (folder / "picture.png").write_bytes(b"\x89PNG")
    return folder


@pytest.mark.parametrize(
    ("text", "passages"),
    [
        (BOOK.encode(), [
            "The councilmen refused the demonstrators a permit because they feared violence.",
            "Mr. Hyde ran away!",
            '"Nobody lifts it," he said.',
            "The movers were not lifting the piano: it was heavy.",
        ]),
        (b"The caf\xe9 was\0closed on Sunday.", ["The caf\ufffd was closed on Sunday."]),
        ("\n".join(WORDS).encode(), [" ".join(WORDS[:80]), " ".join(WORDS[80:])]),
    ],
    ids=["wrapped lines", "invalid bytes", "without full stops"],
)  # fmt: skip
def test_texts_are_split_into_sentences(tmp_path, text, passages):
    """Wrapped lines are joined, "Mr." doesn't end a sentence, and short sentences are omitted.

    Invalid UTF-8 and NUL bytes are replaced. Text without full stops is split after 80 words.
    """
    (tmp_path / "a.txt").write_bytes(text)
    assert list(read_passages(tmp_path / "a.txt")) == passages


def test_phrases_are_found_in_any_inflection(collection, tmp_path):
    """All phrases must occur, with their words in order; case and endings don't matter."""
    index = FullTextIndex.open(collection, tmp_path / "index")
    assert len(index) == 6
    assert index.search(["REFUSE", "fears violence"], 5) == [
        next(read_passages(collection / "book.txt"))
    ]
    assert index.search(["violence feared"], 5) == []
    assert index.search(["großer bär"], 5) == ["Ein großer Bär schläft hier."]
    assert len(index.search(["heavy"], 5)) == 2
    assert len(index.search(["heavy"], 1)) == 1
    there = pickle.loads(pickle.dumps(index))  # noqa: S301 - our own bytes
    assert there.search(["piano"], 1) == index.search(["piano"], 1) != []


def test_short_sentences_rank_first(tmp_path):
    """Of equal matches, the first in the text comes first."""
    lines = (
        "A long tale about a fox and all that was said.",
        "The fox ran off.",
        "The fox ran on.",
    )
    (tmp_path / "fox.txt").write_text("\n\n".join(lines), "utf-8")
    index = FullTextIndex.open(tmp_path / "fox.txt", tmp_path / "index")
    found = index.search(["fox"], 3)
    assert found[:2] == ["The fox ran off.", "The fox ran on."]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> FullTextIndex:
    """Return an index of one sentence."""
    folder = tmp_path_factory.mktemp("tiny")
    (folder / "a.txt").write_text("The near fox and not the dog OR text stood there.", "utf-8")
    return FullTextIndex.open(folder, folder / "index")


@pytest.mark.parametrize(
    "phrases",
    [
        ["NEAR(fox dog)"],
        ["fox", "NOT the dog"],
        ['fox" OR "zebra'],
        ["text: fox"],
        ["fox*"],
        ["^fox"],
        ["fox'); DROP TABLE passages; --"],
        ["-fox", "+fox"],
    ],
)
def test_query_operators_are_searched_as_words(tiny, phrases):
    """Operators without letters are ignored."""
    found = tiny.search(phrases, 5)
    words = "the near fox and not the dog or text stood there".split()
    expected = all(
        any(words[at : at + len(p)] == p for at in range(len(words)))
        for p in ("".join(c if c.isalnum() else " " for c in q).lower().split() for q in phrases)
    )
    assert bool(found) == expected


@examples(300, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@example(['"', "**", "--"])
@given(st.lists(st.text(max_size=12), max_size=4))
def test_any_phrase_can_be_searched(tiny, phrases):
    """Phrases without letters or digits find nothing."""
    found = set(tiny.search(phrases, 3))
    assert found <= set(read_passages(Path(tiny.path).parents[1] / "a.txt"))
    if not any(c.isalnum() for phrase in phrases for c in phrase):
        assert not found


def test_texts_of_equal_content_share_one_index(collection, tmp_path, monkeypatch):
    """The names of the files don't matter."""
    first = FullTextIndex.open(collection, tmp_path / "index")
    (collection / "book.txt").rename(collection / "novel.txt")
    (collection / "copy.txt").write_text(BOOK, "utf-8")
    with monkeypatch.context() as patch:
        patch.delattr(_full_text, "read_passages")  # reading a text would fail now
        again = FullTextIndex.open(collection, tmp_path / "index")
    assert again == first
    (collection / "novel.txt").write_text(BOOK + "One more sentence here.", "utf-8")
    other = FullTextIndex.open(collection, tmp_path / "index")
    assert other.path != first.path
    assert other.search(["one more"], 5) == ["One more sentence here."]


def test_interrupted_build_starts_again(tmp_path, monkeypatch):
    monkeypatch.setattr(_full_text, "_BATCH_SIZE", 10)
    folder = tmp_path / "texts"
    folder.mkdir()
    for name in "ab":
        lines = (f"Fox {name} number {row} ran away." for row in range(35))
        (folder / f"{name}.txt").write_text("\n\n".join(lines), "utf-8")

    def stopped(path: Path) -> Iterator[str]:
        yield from islice(read_passages(path), 25)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(_full_text, "read_passages", stopped)
        with pytest.raises(KeyboardInterrupt):
            FullTextIndex.open(folder, tmp_path / "index")
    assert [*(tmp_path / "index").iterdir()] == []
    reports: list[tuple[int, int, int]] = []
    index = FullTextIndex.open(folder, tmp_path / "index", lambda *told: reports.append(told))
    assert (reports[0], reports[-1]) == ((0, 2, 10), (2, 2, 70))
    assert len(index) == 70
    assert sorted(index.search(["fox"], 100)) == sorted(
        [*read_passages(folder / "a.txt"), *read_passages(folder / "b.txt")]
    )


def test_concurrent_builds_both_write_a_complete_index(tmp_path, monkeypatch):
    text = tmp_path / "a.txt"
    text.write_text("\n\n".join(f"Fox number {row} ran." for row in range(20)), "utf-8")

    def build_again_while_reading(path: Path) -> Iterator[str]:
        yield from islice(read_passages(path), 5)
        monkeypatch.setattr(_full_text, "read_passages", read_passages)
        assert len(FullTextIndex.open(text, tmp_path / "index")) == 20
        yield from islice(read_passages(path), 5, None)

    monkeypatch.setattr(_full_text, "read_passages", build_again_while_reading)
    assert len(FullTextIndex.open(text, tmp_path / "index")) == 20


def test_damaged_and_missing_indexes_are_reported(collection, tmp_path):
    index = FullTextIndex.open(collection, tmp_path / "index")
    index.path.write_bytes(b"nonsense " * 1000)
    with pytest.raises(OutputError, match=f"{index.path.name}: the index can't be used"):
        index.search(["fox"], 3)
    with pytest.raises(OutputError, match="remove it and try again"):
        FullTextIndex.open(collection, tmp_path / "index").search(["fox"], 3)
    index.path.unlink()
    with pytest.raises(OutputError, match="unable to open"):
        FullTextIndex(index.path, index.digest).search(["fox"], 3)


def test_searching_opens_the_index_read_only(collection, tmp_path):
    """It creates no other files, either."""
    index = FullTextIndex.open(collection, tmp_path / "index")
    index.search(["fox"], 3)
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        index._db.execute("DELETE FROM passages")
    assert [path.name for path in index.path.parent.iterdir()] == [index.path.name]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "a.jsonl",
            b'{"text": "fine words are here"}\n{"txt": "x"}\n',
            ":2: the line is not a JSON",
        ),
        ("a.jsonl", b"[1]\n", ":1: the line is not a JSON object"),
        ("a.txt.gz", b"not gzip", "Not a gzipped file"),
        ("a.pdf", b"%PDF", r"has no text \(.txt, .jsonl"),
        ("", b"", "does not exist, so it has no text"),
    ],
)
def test_unreadable_texts_are_reported_with_their_place(tmp_path, name, content, message):
    if name:
        (tmp_path / "texts").mkdir()
        (tmp_path / "texts" / name).write_bytes(content)
    with pytest.raises(FormatError, match=message):
        FullTextIndex.open(tmp_path / "texts", tmp_path / "index")
