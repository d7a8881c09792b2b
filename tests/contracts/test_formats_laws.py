"""Random problems are unchanged after a round trip, as far as the format promises."""

import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, strategies as st

from tests.conftest import examples
from winosmith import Claim, Edit, Extra, Lineage, Origin, Problem, formats
from winosmith.errors import FormatError

WORDS = st.lists(
    st.text(st.characters(exclude_characters="_", exclude_categories=["Z", "C"]), min_size=1),
    min_size=1,
    max_size=4,
).map(" ".join)
"""Texts of words with single spaces."""

WILD = st.text(
    st.one_of(
        st.characters(exclude_characters="_", exclude_categories=["Cs"]),
        st.sampled_from(" \n\r\t\u2028\u00a0\"',;=+-@[]<>&\\\x00"),
    ),
    min_size=1,
    max_size=12,
)
"""Texts with any characters: quotation marks, newlines, formulas, control characters."""


def make_problems(texts: st.SearchStrategy[str]) -> st.SearchStrategy[Problem]:
    """Return a strategy for problems with texts from another strategy."""
    filled = texts.filter(lambda text: bool(text.strip()))
    labels = filled.map(str.strip)
    options = st.lists(filled, min_size=2, max_size=5, unique_by=str.strip).map(tuple)
    extra = st.dictionaries(
        st.sampled_from(["csv.colour", "wsc.source", "x.y"]),
        st.one_of(texts, st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False)),
    ).filter(lambda items: all(v not in (float("inf"), float("-inf")) for v in items.values()))
    edits = st.just((Edit("substitute", 3, "a", "b"), Edit("insert", 0, "", "c")))
    lineage = st.builds(Lineage, filled, filled, st.one_of(st.just(()), edits), st.integers(0, 9))
    return st.tuples(options, st.data()).flatmap(
        lambda drawn: st.builds(
            Problem,
            id=filled,
            sentence=st.tuples(texts, texts).map("_".join),
            options=st.just(drawn[0]),
            answer=st.one_of(st.none(), st.integers(0, len(drawn[0]) - 1)),
            twin_id=st.one_of(st.none(), labels),
            pronoun=st.one_of(st.none(), filled),
            origin=st.one_of(
                st.none(), st.builds(Origin, labels, labels, st.just("2026-11-21"), filled)
            ),
            lineage=st.one_of(st.none(), lineage),
            embargo=st.booleans(),
            extra=extra.map(Extra),
        )
    )


def write_and_read(items: list[formats.Item], name: str) -> list[formats.Item]:
    """Return the items after a round trip; skip the example if the format refuses them."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        try:
            formats.write(items, path, name)
        except FormatError:
            assume(False)
        return formats.read_items(path, name, as_written=True)


def get_different_fields(lost: formats.Losses) -> set[str]:
    """Return the names of all fields that the round trip has changed."""
    return lost.lost.keys() | lost.changed.keys() | lost.added.keys()


def keep_two_options(problem: Problem) -> Problem:
    return replace(problem, options=problem.options[:2], answer=problem.answer and 1)


def make_question(problem: Problem) -> Problem:
    """Return the problem without its blank, as a question."""
    return replace(problem, blank=None, pronoun=None, twin_id=None)


LAW = examples(
    40,
    derandomize=True,  # the same examples in every run
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)


@pytest.mark.parametrize("name", ["winosmith", "csv"])
@LAW
@given(found=st.lists(make_problems(WILD), min_size=1, max_size=3, unique_by=lambda p: p.id))
def test_our_formats_round_trip_every_field(name, found):
    assert write_and_read(list(found), name) == found


@pytest.mark.parametrize(
    ("name", "texts", "shape"),
    [("winogrande", WILD, keep_two_options), ("questions", WORDS, make_question)],
)
@LAW
@given(data=st.data())
def test_writer_keeps_its_promised_fields_or_refuses(name, texts, shape, data):
    problem = shape(data.draw(make_problems(texts)))
    back = write_and_read([problem], name)
    assert len(back) == 1
    assert not formats.get_writer(name).kept_fields & get_different_fields(
        formats.find_losses([problem], back)
    )


@st.composite
def make_claims(draw: st.DrawFn) -> list[formats.Item]:
    """Draw claims whose blank may touch words, in scripts with and without spaces."""
    texts = st.one_of(WORDS, st.text("猫它 itÉк그-", min_size=1).filter(str.strip))
    made: list[formats.Item] = []
    for number in range(draw(st.integers(1, 4))):
        candidate, before = " ".join(draw(texts).split()), draw(texts)  # readers tidy its spaces
        after = draw(st.one_of(texts, st.text(" 它it,猫")))
        left, right = (draw(st.sampled_from(["", " "])) for _ in range(2))
        sentence = f"{candidate} {before}{left}_{right}{after}"
        holds = draw(st.sampled_from([True, False, None]))
        pronoun = draw(st.sampled_from(["it", "She", "them", "它", "к", "그"]))
        made.append(Claim(str(number), sentence, candidate, holds, pronoun))
    return made


@LAW
@given(claims=make_claims())
def test_superglue_round_trips_claims_in_any_script(claims):
    back = write_and_read(claims, "superglue-wsc")
    assert not formats.get_writer("superglue-wsc").kept_fields & get_different_fields(
        formats.find_losses(claims, back)
    )
