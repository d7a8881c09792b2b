"""Problems, claims and data sets: validity, order, twins, families and digests."""

import hashlib
import pickle
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from winosmith import Claim, Dataset, Edit, Extra, Lineage, Origin, Problem
from winosmith.dataset import ColumnRoles
from winosmith.errors import DataError, ProblemError
from winosmith.testing import make_twins


def a_problem(identity: str, twin_id: str | None = None, **fields: object) -> Problem:
    """Return a problem without an answer."""
    return Problem(identity, "The _ fell.", ("cup", "jug"), twin_id=twin_id, **fields)


@st.composite
def datasets(draw: st.DrawFn) -> Dataset:
    """Draw a data set whose problems share twin ids at random."""
    twin_ids = draw(st.lists(st.none() | st.sampled_from("abcde"), max_size=12))
    return Dataset(a_problem(str(number), twin_id) for number, twin_id in enumerate(twin_ids))


@st.composite
def drops(draw: st.DrawFn) -> tuple[Dataset, dict[int, str]]:
    """Draw a data set and reasons to drop some of its rows."""
    dataset = draw(datasets())
    rows = st.sets(st.integers(0, len(dataset) - 1)) if len(dataset) else st.just(set[int]())
    return dataset, {row: f"reason {row}" for row in draw(rows)}


@given(drops())
def test_kept_and_dropped_are_the_input(case):
    dataset, reasons = case
    result = dataset.drop(reasons, "a stage")
    assert result.input() == dataset
    assert {entry.row: entry.reason for entry in result.dropped} == reasons
    assert len(result.kept) + len(result.dropped) == len(dataset)


@pytest.mark.parametrize("row", [-1, 3])
def test_dropping_a_missing_row_is_refused(row):
    with pytest.raises(DataError, match=f"there is no row {row} to drop; there are 3 rows"):
        Dataset(map(a_problem, "abc")).drop({row: "why"}, "a stage")


@given(datasets())
def test_each_problem_is_half_of_a_twin_or_a_single(dataset):
    """Twins are exactly two problems with the same twin id."""
    rows = [row for twin in dataset.twins for row in twin] + list(dataset.singles)
    assert sorted(rows) == list(range(len(dataset)))
    for first, second in dataset.twins:
        sharing = [p for p in dataset if p.twin_id == dataset[first].twin_id]
        assert sharing == [dataset[first], dataset[second]]
    for row in dataset.singles:
        twin_id = dataset[row].twin_id
        assert twin_id is None or sum(p.twin_id == twin_id for p in dataset) != 2


def test_digest_is_the_sha_256_of_the_json_lines():
    """It depends on every field and on the order, but not on the name."""
    line = '{"id":"1","sentence":"The _ fell.","options":["cup","jug"],"answer":0}\n'
    one = [Problem("1", "The _ fell.", ("cup", "jug"), 0)]
    assert Dataset(one, "a").digest == hashlib.sha256(line.encode()).hexdigest()
    assert Dataset(one, "b").digest == Dataset(one, "a").digest
    problem, other = a_problem("1", "t"), a_problem("2", "t")
    changes = [
        {"id": "3"}, {"sentence": "The _ fell !"}, {"options": ("jug", "cup")}, {"answer": 0},
        {"answer": 1}, {"twin_id": None}, {"pronoun": "it"}, {"lineage": Lineage("1", "1")},
        {"embargo": True}, *({"extra": Extra({"a.b": value})} for value in (1, "1", True)),
    ]  # fmt: skip
    firsts = (problem, *(replace(problem, **change) for change in changes))
    digests = {Dataset([first, other]).digest for first in firsts}
    digests.add(Dataset([other, problem]).digest)
    assert len(digests) == len(changes) + 2


def test_problems_are_found_by_row_slice_and_id():
    dataset = Dataset(map(a_problem, "abcd"), "letters")
    assert dataset[1:3].ids == ("b", "c")
    assert dataset[1:3].name == "letters"
    assert dataset[dataset.row("c")].id == "c"
    assert "c" in dataset.ids
    assert dataset[0] in dataset
    assert replace(dataset[0], answer=1) not in dataset
    assert dataset.select([3, 0]).ids == ("d", "a")
    with pytest.raises(DataError, match="there is no problem with the id 'z'"):
        dataset.row("z")
    with pytest.raises(DataError, match="the id 'a' occurs twice"):
        Dataset([*dataset, dataset[0]])


