"""Any problem at all, written and read again: what comes back is what the format promises."""

import tempfile
from collections.abc import Callable
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
"""Tidy texts: words with single spaces."""

WILD = st.text(
    st.one_of(
        st.characters(exclude_characters="_", exclude_categories=["Cs"]),
        st.sampled_from(" \n\r\t\u2028\u00a0\"',;=+-@[]<>&\\\x00"),
    ),
    min_size=1,
    max_size=12,
)
"""Texts with anything in them: quotation marks, line ends, formulas, control characters."""


def problems(texts: st.SearchStrategy[str]) -> st.SearchStrategy[Problem]:
    """Return a strategy for problems whose texts are drawn from another one."""
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


def written_and_read(items: list[formats.Item], name: str) -> list[formats.Item]:
    """Return what comes back of the items, or skip the example when the format refuses them."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        try:
            formats.write(items, path, name)
        except FormatError:
            assume(False)
        return formats.read_items(path, name, as_written=True)


def told(lost: formats.Losses) -> set[str]:
    """Return the names of all fields that did not come back as they were."""
    return lost.lost.keys() | lost.changed.keys() | lost.added.keys()


def two_options(problem: Problem) -> Problem:
    """Return the problem with its first two options."""
    return replace(problem, options=problem.options[:2], answer=problem.answer and 1)


def question(problem: Problem) -> Problem:
    """Return the problem as a question, which has no blank."""
    return replace(problem, blank=None, pronoun=None, twin_id=None)


LAW = examples(
    40,
    derandomize=True,  # the same examples in every run
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)


@pytest.mark.parametrize("name", ["winosmith", "csv"])
@LAW
@given(found=st.lists(problems(WILD), min_size=1, max_size=3, unique_by=lambda p: p.id))
def test_our_own_formats_hold_any_problem(name: str, found: list[Problem]) -> None:
    """Our JSON Lines and plain tables give back every field of any problem, whatever its texts."""
    assert written_and_read(list(found), name) == found


@pytest.mark.parametrize(
    ("name", "texts", "shape"),
    [("winogrande", WILD, two_options), ("questions", WORDS, question)],
)
@LAW
@given(data=st.data())
def test_a_writer_keeps_what_it_promises_or_refuses(
    name: str,
    texts: st.SearchStrategy[str],
    shape: Callable[[Problem], Problem],
    data: st.DataObject,
) -> None:
    """Of any problem that a format accepts, the fields that it keeps come back as they were."""
    problem = shape(data.draw(problems(texts)))
    back = written_and_read([problem], name)
    assert len(back) == 1
    assert not formats.get_writer(name).kept_fields & told(formats.find_losses([problem], back))


@LAW
@given(
    before=WORDS,
    pronoun=st.sampled_from(["it", "She", "them"]),
    after=WORDS,
    candidate=WORDS,
    holds=st.sampled_from([True, False, None]),
)
def test_claims_come_back(
    before: str, pronoun: str, after: str, candidate: str, holds: bool | None
) -> None:
    """Any claim whose text holds its candidate comes back from SuperGLUE's form."""
    claim = Claim("0", f"{candidate} {before} _ {after}", candidate, holds, pronoun)
    back = written_and_read([claim], "superglue-wsc")
    assert not formats.get_writer("superglue-wsc").kept_fields & told(
        formats.find_losses([claim], back)
    )
