"""Near-duplicates: search, visibility of the results, and removal from the index."""

import random
from collections.abc import Callable
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
from winosmith.web.problems import lookalikes
from winosmith.web.problems.lookalikes import Half, index_problems
from winosmith.web.problems.models import Problem as Row, Remembered, Shingle, Twin

OPTIONS = ["treasurer", "secretary"]
TEXT = (
    "At the meeting the treasurer thanked the secretary for the careful minutes because the _ "
    "had missed the long debate."
)


@pytest.fixture
def problem() -> Callable[..., Any]:
    """Return a function that creates and indexes problems: `problem("a", state="valid")`."""

    def make(ref: str, sentence: str = TEXT, *, by: Any = None, revises: Any = None, **has: Any):
        twin = Twin.objects.create(ref=f"t-{ref}", contributor=by, revises=revises)
        row = single(ref, sentence, twin=twin, options=OPTIONS, **has)
        index_problems(row)
        return row

    return make


def _find_near(sentence: str = TEXT, options: Any = OPTIONS, **has: Any) -> list[Any]:
    return lookalikes.find_lookalikes([Half(sentence, options)], **has)


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
def test_changed_sentence_is_found(db, problem, sentence, options, share):
    problem("a")
    (found,) = _find_near(sentence, options)
    assert (found.source, found.ref, found.sentence) == ("", "a", TEXT)
    assert found.share == pytest.approx(share)


def test_shared_frame_is_not_a_duplicate(db, problem):
    """The sentences share most words, but few content words."""
    problem(
        "a", "The woman found the jeans more comfortable than the pants because the _ were new."
    )
    other = "The coach found the melons more rewarding than the donuts because the _ were tasty."
    assert _find_near(other, ["melons", "donuts"]) == []


@BOTH
def test_nearest_problems_come_first_on_both_databases(database, problem):
    problem("a", TEXT.replace("long", "short").replace("careful", "neat"))
    published = Problem("w-1", TEXT.replace("long", "short"), tuple(OPTIONS), 0)
    assert lookalikes.index_published_dataset(Dataset([published]), "WinoGrande train_xl") == 1
    assert [(one.source, one.ref) for one in _find_near()] == [
        ("WinoGrande train_xl", "w-1"),
        ("", "a"),
    ]


def test_copy_is_found_among_many_sentences_of_one_frame(db):
    """There are 800 sentences, more than the search reads for one hash."""
    made = make_twins(400)
    lookalikes.index_published_dataset(made, "made")
    for twin in made[600:620]:
        near = _find_near(twin.sentence, twin.options, limit=20)
        assert twin.id in {one.ref for one in near if one.share == 1}


@pytest.mark.parametrize("number", range(3))
def test_search_finds_99_percent_of_planted_near_duplicates(db, data_dir, number):
    """One to three words of WinoGrande sentences are changed; brute force says which are near."""
    data = formats.read(data_dir / "winogrande" / "train_l.jsonl")[:4000]
    lookalikes.index_published_dataset(data, "train_l")
    rng = random.Random(number)  # noqa: S311 - draws test data
    words = [word for row in data for word in row.sentence.split() if word.isalpha()]
    due = found = 0
    for row in rng.sample(list(data), 150):
        sentence = row.sentence.split()
        free = [at for at, word in enumerate(sentence) if "_" not in word]
        for at in rng.sample(free, number + 1):
            sentence[at] = rng.choice(words)
        changed = " ".join(sentence)
        exact = lookalikes.compute_word_overlap(
            lookalikes.get_words_to_compare(changed, row.options),
            lookalikes.get_words_to_compare(row.sentence, row.options),
        )
        if exact >= lookalikes.MIN_SHARE:
            due += 1
            found += row.id in {one.ref for one in _find_near(changed, row.options, limit=50)}
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
def test_text_of_a_hidden_problem_is_not_revealed(db, problem, person, ann, fields):
    """Other contributors see neither its text, id nor exact share, and no embargoed problem.

    Gold looks like a problem in judging, even to its contributor. Moderators see everything;
    with `include_hidden`, embargoed problems are reported, too.
    """
    ben = person("ben")
    problem("a", by=ann, **fields)
    for reader in (None, ben):
        near = _find_near(TEXT.replace("long", "short"), reader=reader)
        assert [(one.source, one.share, one.ref, one.sentence) for one in near] == (
            [] if "embargo" in fields else [("", 0.7, "", None)]
        )
    told = _find_near(reader=ben, include_hidden=True)
    assert [(one.share, one.ref, one.sentence) for one in told] == [(0.7, "", None)]
    for reader in (person("mo", is_moderator=True), person("root", is_superuser=True)):
        assert [one.sentence for one in _find_near(reader=reader)] == [TEXT]
    assert [one.sentence for one in _find_near(reader=ann)] == [None if "gold" in fields else TEXT]


