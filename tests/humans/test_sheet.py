"""Test sheets: texts, order, labels and JSON."""

import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from tests.conftest import examples
from tests.humans.conftest import materials
from winosmith import Dataset, Extra, Problem, formats
from winosmith.blocks import find_blocks
from winosmith.errors import DataError, FormatError, ProblemError
from winosmith.humans import (
    Sheet,
    format_answer_key,
    group_schemas,
    make_sheet_record,
    make_sheets,
    parse_sheet,
    read_sheet,
)
from winosmith.humans._sheet import make_snippet, order_options, split_text
from winosmith.testing import make_twins


def test_question_with_other_options_is_not_a_copy():
    options = {"a": ("+1", "-1"), "b": ("+2", "-2"), "c": ("-1", "+1")}
    data = Dataset(Problem(name, "Which is true? _", of, 0) for name, of in options.items())
    made = make_sheets(data)
    assert {item.problem_id for sheet in made.sheets for item in sheet.items} == {"a", "b"}
    assert [one.reason for one in made.omitted] == ["a copy of 'a'"]


def test_sheets_allow_up_to_23_options():
    """The letter X means "ambiguous"."""
    options = tuple(f"word{number}" for number in range(24))
    asked = Problem("q", "Which is it? _", options[:23], 22)
    (sheet,) = make_sheets(Dataset([asked])).sheets
    assert sheet[1].letters == "ABCDEFGHIJKLMNOPQRSTUVW"
    assert (sheet[1].get_option_index("w"), sheet[1].get_option_index("X")) == (22, None)
    with pytest.raises(DataError, match="'q' has 24 options; a test sheet allows at most 23"):
        make_sheets(Dataset([replace(asked, options=options)]))


def _of(sheets: tuple[Sheet, ...], test: str) -> list[Sheet]:
    return [sheet for sheet in sheets if sheet.test == test]


@examples(25)
@given(st.integers(2, 20), st.integers(0, 12), st.integers(0, 99), st.integers(1, 4))
def test_every_problem_is_on_one_test_without_its_other_half(count, texts, seed, orders):
    data = materials(count, texts)
    made = make_sheets(data, seed=seed, orders=orders)
    assert made.omitted == ()
    asked = {test: {i.problem_id for i in _of(made.sheets, test)[0].items} for test in
             {sheet.test for sheet in made.sheets}}  # fmt: skip
    for sheet in made.sheets:
        assert {item.problem_id for item in sheet.items} == asked[sheet.test]
        assert all(
            item.sentence == data[data.row(item.problem_id)].sentence for item in sheet.items
        )
    for one, other in data.twins:
        assert (data[one].id in asked["a"]) != (data[one].id in asked["b"])
        assert (data[one].id in asked["a"]) == (data[other].id in asked["b"])
    assert set().union(*asked.values()) == set(data.ids)
    assert ("common" in asked) == (2 * texts >= 10)


def test_halves_are_assigned_by_seed_not_by_order():
    data = materials(200)
    first = {p.id for p in data if p.id.endswith("-0")}

    def in_a(dataset: Dataset, seed: int) -> set[str]:
        return {item.problem_id for item in make_sheets(dataset, seed=seed).sheets[0].items}

    count = len(in_a(data, 0) & first)
    assert 70 < count < 130
    assert in_a(data, 0) != in_a(data, 1)
    shuffled = data.select(np.random.default_rng(0).permutation(len(data)).tolist())
    assert in_a(shuffled, 0) == in_a(data, 0)


def test_sheets_do_not_depend_on_answers():
    data = materials(9, 6)
    turned = Dataset(replace(p, answer=1 - (p.answer or 0)) for p in data)
    records = [
        json.dumps([make_sheet_record(sheet) for sheet in make_sheets(each, orders=2).sheets])
        for each in (data, turned, data.blind())
    ]
    assert records[0] == records[1] == records[2]


