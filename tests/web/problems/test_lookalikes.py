"""Near-duplicates: what is found, what is told of it to whom, and what is forgotten."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import given, strategies as st

from tests.web.conftest import BOTH
from tests.web.making import single
from winosmith import Dataset, Problem, formats
from winosmith.errors import InputError
from winosmith.testing import make_twins
from winosmith.web.problems.lookalikes import (
    HASHES_STORED,
    MIN_SHARE,
    Half,
    compute_word_overlap,
    find_lookalikes,
    get_words_to_compare,
    hash_shingles,
    hash_sketch,
    index_problems,
    index_published_dataset,
    unindex_problem,
)
from winosmith.web.problems.models import Problem as Row, Remembered, Shingle, Twin

OPTIONS = ["treasurer", "secretary"]
TEXT = (
    "At the meeting the treasurer thanked the secretary for the careful minutes because the _ "
    "had missed the long debate."
)


@pytest.fixture
def problem() -> Callable[..., Any]:
    """Return a maker of problems on the site, remembered: `problem("a", state="valid")`."""

    def make(ref: str, sentence: str = TEXT, *, by: Any = None, revises: Any = None, **has: Any):
        twin = Twin.objects.create(ref=f"t-{ref}", contributor=by, revises=revises)
        row = single(ref, sentence, twin=twin, options=OPTIONS, **has)
        index_problems(row)
        return row

    return make


def _near(sentence: str = TEXT, options: Any = OPTIONS, **has: Any) -> list[Any]:
    return find_lookalikes([Half(sentence, options)], **has)


@pytest.mark.parametrize(
    ("sentence", "options", "share"),
    [
        (TEXT, OPTIONS, 1.0),
        (TEXT.upper().replace(".", "!"), OPTIONS, 1.0),
        (TEXT.replace("long", "short"), OPTIONS, 19 / 20),
        (TEXT.replace("treasurer", "pilot").replace("secretary", "guide"), ["pilot", "guide"], 1.0),
        (TEXT.replace("careful ", "").replace("debate", "lunch"), OPTIONS, 18 / 20),
    ],
)
def test_a_changed_sentence_is_found(
    db: Any, problem: Any, sentence: str, options: list[str], share: float
) -> None:
    """Other marks, capitals, options and a few other words still lead to the sentence."""
    problem("a")
    (found,) = _near(sentence, options)
    assert (found.source, found.ref, found.sentence) == ("", "a", TEXT)
    assert found.share == pytest.approx(share)


def test_a_common_frame_makes_no_duplicate(db: Any, problem: Any) -> None:
    """Sentences that share most words, but few content words, are not near."""
    problem(
        "a", "The woman found the jeans more comfortable than the pants because the _ were new."
    )
    other = "The coach found the melons more rewarding than the donuts because the _ were tasty."
    assert _near(other, ["melons", "donuts"]) == []


@BOTH
def test_what_is_found_is_the_same_on_both_databases(database: Any, problem: Any) -> None:
    """On SQLite and on PostgreSQL the nearest of the site and of a publication come, in order."""
    problem("a", TEXT.replace("long", "short").replace("careful", "neat"))
    published = Problem("w-1", TEXT.replace("long", "short"), tuple(OPTIONS), 0)
    assert index_published_dataset(Dataset([published]), "WinoGrande train_xl") == 1
    assert [(one.source, one.ref) for one in _near()] == [("WinoGrande train_xl", "w-1"), ("", "a")]


def test_a_frame_that_thousands_share_hides_no_copy(db: Any) -> None:
    """Among 800 sentences of one frame, more than are looked at for one number, a copy is found."""
    made = make_twins(400)
    index_published_dataset(made, "made")
    for twin in made[600:620]:
        near = _near(twin.sentence, twin.options, limit=20)
        assert twin.id in {one.ref for one in near if one.share == 1}


@pytest.mark.parametrize("number", range(3))
def test_planted_changes_are_found_as_by_brute_force(db: Any, data_dir: Path, number: int) -> None:
    """Of WinoGrande's sentences with one to three words changed, 99 % lead back to theirs."""
    data = formats.read(data_dir / "winogrande" / "train_l.jsonl")[:4000]
    index_published_dataset(data, "train_l")
    rng = random.Random(number)  # noqa: S311 - draws test data
    words = [word for row in data for word in row.sentence.split() if word.isalpha()]
    due = found = 0
    for row in rng.sample(list(data), 150):
        sentence = row.sentence.split()
        free = [at for at, word in enumerate(sentence) if "_" not in word]
        for at in rng.sample(free, number + 1):
            sentence[at] = rng.choice(words)
        changed = " ".join(sentence)
        exact = compute_word_overlap(
            get_words_to_compare(changed, row.options),
            get_words_to_compare(row.sentence, row.options),
        )
        if exact >= MIN_SHARE:
            due += 1
            found += row.id in {one.ref for one in _near(changed, row.options, limit=50)}
    assert due > 100
    assert found >= 0.99 * due


HIDDEN = [
    {"state": "held"},
    {"state": "judging"},
    {"state": "rejected"},
    {"embargo": True},
    {"gold": True},
]


