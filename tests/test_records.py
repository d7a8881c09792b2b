"""Converting problems and claims to records is a round trip."""

import json
from dataclasses import fields
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given, strategies as st

from winosmith import Claim, Edit, Extra, Lineage, Origin, Problem
from winosmith.errors import ProblemError
from winosmith.records import (
    dump_json,
    make_claim_record,
    make_problem_record,
    parse_claim,
    parse_problem,
)

texts = st.text(st.characters(codec="utf-8", exclude_characters="_"), min_size=1, max_size=12)
names = texts.filter(str.strip)
labels = names.map(str.strip)
sentences = st.builds("{}_{}".format, texts, texts)

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts
)

extras = st.dictionaries(
    st.from_regex(r"[a-z][a-z0-9_]{0,5}\.[A-Za-z0-9_]{1,5}", fullmatch=True), scalars, max_size=3
).map(Extra)

edits = st.one_of(
    st.builds(Edit, st.just("insert"), st.integers(0, 30), st.just(""), names),
    st.builds(Edit, st.just("delete"), st.integers(0, 30), names),
    st.builds(lambda at, old: Edit("substitute", at, old, old + "!"), st.integers(0, 30), names),
)

lineages = st.builds(
    Lineage, names, names, st.lists(edits, max_size=3).map(tuple), st.none() | st.integers(0, 9)
)