def test_parts_of_a_data_set_keep_its_roles_and_kind_of_ids():
    whole = Dataset(make_twins(2), "a", ColumnRoles("csv"), is_numbered=True)
    dropped = whole.drop({1: "long"}, "length")
    for part in (whole[1:], whole.select([2], "b"), dropped.kept, dropped.input(), whole.blind()):
        assert (part.roles, part.is_numbered) == (whole.roles, True)
    assert whole.select([2], "b").name == "b"


def test_family_is_a_root_and_its_descendants():
    child = a_problem("b", lineage=Lineage("a", "a"))
    dataset = Dataset([a_problem("a"), child, a_problem("c")])
    assert dataset.families == {"a": (0, 1), "c": (2,)}


def test_blind_data_set_has_no_answers():
    dataset = make_twins(5)
    assert set(dataset.blind().answers) == {None}
    assert dataset.blind().ids == dataset.ids


TEXT = "The trophy doesn't fit into the brown suitcase because the _ is too large."


def trophy(**changes: object) -> Problem:
    """Return a valid problem with some fields changed."""
    fields = {"id": "1", "sentence": TEXT, "options": ("trophy", "suitcase"), "answer": 0}
    return Problem(**{**fields, **changes})


REFUSED = {
    "the id is empty": {"id": " "},
    "the id must be text, not 5": {"id": 5},
    "the sentence must be text, not None": {"sentence": None},
    "the sentence has no blank": {"sentence": "The trophy fits."},
    "the sentence has 2 blanks ('_'); 1 is needed": {"sentence": "The _ fits the _."},
    "the number of options is 1; it must be 2 to 26": {"options": ("trophy",)},
    "the number of options is 27; it must be 2 to 26": {
        "options": tuple("abcdefghijklmnopqrstuvwxyz0")
    },
    "the blank must be an offset in the sentence, or None, not '4'": {"blank": "4"},
    "the sentence has no blank ('_') at offset 3": {"sentence": "A _ b _ c.", "blank": 3},
    "the sentence has no blank ('_') at offset -9": {"sentence": "A _ b _ c.", "blank": -9},
    "the question is empty": {"sentence": " ", "blank": None},
    "a question has no blank": {"blank": None, "pronoun": "it"},
    "the options must be a tuple of texts, not ['a', 'b']": {"options": ["a", "b"]},
    "an option must be text, not 2": {"options": ("a", 2)},
    "an option is empty": {"options": ("a", " ")},
    "an option contains the blank ('_')": {"options": ("a", "b_")},
    "two options are equal: 'a', ' a'": {"options": ("a", " a")},
    "two options are equal, one of them the correct one": {"options": ("a", "b", "b"), "answer": 1},
    "the answer is 2; with 2 options it must be 0 to 1": {"answer": 2},
    "the answer is -1; with 2 options it must be 0 to 1": {"answer": -1},
    "the answer must be an index or None, not '1'": {"answer": "1"},
    "the answer must be an index or None, not True": {"answer": True},
    "the twin id must be text, not 7": {"twin_id": 7},
    "the twin id is empty; omit it for a problem without a twin": {"twin_id": ""},
    "the pronoun must be text, not 3": {"pronoun": 3},
    "the sentence contains an unpaired surrogate": {"sentence": "A \ud800 _."},
}


@pytest.mark.parametrize("reason", REFUSED)
def test_invalid_problems_are_refused_with_the_reason(reason):
    with pytest.raises(ProblemError) as told:
        trophy(**REFUSED[reason])
    assert str(told.value).startswith(reason)


def test_problems_have_2_to_26_options():
    """Incorrect options may be equal, as in published items; the correct one is not in doubt."""
    for number in range(2, 27):
        options = tuple("abcdefghijklmnopqrstuvwxyz"[:number])
        assert trophy(options=options, answer=number - 1).options == options
    assert trophy(options=("a", "b", "b "), answer=0).blind().options == ("a", "b", "b ")


def test_options_are_filled_in_verbatim():
    problem = trophy(sentence=r"He said: _ \1.", options=(r"\g<0>", "b"))
    assert problem.fill_all() == (r"He said: \g<0> \1.", r"He said: b \1.")


def test_blind_problem_has_neither_answer_nor_extra():
    problem = trophy(twin_id="t", pronoun="it", extra=Extra({"wsc.correct": "A"}))
    assert problem.blind() == trophy(answer=None, twin_id="t", pronoun="it")