def test_only_the_public_half_of_a_twin_is_reported(db, problem):
    public = problem("a", TEXT.replace("missed", "led"))
    hidden = Row.objects.create(
        ref="b", twin=public.twin, sentence=TEXT, options=OPTIONS, answer=1, state="valid",
        embargo=True,
    )  # fmt: skip
    index_problems(hidden)
    (found,) = _find_near()
    assert (found.ref, found.share) == ("a", pytest.approx(19 / 20))


def test_withdrawn_and_revised_problems_are_not_found(db, problem):
    """Rejected problems are found."""
    for state in ("withdrawn", "revised", "rejected"):
        problem(state, state=state)
    assert len(_find_near()) == 1


def test_revision_is_not_compared_with_its_predecessors(db, problem):
    """Later revisions count as near-duplicates."""
    first = problem("a")
    second = problem("b", revises=first.twin)
    third = problem("c", revises=second.twin)
    assert [one.ref for one in _find_near(skip_twin=third.twin_id)] == []
    assert [one.ref for one in _find_near(skip_twin=first.twin_id)] == ["b", "c"]


def test_indexing_is_idempotent_and_can_be_undone(db, problem):
    first, second = problem("a"), problem("b", TEXT.replace("long", "short"))
    before = Shingle.objects.count()
    index_problems(first)
    index_problems(first, second)
    assert (Remembered.objects.count(), Shingle.objects.count()) == (2, before)
    lookalikes.unindex_problem(first)
    assert [one.ref for one in _find_near()] == ["b"]
    assert set(Shingle.objects.values_list("remembered__problem", flat=True)) == {second.pk}
    assert Remembered.objects.count() == 1


def test_published_dataset_is_indexed_once_and_resumed(db):
    made, told = make_twins(300), []
    assert lookalikes.index_published_dataset(made[:250], "made") == 250
    assert lookalikes.index_published_dataset(made, "made", on_progress=told.append) == 350
    assert lookalikes.index_published_dataset(made, "made") == 0
    assert lookalikes.index_published_dataset(made[:10], "another") == 10
    assert told == [500, 600]


@pytest.mark.parametrize("name", ["", " ", "x" * 81])
def test_invalid_dataset_name_is_refused(db, name):
    with pytest.raises(InputError, match="1 to 80 characters"):
        lookalikes.index_published_dataset(Dataset(), name)


def test_text_of_thousands_of_words_is_compared(database, problem):
    long = " ".join(f"word{number}" for number in range(5000)) + " _."
    problem("a", long)
    assert [one.ref for one in _find_near(long)] == ["a"]


@pytest.mark.parametrize("sentence", ["", "_", "The _", "\udc80 _ \x00", "ß" * 5000])
def test_unfinished_sentence_has_no_lookalikes(db, problem, sentence):
    problem("a")
    assert _find_near(sentence, []) == []


@given(st.lists(st.sampled_from("the cup _ broke because ann it too was red".split()), max_size=40))
def test_stored_hashes_are_among_the_queried_hashes(words):
    asked = lookalikes.hash_shingles(lookalikes.get_words_to_compare(" ".join(words), ["cup"]))
    assert set(lookalikes.hash_sketch(Half(" ".join(words), ("cup",)))) <= set(asked)
    assert len(set(asked)) == len(asked)
    assert len(lookalikes.hash_sketch(Half(" ".join(words)))) <= lookalikes.HASHES_STORED + 1
    assert all(-(2**63) <= number < 2**63 for number in asked)


def test_search_uses_few_different_statements(db, problem):
    """The statement differs only for each sixteen near sentences.

    A connection keeps every compiled statement, so many different ones would need much memory.
    """
    statements = set()
    for number in range(20):
        problem(f"p{number}", TEXT.replace("long", f"{'l' * (number + 1)}ong"))
        with CaptureQueriesContext(connection) as asked:
            assert _find_near()
        read = [one["sql"] for one in asked if ' FROM "problems_remembered"' in one["sql"]]
        statements |= {sql.count(",") for sql in read}
    assert len(statements) == 2