origins = st.builds(
    Origin,
    source=st.none() | labels,
    author=st.none() | labels,
    created=st.none() | st.dates().map(str) | st.datetimes().map(lambda when: when.isoformat()),
    anchor=st.none() | names,
)


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Draw any problem."""
    options = tuple(
        draw(st.lists(names, min_size=2, max_size=5, unique_by=lambda option: option.strip()))
    )
    return Problem(
        id=draw(names),
        sentence=draw(sentences),
        options=options,
        answer=draw(st.none() | st.integers(0, len(options) - 1)),
        twin_id=draw(st.none() | labels),
        pronoun=draw(st.none() | texts),
        origin=draw(st.none() | origins),
        lineage=draw(st.none() | lineages),
        embargo=draw(st.booleans()),
        extra=draw(extras),
    )


claims = st.builds(
    Claim, names, sentences, names, st.none() | st.booleans(), st.none() | texts, extras
)


@given(problems())
def test_problem_record_is_a_round_trip(problem):
    assert parse_problem(json.loads(dump_json(make_problem_record(problem)))) == problem


@given(claims)
def test_claim_record_is_a_round_trip(claim):
    assert parse_claim(json.loads(dump_json(make_claim_record(claim)))) == claim


@given(problems())
def test_record_has_no_empty_fields(problem):
    """A field that is added later therefore changes no old digest."""
    record = make_problem_record(problem)
    assert None not in record.values()
    assert record.get("embargo", True) is True
    assert record.get("extra", {"some": 1})


def test_record_is_one_line_with_unescaped_letters():
    problem = Problem("1", "José's _\nfell.", ("cup", "jug"), 0)
    line = '{"id":"1","sentence":"José\'s _\\nfell.","options":["cup","jug"],"answer":0}'
    assert dump_json(make_problem_record(problem)) == line


GOOD = {"id": "1", "sentence": "A _ b.", "options": ["x", "y"]}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"sentense": "A _."}, "the record has an unknown key 'sentense'"),
        (
            {"gold.explanation": "Cups break."},
            "the record has an unknown key 'gold.explanation'; put further values into 'extra'",
        ),
        ({"options": "xy"}, "the options must be a list, not 'xy'"),
        ({"options": ["x", None]}, "an option must be text, not None"),
        ({"embargo": "false"}, "embargo must be true or false, not 'false'"),
        ({"origin": "crowd"}, "origin must be an object, not 'crowd'"),
        ({"origin": {"writer": "w"}}, "origin: "),
        ({"origin": {"created": 2026}}, "created must be text, not 2026"),
        ({"lineage": ["a"]}, "the lineage must be an object, not ['a']"),
        ({"lineage": {"root": "a"}}, "lineage: "),
        ({"lineage": {"root": "a", "parent": "a", "edits": 3}}, "the edits must be a list, not 3"),
        ({"lineage": {"root": "a", "parent": "a", "edits": [3]}}, "edit must be an object, not 3"),
        ({"extra": [1]}, "extra must be a mapping of keys to values, not [1]"),
        ({"answer": "0"}, "the answer must be an index or None, not '0'"),
    ],
)
def test_invalid_record_is_refused_with_the_reason(change, reason):
    with pytest.raises(ProblemError) as told:
        parse_problem({**GOOD, **change})
    assert str(told.value).startswith(reason)


@pytest.mark.parametrize("key", ["id", "sentence", "options"])
def test_record_without_a_required_key_is_refused(key):
    with pytest.raises(ProblemError, match=f"the record has no '{key}'"):
        parse_problem({name: value for name, value in GOOD.items() if name != key})


@pytest.mark.parametrize(
    "record",
    [
        {"problem_id": "1", "sentence": "A _."},
        {"problem_id": 1, "sentence": "A _.", "candidate": "x"},
        {"problem_id": "1", "sentence": None, "candidate": "x"},
        {"problem_id": "1", "sentence": "A _.", "candidate": "x", "holds": "yes"},
        {"problem_id": "1", "sentence": "A _.", "candidate": "x", "answer": 1},
        {"problem_id": "1", "sentence": "A _.", "candidate": "x", "extra": 1},
    ],
)
def test_invalid_claim_record_is_refused(record):
    with pytest.raises(ProblemError):
        parse_claim(record)


@pytest.mark.parametrize(
    ("problem", "written"),
    [
        (Problem("a", "A _ b.", ("x", "y")), {}),
        (Problem("a", "A _ b.", ("x", "y"), blank=2), {}),
        (Problem("a", "A _ b _.", ("x", "y"), blank=6), {"blank": 6}),
        (Problem("a", "A _ b.", ("x_", "y"), blank=2), {"blank": 2}),
        (Problem("a", "A _ b?", ("x", "y"), blank=None), {"blank": None}),
    ],
)
def test_blank_is_written_only_if_the_text_is_not_clear(problem, written):
    """It is written for questions, and for sentences with an additional `_`."""
    record = make_problem_record(problem)
    assert {key: value for key, value in record.items() if key == "blank"} == written
    assert parse_problem(record) == problem


def test_wrong_offset_of_the_blank_is_refused():
    record = {"id": "a", "sentence": "A _ b.", "options": ["x", "y"], "blank": 3}
    with pytest.raises(ProblemError, match="is at offset 2, not at 3"):
        parse_problem(record)


SCHEMA = json.loads(
    (Path(__file__).parents[1] / "docs/reference/problems.schema.json").read_text("utf-8")
)


def test_schema_has_exactly_the_keys_of_the_classes():
    found = SCHEMA["$defs"]
    for kind, name in ((Problem, "problem"), (Claim, "claim")):
        assert set(found[name]["properties"]) == {f.name for f in fields(kind)}
    for kind, name in ((Origin, "origin"), (Lineage, "lineage")):
        inside = found["problem"]["properties"][name]["properties"]
        assert set(inside) == {f.name for f in fields(kind)}


PAIR = {"id": "a", "sentence": "A _.", "options": ["x", "y"]}
LINEAGE = {"root": "r", "parent": "r"}


@pytest.mark.parametrize(
    ("record", "good"),
    [
        ({**PAIR, "answer": 1}, True),
        ({**PAIR, "sentence": "Why?", "blank": None}, True),
        ({**PAIR, "sentence": "A _ _.", "blank": 4}, True),
        ({**PAIR, "extra": {"a.b": 1.5}}, True),
        ({**PAIR, "origin": {"source": "s"}}, True),
        ({**PAIR, "lineage": {**LINEAGE, "edits": [{"op": "insert", "at": 0, "new": "A"}]}}, True),
        ({**PAIR, "lineage": {**LINEAGE, "declared": 2**31 - 1}}, True),
        ({**PAIR, "lineage": {**LINEAGE, "declared": 2**31}}, False),
        ({**PAIR, "lineage": {**LINEAGE, "edits": [None]}}, False),
        ({"problem_id": "a", "sentence": "A _.", "candidate": "x", "holds": True}, True),
        ({**PAIR, "options": ["x"]}, False),
        ({**PAIR, "answr": 1}, False),
        ({**PAIR, "extra": {"colour": 1}}, False),
        ({**PAIR, "origin": {"where": "s"}}, False),
        ({**PAIR, "id": " "}, False),
        ({"problem_id": "a", "sentence": "A b.", "candidate": "x"}, False),
    ],
)
def test_schema_and_parser_accept_the_same_records(record, good):
    assert jsonschema.Draft202012Validator(SCHEMA).is_valid(record) == good
    read = parse_claim if "candidate" in record else parse_problem
    if good:
        read(record)
    else:
        with pytest.raises(ProblemError):
            read(record)