@pytest.mark.parametrize(
    ("items", "reason"),
    [
        ({"source": 1}, "the extra key 'source' must have the form 'format.field'"),
        ({3: 1}, "the extra key 3 must have the form 'format.field'"),
        ({"a.b": [1]}, "the extra value of 'a.b' must be a scalar, not [1]"),
        ({"a.b": float("nan")}, "the extra value of 'a.b' must be finite, not nan"),
        ({"a.b": float("inf")}, "the extra value of 'a.b' must be finite, not inf"),
        (["a.b"], "extra must be a mapping of keys to values, not ['a.b']"),
    ],
)
def test_invalid_extra_is_refused(items, reason):
    """Its values are finite scalars that JSON can store.

    Its keys are named after the format and field.
    """
    with pytest.raises(ProblemError) as told:
        Extra(items)
    assert str(told.value) == reason


@given(st.permutations([("a.x", 1), ("b.y", "two"), ("a.z", None)]))
def test_order_of_extra_does_not_matter(items):
    ordered = Extra(dict(items))
    plain = Extra({"a.x": 1, "a.z": None, "b.y": "two"})
    assert ordered == plain
    assert hash(ordered) == hash(plain)
    assert list(ordered) == ["a.x", "a.z", "b.y"]


@pytest.mark.parametrize(
    "made",
    [
        lambda: Origin(created="yesterday"),
        lambda: Origin(created=2026),
        lambda: Origin(author=7),
        lambda: Edit("replace", 0, "a", "b"),
        lambda: Edit("substitute", 0, "a", ""),
        lambda: Edit("substitute", 0, "a", "a"),
        lambda: Edit("insert", 0, "a", "b"),
        lambda: Edit("delete", 0, "", ""),
        lambda: Edit("delete", -1, "a"),
        lambda: Edit("delete", "1", "a"),
        lambda: Lineage("", "a"),
        lambda: Lineage("a", "a", declared=-1),
        lambda: Lineage("a", "a", declared="1"),
        lambda: Lineage("a", "a", declared=2**31),
        lambda: Lineage("a", "a", (None,)),
        lambda: Claim("", TEXT, "trophy"),
        lambda: Claim("1", "no blank", "trophy"),
        lambda: Claim("1", TEXT, " "),
        lambda: Claim("1", TEXT, "trophy", holds=1),
        lambda: Claim(1, TEXT, "trophy"),
        lambda: Claim("1", None, "trophy"),
    ],
)
def test_invalid_origins_edits_lineages_and_claims_are_refused(made):
    with pytest.raises(ProblemError):
        made()


def test_problems_and_data_sets_can_be_hashed_and_pickled():
    problem = trophy(
        origin=Origin(source="crowd", created="2026-11-21"),
        lineage=Lineage("0", "0", (Edit("insert", 3, new="very"),), 1),
        extra=Extra({"wsc.source": "Winograd 1972"}),
    )
    dataset = Dataset([*make_twins(3), problem], "made")
    again = pickle.loads(pickle.dumps(dataset))  # noqa: S301 - our own bytes
    assert (again, again.name) == (dataset, "made")
    assert {problem: 1}[again[6]] == 1


def test_offset_determines_which_underscore_is_the_blank():
    """The blank is found again if only the sentence changes."""
    found = Problem("p", "Call __init__ on _ now.", ("a_b", "c"), 0, blank=17)
    assert (found.before, found.after) == ("Call __init__ on ", " now.")
    assert found.fill_all() == ("Call __init__ on a_b now.", "Call __init__ on c now.")
    assert replace(found, options=("x", "y")).blank == 17
    assert replace(trophy(), sentence="_ fits.").blank == 0


@given(
    st.text(min_size=1).filter(str.strip),
    st.lists(
        st.text("ab_ ", min_size=1).filter(str.strip), min_size=2, max_size=26, unique_by=str.strip
    ),
)
def test_questions_are_placed_before_their_options(text, options):
    """The text of a question may contain anything, and so may its options."""
    question = Problem("q", text, tuple(options), blank=None)
    assert all(
        filled.startswith(text) and filled.endswith(option) and filled[-len(option) - 1].isspace()
        for filled, option in zip(question.fill_all(), options, strict=True)
    )
    assert (question.blank, question.after, question.blind()) == (None, "", question)


@pytest.mark.parametrize("fields", [{"twin_id": "t "}, {"origin": {"author": " ann"}}])
def test_white_space_around_group_names_is_refused(fields):
    """White space around a twin id would separate the twin."""
    with pytest.raises(ProblemError, match="remove the white space at its start or end"):
        trophy(**{key: Origin(**v) if key == "origin" else v for key, v in fields.items()})