@examples(25)
@given(st.integers(0, 15), st.integers(2, 15), st.integers(0, 99), st.integers(1, 4))
def test_questions_on_one_text_are_adjacent_and_labelled(count, texts, seed, orders):
    for sheet in make_sheets(materials(count, texts), seed=seed, orders=orders).sheets:
        numbers = {item.problem_id: item.number for item in sheet.items}
        for problem_id, number in numbers.items():
            if problem_id.endswith("-1") and problem_id.startswith("p"):
                second = sheet[numbers[problem_id[:-1] + "0"]]
                assert second.number == number + 1
                assert second.label == "SAME TEXT AS PREVIOUS QUESTION"


def test_four_orders_balance_the_positions_of_questions():
    """Each question is once in each quarter of the sheet."""
    sheets = _of(make_sheets(materials(40), orders=4, seed=5).sheets, "a")
    parts: dict[str, list[int]] = {}
    for sheet in sheets:
        for item in sheet.items:
            parts.setdefault(item.problem_id, []).append((item.number - 1) // 10)
    assert all(sorted(where) == [0, 1, 2, 3] for where in parts.values())
    neighbours = [
        {(one.problem_id, two.problem_id) for one, two in zip(s.items, s.items[1:], strict=False)}
        for s in sheets
    ]
    assert len(neighbours[0] & neighbours[1]) < 12


def test_similar_texts_are_labelled_different():
    """Similar texts share half of their words; those with 70 % are never on one sheet."""
    same = [
        Problem(f"s{n}", f"{n} the red cup on the table hit the jug and _ broke.", ("cup", "jug"),
                0, f"t{n}")
        for n in ("Twice on this last sunny day", "Once in that long cold year")
    ]  # fmt: skip
    halves = [replace(p, id=p.id + "b", sentence=p.sentence.replace("broke", "held")) for p in same]
    items = make_sheets(Dataset([*same, *halves])).sheets[0].items
    assert [item.label for item in items] == [None, "TEXT IS DIFFERENT FROM PREVIOUS QUESTION"]
    other = Problem("o", "Ann thanked Sue for all her help, so _ blushed.", ("Ann", "Sue"))
    items = make_sheets(Dataset([same[0], other])).sheets[0].items
    assert [item.label for item in items] == [None, None]


def test_similar_problems_are_one_schema_and_copies_omitted():
    """Twin ids aren't needed."""
    lost = [
        Problem(n, f"The small red cup hit the jug, and then _ {n}.", ("cup", "jug"), 0)
        for n in ("broke", "held")
    ]
    assert group_schemas(Dataset(lost)) == [[0, 1]]
    complete = [replace(p, id=f"{p.id}{t}", twin_id=t, sentence=f"{t} {p.sentence}")
                for t in ("t", "u") for p in lost]  # fmt: skip
    assert group_schemas(Dataset(complete)) == [[0, 1, 2, 3]]
    copy = replace(lost[0], id="copy", sentence=lost[0].sentence.upper())
    made = make_sheets(Dataset([*lost, copy]))
    assert [(left.problem.id, left.reason) for left in made.omitted] == [
        ("copy", "a copy of 'broke'")
    ]


def test_third_text_of_a_schema_needs_a_third_version():
    three = Dataset(
        Problem(n, f"The cup hit the jug, and _ {n}.", ("cup", "jug"), 0, "t") for n in "xyz"
    )
    made = make_sheets(three)
    assert [left.reason for left in made.omitted] == [
        "each person sees only one of 3 related texts, and there are only 2 versions (a, b); give "
        "3 to use all texts"
    ]
    assert make_sheets(three, versions=("a", "b", "c")).omitted == ()


def test_halves_are_spread_over_three_versions():
    data = materials(12)
    made = make_sheets(data, versions=("a", "b", "versionc"))
    assert [sheet.test for sheet in made.sheets] == ["a", "b", "versionc"]
    asked = [item.problem_id for sheet in made.sheets for item in sheet.items]
    assert sorted(asked) == sorted(data.ids)


@given(st.integers(0, 99), st.integers(2, 5))
def test_whole_schemas_are_preferred_among_similar_ones(seed, tests):
    data = Dataset(
        Problem(f"{t}{n}", f"{t} the small red cup hit the jug, and then _ {n}.", ("cup", "jug"),
                0, None if t == "lone" else t)
        for t, n in [("t", "broke"), ("t", "held"), ("u", "broke"), ("u", "held"), ("lone", "fell")]
    )  # fmt: skip
    made = make_sheets(data, versions="abcde"[:tests], seed=seed)
    asked = [item.problem_id for sheet in made.sheets for item in sheet.items]
    assert len(asked) == len(set(asked)) == tests
    for twin in "tu":
        assert sum(name.startswith(twin) for name in asked) in (0, 2)
    assert len(asked) + len(made.omitted) == len(data)


@pytest.mark.data
@pytest.mark.parametrize("seed", range(3))
def test_no_sheet_of_wsc_has_two_similar_texts(data_dir, seed):
    """Of 285 problems, 7 are omitted: 3 twins similar to others, and 254, the third on its text."""
    data = formats.read(data_dir / "wsc/WSCollection.xml")
    made = make_sheets(data, seed=seed)
    block_of = {data.ids[row]: at for at, rows in enumerate(find_blocks(data)) for row in rows}
    for sheet in made.sheets:
        texts: dict[int, set[str]] = {}
        for item in sheet.items:
            texts.setdefault(block_of[item.problem_id], set()).add("".join(item.text))
        assert {len(of_block) for of_block in texts.values()} == {1}
    gone = {left.problem.id for left in made.omitted}
    assert len(gone) == 7
    assert "254" in gone
    assert all((data[one].id in gone) == (data[other].id in gone) for one, other in data.twins)


@pytest.mark.parametrize(
    "versions", [("a",), ("a", "a"), ("a", "common"), ("a", "B"), ("a", ""), ("a", "ninesigns")]
)
def test_invalid_version_names_are_refused(versions):
    with pytest.raises(DataError):
        make_sheets(make_twins(3), versions=versions)


@pytest.mark.parametrize("part", ["text", "snippet"])
def test_item_without_pronoun_or_blank_is_refused(part):
    item = make_sheets(materials(2)).sheets[0].items[0]
    lacking = {part: ("The cup hit the jug, and ", "", " broke.")}
    with pytest.raises(ProblemError, match="item 1 has no pronoun in its text or in its snippet"):
        replace(item, **lacking)


def test_sheet_round_trip_maps_letters_to_options(tmp_path):
    data = materials(4, 6)
    by_id = {problem.id: problem for problem in data}
    for sheet in make_sheets(data).sheets:
        path = tmp_path / f"{sheet.name}.json"
        path.write_text(json.dumps(make_sheet_record(sheet)), "utf-8")
        assert read_sheet(path) == sheet
        for item in sheet.items:
            for letter, text in zip(item.letters, item.options, strict=True):
                index = item.get_option_index(letter.lower())
                assert by_id[item.problem_id].options[index] == text
                assert item.get_letter(index) == letter
            assert item.get_option_index("X") is None
            with pytest.raises(
                ProblemError, match=f"'E' is not an answer to question {item.number}"
            ):
                item.get_option_index("E")


def test_changed_sheet_is_refused(tmp_path):
    record = make_sheet_record(make_sheets(materials(4)).sheets[0])
    one, other, *_ = record["items"]
    one["problem"], other["problem"] = other["problem"], one["problem"]
    path = tmp_path / "a-1.json"
    path.write_text(json.dumps(record), "utf-8")
    with pytest.raises(FormatError, match=r"a-1\.json: the sheet was changed: its code is"):
        read_sheet(path)


@pytest.mark.parametrize(
    "change", [{"winosmith": "answers"}, {"version": 2}, {"items": []}, {"items": [{}]}]
)
def test_invalid_sheets_are_refused(change):
    record = make_sheet_record(make_sheets(materials(2)).sheets[0])
    with pytest.raises(FormatError, match=r"^s\.json: "):
        parse_sheet({**record, **change}, "s.json")


def test_sheet_codes_are_distinct_without_similar_characters():
    codes = [sheet.code for sheet in make_sheets(materials(30, 8), orders=4).sheets]
    assert len(set(codes)) == len(codes) == 12
    assert not Counter("".join(code[-4:] for code in codes)).keys() & set("01AEIOUY")


def test_formulas_in_the_answer_key_are_escaped():
    options = ("=1+1", "the jug")
    data = Dataset([Problem("+1", "The cup hit the jug, and _ broke.", options, 0)])
    key = format_answer_key(data, make_sheets(data).sheets)
    assert key.splitlines()[1].split(",")[3:] == ["'=1+1", "'+1"]


def _problem(sentence: str, options: tuple[str, ...] = ("x", "y"), **more: object) -> Problem:
    return Problem("1", sentence, options, **more)


def test_snippet_of_the_file_is_used():
    """The example is printed in Davis et al. (2016), section 3."""
    trophy = _problem(
        "The trophy did not fit in the brown suitcase because _ was too small.",
        ("trophy", "suitcase"),
        pronoun="it",
        extra=Extra({"wsc.quote2": "was too small."}),
    )
    assert make_snippet(trophy) == ("", "it", " was too small.")
    assert order_options(trophy) == (0, 1)


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Ann knew that _ was late.", ("", "_", " was late.")),
        ("The path was blocked, so we couldn't reach _.", ("we couldn't reach ", "_", ".")),
        ("Ann saw Sue. _ ran.", ("", "_", " ran.")),
        ("_!", ("", "_", "!")),
        ("Ann said (“_’s here”), and left.", ("Ann said (“", "_", "’s here”),")),
    ],
)  # fmt: skip
def test_snippet_is_the_clause_of_the_blank(sentence, expected):
    assert make_snippet(_problem(sentence)) == expected


