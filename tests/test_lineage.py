"""Edits, lineages, and the three depths of a perturbed problem."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from winosmith import Dataset, Edit, Lineage, Origin, Problem
from winosmith.errors import ProblemError
from winosmith.lineage import (
    UNVALIDATED,
    Depths,
    apply_edits,
    check_lineages,
    depths,
    find_edits,
    make_child,
)
from winosmith.problem import Extra
from winosmith.text import diff_text, mark_differences, tokenize

ROWS = st.lists(st.sampled_from(["a", "b", "c", "the"]), max_size=9)
BOTTLE = ("bottle", "cup")
MONICA = ("Monica", "Samantha")

TABLE_2 = [
    ("I poured water from the bottle into the cup until _ was full.", 0, 0),
    ("I poured water from the bottle into the cup because _ was empty.", 2, 2),
    ("I poured water from the bottle, filling the cup until _ was empty.", 4, 3),
    ("I decanted water from the feeding bottle into the cup until _ was empty.", 4, 3),
]
"""EvoGrad, table 2: each sentence, its printed depth, and its token edit distance."""

PROSECUTED = (
    "Although she was being prosecuted, Monica was welcomed into the sanctuary of the church by "
    "Samantha because _was a "
)

TABLE_3 = [
    (f"{PROSECUTED}sinful criminal.", 0, 0),
    (f"{PROSECUTED}guilty criminal.", 1, 1),
    (f"{PROSECUTED}compassionate person.", 2, 2),
    (
        "Even though she was being prosecuted, Monica was guided into the safe haven of the "
        "church by Samantha because _was a virtuous person.",
        5,
        7,
    ),
    (
        "While under prosecution, Monica was brought into the spiritual refuge of the church by "
        "Samantha because _was a good-natured woman.",
        6,
        10,
    ),
    (
        "While being prosecuted, Monica was welcomed into the church’s refuge by Samantha because "
        "_was a law-abiding person.",
        5,
        9,
    ),
]
"""EvoGrad, table 3, in the same format; the first row is the original sentence above it."""

APPENDIX = [
    (
        "Although they ran at about the same speed, Sue beat Sally because _had such a good start.",
        0,
        0,
    ),
    (
        "Even though they raced at the same speed, Sue beat Sally although _had a powerful start.",
        5,
        7,
    ),
]
"""EvoGrad, appendix A.1, same format: "You said the distance is 3. It's actually 5 here"."""


def brute_distance(first: list[str], second: list[str]) -> int:
    """Return the least number of edits, by its recursive definition."""
    row = list(range(len(second) + 1))
    for i, one in enumerate(first, 1):
        last, row[0] = row[0], i
        for j, other in enumerate(second, 1):
            last, row[j] = row[j], min(last + (one != other), row[j] + 1, row[j - 1] + 1)
    return row[-1]


def problem(sentence: str, number: int = 0, **changes: object) -> Problem:
    """Return a problem with the number as its id."""
    options = changes.pop("options", ("x", "y"))
    return Problem(str(number), sentence, options, **changes)


def chain(*sentences: str) -> Dataset:
    """Return a root and its descendants; each is the child of the previous one."""
    found = [problem(sentences[0])]
    for number, sentence in enumerate(sentences[1:], 1):
        lineage = Lineage("0", str(number - 1))
        found.append(problem(sentence, number, lineage=lineage))
    return Dataset(found)


@given(ROWS, ROWS)
def test_edit_scripts_are_correct_shortest_and_ordered(before, after):
    script = find_edits(before, after)
    assert apply_edits(before, script) == tuple(after)
    assert len(script) == brute_distance(before, after)
    places = [edit.at for edit in script]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("edit", "complaint"),
    [
        (Edit("substitute", 0, "b", "c"), "expects 'b' at token 0, but found 'a'"),
        (Edit("delete", 2, "b"), "is at token 2, beyond the end of 1 tokens"),
        (Edit("insert", 2, new="b"), "is at token 2, beyond the end of 1 tokens"),
    ],
)
def test_edit_of_other_tokens_is_refused_with_its_position(edit, complaint):
    with pytest.raises(ProblemError, match=complaint):
        apply_edits(["a"], [edit])


@pytest.mark.parametrize(
    ("table", "options"), [(TABLE_2, BOTTLE), (TABLE_3, MONICA), (APPENDIX, ("Sue", "Sally"))]
)
def test_depths_match_the_tables_of_evograd(table, options):
    """Declared depths are the printed ones; edit depths are token distances to the root."""
    rows = [
        problem(sentence, number, options=options, lineage=Lineage("0", "0", declared=printed))
        if number
        else problem(sentence, options=options)
        for number, (sentence, printed, _) in enumerate(table)
    ]
    found = depths(Dataset(rows))
    assert [of.declared for of in found] == [printed for _, printed, _ in table]
    assert [of.edit for of in found] == [distance for _, _, distance in table]
    assert [of.lineage for of in found] == [distance for _, _, distance in table]
    assert check_lineages(Dataset(rows)) == {}


PATHS = [
    (("the cup was _ .", "the mug was _ .", "the jug was _ ."), (0, 1, 1)),
    (("the cup was _ .", "the mug was _ .", "the cup was _ ."), (0, 1, 1)),
    (("the cup was _ .", "the was _ .", "the mug was _ ."), (0, 1, 1)),
    (("the cup was _ .", "the big cup was _ .", "the red cup was _ ."), (0, 1, 1)),
    (("the _ .", "the big _ .", "the _ .", "the red _ ."), (0, 1, 1, 1)),
    (("the cup was _ .", "cup was _ .", "was _ .", "the cup was _ ."), (0, 1, 2, 2)),
    (("the cup was _ .", "was _ .", "a mug was _ .", "a big mug was _ ."), (0, 2, 2, 3)),
    (("the cup was _ .", "the cup was so _ .", "a cup was so _ .", "a cup was _ ."), (0, 1, 2, 2)),
]  # fmt: skip
"""Paths of sentences, with the lineage depth of each sentence."""


@pytest.mark.parametrize(("path", "expected"), PATHS)
def test_lineage_depth_counts_each_position_once(path, expected):
    """Changing, emptying or refilling a position again adds nothing; a new position adds 1."""
    assert tuple(of.lineage for of in depths(chain(*path))) == expected


@given(st.lists(ROWS, min_size=1, max_size=6))
def test_lineage_depth_never_falls_along_a_path(rows):
    """It is at least the edit depth, and at most the number of all edits."""
    data = chain(*(" ".join([*row, "_"]) for row in rows))
    found = depths(data)
    made = sum(brute_distance(before, after) for before, after in pairwise(rows))
    lineages = [of.lineage or 0 for of in found]
    assert lineages == sorted(lineages)
    assert lineages[-1] <= made
    assert all((of.edit or 0) <= (of.lineage or 0) for of in found)


@given(st.permutations(range(6)))
def test_row_order_does_not_change_depths(order):
    data = chain("a _", "b _", "b c _", "c _", "c d e _", "x c d e _")
    shuffled = data.select(order)
    assert [depths(data)[row] for row in order] == list(depths(shuffled))


def test_unknown_depths_are_none():
    """Without an ancestor there is no lineage depth; without the root, no edit depth.

    In EvoGrad's table, a row before any original is not a root.
    """
    data = chain("a _", "b _", "b c _")
    assert depths(data.select([0, 2]))[1] == Depths(None, None, 2)
    assert depths(data.select([1, 2])) == (Depths(None, None, None),) * 2
    lost = problem("a _", extra=Extra({"evograd.distance": 3}))
    assert depths(Dataset([lost])) == (Depths(3, None, None),)


def test_measured_depths_are_used_only_if_none_can_be_computed():
    """Invalid measured depths are ignored."""
    data = chain("a _", "b _", "b c _")
    told = Extra({"depth.lineage": 7, "depth.edit": 8})
    rows = [replace(one, extra=told) for one in data]
    assert depths(Dataset(rows)) == depths(data)
    assert depths(Dataset([rows[0], rows[2]]))[1] == Depths(None, 7, 2)
    assert depths(Dataset(rows[1:])) == (Depths(None, 7, 8), Depths(None, 7, 8))
    odd = replace(rows[2], extra=Extra({"depth.lineage": True, "depth.edit": "x"}))
    assert depths(Dataset([odd])) == (Depths(None, None, None),)


def test_lineage_of_20000_generations_has_depths_and_no_faults():
    words = [f"w{number}" for number in range(12)]

    def sentence(number: int) -> str:
        return " ".join([*words[: number % 12], f"v{number}", *words[number % 12 + 1 :], "_"])

    long = chain(*map(sentence, range(20_000)))
    assert depths(long)[-1].lineage == 12
    assert check_lineages(long) == {}


def test_each_problem_in_a_cycle_is_reported():
    """The message lists the cycle; descendants of the cycle are not reported."""
    ring = [problem(f"{n} _", n, lineage=Lineage("r", str((n + 1) % 3))) for n in range(3)]
    below = problem("z _", 9, lineage=Lineage("r", "0"))
    own = problem("q _", 5, lineage=Lineage("5", "5"))
    data = Dataset([below, *ring, own])
    found = check_lineages(data, complete=False)
    assert sorted(found) == [1, 2, 3, 4]
    assert found[1].startswith("the lineage is a cycle: ")
    assert all(name in found[1] for name in ("'0'", "'1'", "'2'"))
    assert found[4] == "the problem is its own parent; a root has no lineage"
    assert depths(data)[1:4] == (Depths(None, None, None),) * 3


CONTRADICTIONS = [
    (
        Lineage("0", "0", (Edit("substitute", 0, "q", "b"),)),
        "expects 'q' at token 0, but found 'a'",
    ),
    (Lineage("0", "0", (Edit("substitute", 0, "a", "z"),)), "result in 'z _' at token 0"),
    (Lineage("0", "0", (Edit("delete", 7, "a"),)), "beyond the end of 2 tokens"),
    (Lineage("2", "0"), "the root is '2', but its parent '0' has the root '0'"),
]


@pytest.mark.parametrize(("lineage", "complaint"), CONTRADICTIONS)
def test_contradictory_lineages_are_reported(lineage, complaint):
    data = Dataset([problem("a _"), problem("b _", 1, lineage=lineage)])
    (found,) = check_lineages(data, complete=False).items()
    assert found[0] == 1
    assert complaint in found[1]


def test_only_impossible_declared_depths_are_reported():
    """A depth of 9 for one edit is possible; a depth of 0 for another sentence is not.

    Parts of a data set are not checked (`complete=False`).
    """

    def declared(sentence: str, number: int, depth: int) -> Problem:
        return problem(sentence, number, lineage=Lineage("0", "0", declared=depth))

    data = Dataset(
        [problem("a _"), declared("b _", 1, 9), declared("b c _", 2, 0), declared("a _", 3, 1)]
    )
    assert check_lineages(data) == {
        2: "the declared depth is 0, but the root is 2 edits away",
        3: "the declared depth is 1, but the sentence and the options are the same as the root's",
    }
    assert check_lineages(data, complete=False) == {}


def test_missing_parents_are_reported_only_for_complete_data():
    part = chain("a _", "b _", "b c _")[1:]
    assert isinstance(part, Dataset)
    assert check_lineages(part) == {
        0: "the parent '0' is not in the data set",
        1: "the root '0' is not in the data set",
    }
    assert check_lineages(part, complete=False) == {}


def test_child_inherits_licence_domain_embargo_and_root():
    root = Problem(
        "r",
        "The cup hit the _ .",
        ("vase", "tray"),
        0,
        twin_id="t",
        pronoun="it",
        origin=Origin("winogrande", domain="physical", anchor="cup", licence="CC-BY-4.0"),
        embargo=True,
    )
    child = make_child(
        root, "The mug hit the _ .", root.options, 1, source="wordnet", extra={"chat.batch": 2}
    )
    grandchild = make_child(child, "The mug hit a _ .", ("pot", "tray"), None, source="person")
    assert child.origin == Origin("wordnet", domain="physical", licence="CC-BY-4.0")
    assert (child.twin_id, child.pronoun, child.embargo) == (None, "it", True)
    assert dict(child.extra) == {"chat.batch": 2, UNVALIDATED: True}
    assert grandchild.lineage is not None
    assert (grandchild.lineage.root, grandchild.lineage.parent) == ("r", child.id)
    assert grandchild.pronoun is None
    assert check_lineages(Dataset([root, child, grandchild])) == {}


def test_id_of_a_child_does_not_depend_on_its_answer():
    """A perturbation without a change is refused."""
    root = problem("The cup hit the _ .")
    ids = {
        make_child(root, "The mug hit the _ .", root.options, answer, source="person").id
        for answer in (None, 0, 1)
    }
    other = make_child(root, "The mug hit the _ .", ("y", "x"), 0, source="person").id
    assert len(ids) == 1
    assert other not in ids
    assert other.startswith("0.")
    with pytest.raises(ProblemError, match="changes neither the sentence nor the options"):
        make_child(root, root.sentence, root.options, 1, source="person")


def test_deleted_full_stop_is_a_separate_edit():
    assert find_edits(tokenize("It _ fell."), tokenize("It _ fell")) == (Edit("delete", 3, "."),)


SENTENCES = st.lists(
    st.sampled_from("The cup, can't mug. _ is Ann's so a 1,000".split()), max_size=7
).map(" ".join)


@given(SENTENCES, SENTENCES)
def test_marked_differences_preserve_both_sentences(mine, other):
    found = mark_differences(mine, other)
    assert "".join(one.text for one in found) == mine
    assert {one.kind for one in mark_differences(mine, mine)} <= {""}
    left = "".join(one.text for one in diff_text(other, mine) if one.kind != "del")
    assert "".join(left.split()) == "".join(mine.split())