@pytest.mark.parametrize("fields", HIDDEN, ids=str)
def test_the_text_of_a_problem_that_is_not_public_stays_hidden(
    db: Any, problem: Any, person: Any, ann: Any, fields: dict[str, Any]
) -> None:
    """Another contributor learns neither text, id nor share of it, and of embargo nothing.

    Gold is told of as what is being judged. Moderators see everything; hints tell of embargo, too.
    """
    ben = person("ben")
    problem("a", by=ann, **fields)
    for reader in (None, ben):
        near = _near(TEXT.replace("long", "short"), reader=reader)
        assert [(one.source, one.share, one.ref, one.sentence) for one in near] == (
            [] if "embargo" in fields else [("", 0.7, "", None)]
        )
    told = _near(reader=ben, include_hidden=True)
    assert [(one.share, one.ref, one.sentence) for one in told] == [(0.7, "", None)]
    for reader in (person("mo", is_moderator=True), person("root", is_superuser=True)):
        assert [one.sentence for one in _near(reader=reader)] == [TEXT]
    assert [one.sentence for one in _near(reader=ann)] == [None if "gold" in fields else TEXT]


def test_a_public_half_is_told_beside_a_hidden_one(db: Any, problem: Any) -> None:
    """Of a twin with a public and a hidden half only the public one's text and share are told."""
    public = problem("a", TEXT.replace("missed", "led"))
    hidden = Row.objects.create(
        ref="b", twin=public.twin, sentence=TEXT, options=OPTIONS, answer=1, state="valid",
        embargo=True,
    )  # fmt: skip
    index_problems(hidden)
    (found,) = _near()
    assert (found.ref, found.share) == ("a", pytest.approx(19 / 20))


def test_what_is_gone_does_not_count(db: Any, problem: Any) -> None:
    """What was withdrawn or revised is not found; what was rejected is."""
    for state in ("withdrawn", "revised", "rejected"):
        problem(state, state=state)
    assert len(_near()) == 1


def test_a_revision_is_not_compared_with_what_it_revises(db: Any, problem: Any) -> None:
    """A twin, what it revises and what that revised do not count; another twin does."""
    first = problem("a")
    second = problem("b", revises=first.twin)
    third = problem("c", revises=second.twin)
    assert [one.ref for one in _near(skip_twin=third.twin_id)] == []
    assert [one.ref for one in _near(skip_twin=first.twin_id)] == ["b", "c"]


def test_remembering_twice_changes_nothing(db: Any, problem: Any) -> None:
    """A problem that is remembered again, or with others, has one entry."""
    first, second = problem("a"), problem("b", TEXT.replace("long", "short"))
    before = Shingle.objects.count()
    index_problems(first)
    index_problems(first, second)
    assert (Remembered.objects.count(), Shingle.objects.count()) == (2, before)


def test_what_is_forgotten_is_not_found(db: Any, problem: Any) -> None:
    """After `unindex_problem` nothing of the sentence is left in the index; others stay."""
    gone, stays = problem("a"), problem("b", TEXT.replace("long", "short"))
    unindex_problem(gone)
    assert [one.ref for one in _near()] == ["b"]
    assert set(Shingle.objects.values_list("remembered__problem", flat=True)) == {stays.pk}
    assert Remembered.objects.count() == 1


def test_a_publication_is_added_once_and_goes_on_where_it_stopped(db: Any) -> None:
    """What is there already is not added again; progress is told to the end."""
    made, told = make_twins(300), []
    assert index_published_dataset(made[:250], "made") == 250
    assert index_published_dataset(made, "made", on_progress=told.append) == 350
    assert index_published_dataset(made, "made") == 0
    assert index_published_dataset(made[:10], "another") == 10
    assert told == [500, 600]


@pytest.mark.parametrize("name", ["", " ", "x" * 81])
def test_a_publication_has_a_name(db: Any, name: str) -> None:
    """A data set without a name, or with one that no column holds, is refused."""
    with pytest.raises(InputError, match="1 to 80 characters"):
        index_published_dataset(Dataset(), name)


def test_a_text_of_any_length_is_compared(database: Any, problem: Any) -> None:
    """A text of thousands of different words is no error, and a copy of it is found."""
    long = " ".join(f"word{number}" for number in range(5000)) + " _."
    problem("a", long)
    assert [one.ref for one in _near(long)] == ["a"]


@pytest.mark.parametrize("sentence", ["", "_", "The _", "\udc80 _ \x00", "ß" * 5000])
def test_a_sentence_that_is_hardly_begun_has_no_lookalikes(
    db: Any, problem: Any, sentence: str
) -> None:
    """While somebody has typed next to nothing, or nonsense, nothing is found and nothing fails."""
    problem("a")
    assert _near(sentence, []) == []


@given(st.lists(st.sampled_from("the cup _ broke because ann it too was red".split()), max_size=40))
def test_what_is_stored_is_asked_for(words: list[str]) -> None:
    """A sentence is stored under numbers that it is asked for by, each once, of 64 bits."""
    asked = hash_shingles(get_words_to_compare(" ".join(words), ["cup"]))
    assert set(hash_sketch(Half(" ".join(words), ("cup",)))) <= set(asked)
    assert len(set(asked)) == len(asked)
    assert len(hash_sketch(Half(" ".join(words)))) <= HASHES_STORED + 1
    assert all(-(2**63) <= number < 2**63 for number in asked)


def test_few_different_statements_are_compiled(db: Any, problem: Any) -> None:
    """However many sentences come near, what reads them is one statement for each sixteen.

    A connection keeps what it has compiled, so that many statements are much memory.
    """
    statements = set()
    for number in range(20):
        problem(f"p{number}", TEXT.replace("long", f"{'l' * (number + 1)}ong"))
        with CaptureQueriesContext(
            connection,
        ) as asked:
            assert _near()
        read = [one["sql"] for one in asked if ' FROM "problems_remembered"' in one["sql"]]
        statements |= {sql.count(",") for sql in read}
    assert len(statements) == 2