@given(st.text(max_size=60).filter(lambda text: "_" not in text), st.text(max_size=60).filter(
    lambda text: "_" not in text))  # fmt: skip
def test_snippet_is_part_of_the_text(before, after):
    problem = _problem(before + "_" + after)
    assert "".join(split_text(problem)) == " ".join(problem.sentence.split())
    assert "".join("".join(make_snippet(problem)).split()) in "".join(problem.sentence.split())


@pytest.mark.parametrize(
    ("sentence", "options", "order"),
    [
        ("Sue saw Ann, and _ left.", ("Ann", "Sue"), (1, 0)),
        ("A cup and a jug: _ broke.", ("the jug", "the cup"), (1, 0)),
        ("The old red van hit the bus, and _ stopped.", ("the bus", "the van"), (1, 0)),
        ("The ewe saw Ann, and _ left.", ("Ann", "we"), (0, 1)),  # not a whole word
        ("Sue saw Ann, and _ left.", ("nobody", "Ann", "Sue"), (0, 1, 2)),  # one is missing
    ],
)
def test_options_are_in_order_of_first_occurrence(sentence, options, order):
    """Whole words are matched: an option in full, without its article, or its last word."""
    assert order_options(_problem(sentence, options)) == order


@pytest.mark.data
def test_60_pdps_of_2016_are_on_one_sheet(data_dir):
    data = formats.read(data_dir / "pdp" / "PDPChallenge2016.xml")
    made = make_sheets(data)
    assert [(sheet.name, len(sheet)) for sheet in made.sheets] == [("common-1", 60)]
    assert made.omitted == ()
    items = made.sheets[0].items
    same = [item.label for item in items].count("SAME TEXT AS PREVIOUS QUESTION")
    assert same == sum(bool(problem.extra.get("pdp.same_text")) for problem in data)
    assert sorted(len(i.options) for i in items) == sorted(len(p.options) for p in data)
