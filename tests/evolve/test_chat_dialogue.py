"""The dialogue of a perturber: EvoGrad's own one, faults of rows, and when it ends."""

import itertools
import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from winosmith import Dataset, Problem, formats
from winosmith.chat import Reply
from winosmith.errors import InputError, ProblemError
from winosmith.evolve import Dialogue
from winosmith.evolve._chat_dialogue import format_row
from winosmith.evolve._chat_rows import REPAIRED, Row, RowChecker, normalize_sentence, parse_rows
from winosmith.lineage import check_lineages, depths
from winosmith.text import compute_edit_distance, tokenize

# EvoGrad (2024), appendix A.1: the original, and the author's example of a wrong distance
SUE = Problem(
    "sue",
    "Although they ran at about the same speed, Sue beat Sally because _had such a good start.",
    ("Sue", "Sally"),
    0,
)

RACED = "Even though they raced at the same speed, Sue beat Sally although _had a powerful start."
NAMES = ["Ann", "Bea", "Cleo", "Dora", "Eve", "Fay", "Gina", "Hope", "Ines", "Jane", "Kim", "Lea"]


def _generate_rows(*, off: int = 0) -> Iterator[str]:
    """Yield endless rows with other names; every second one has the answer flipped."""
    pairs = itertools.permutations(NAMES, 2)
    for number, (first, second) in enumerate(pairs, 1):
        word, answer = ("although", 2) if number % 2 else ("because", 1)
        sentence = (
            f"Although they ran at about the same speed, {first} beat {second} {word} "
            "_had such a good start."
        )
        yield f'{number},"{sentence}",{first},{second},{answer},{2 + number % 2 + off}'


def _reply(rows: Iterator[str], count: int, *more: str) -> Reply:
    return Reply("\n".join(["Here they are:", "", *itertools.islice(rows, count), *more]))


def _last(dialogue: Dialogue) -> str:
    return dialogue.messages[-1].content


def test_dialogue_of_the_paper_is_replayed():
    """The batches are 10, 30 with wrong distances, 10, 30 of which one is wrong, 30 and 20."""
    rows, wrong = _generate_rows(), _generate_rows(off=1)
    dialogue = Dialogue(SUE, batches=(10, 30, 10, 30, 30, 20), distances="refuse")
    assert "Please write 10 rows, numbered from 1." in _last(dialogue)

    assert len(dialogue.process_reply(_reply(rows, 10))) == 10
    assert _last(dialogue).startswith("All rows are right. Well done.\n")
    assert "Please write 30 rows, numbered from 11." in _last(dialogue)

    list(itertools.islice(wrong, 10))  # skip the sentences that were accepted
    assert dialogue.process_reply(_reply(wrong, 30)) == ()
    assert "Of your 30 rows I keep 0.\n30 distances are wrong. For example" in _last(dialogue)
    assert "you state 4. The distance is 3: Sue → Ann (1), Sally → " in _last(dialogue)
    assert "Please write 10 rows, numbered from 41." in _last(dialogue)

    assert len(dialogue.process_reply(_reply(rows, 10))) == 10
    assert _last(dialogue).startswith("All rows are right.")
    praised = _reply(rows, 29, f'30,"{RACED}",Sue,Sally,2,3')
    assert len(dialogue.process_reply(praised)) == 29
    assert "Of your 30 rows I keep 29.\n1 distance is wrong." in _last(dialogue)
    # the author counts five: "had such a" → "had a" and "because" → "although" are two more
    assert (
        f"{RACED}\nyou state 3. The distance is 7: Even added (1), Although → though (2), ran → "
        "raced (3), about left out (4), because → although (5), such left out (6), good → "
        "powerful (7)."
    ) in _last(dialogue)

    assert len(dialogue.process_reply(_reply(rows, 30))) == 30
    assert "Please write 20 rows" in _last(dialogue)
    assert len(dialogue.process_reply(_reply(rows, 20))) == 20
    assert dialogue.batch_size == 1
    assert len(dialogue.process_reply(_reply(rows, 5))) == 1  # one was wanted
    assert dialogue.ending is not None
    assert dialogue.ending == ("done", "100 of 100 children were accepted")
    assert Counter(problem.answer for problem in dialogue.accepted) == {0: 50, 1: 50}
    assert dialogue.count_faults() == {"distance": 31}
    assert check_lineages(_family(dialogue)) == {}
    assert {(one.declared == one.edit) for one in depths(_family(dialogue))} == {True}


def _family(dialogue: Dialogue) -> Dataset:
    return Dataset([dialogue.parent, *dialogue.accepted])


def test_wrong_distances_are_corrected_by_default():
    """The model is informed of the worst one; rows with other faults are not the example."""
    dialogue = Dialogue(SUE)
    (child,) = dialogue.process_reply(Reply(f'1,"{RACED}",Sue,Sally,2,3'))
    assert child.lineage is not None
    assert child.lineage.declared == 7
    assert child.extra["chat.claimed"] == 3
    assert "1 distance is wrong." in _last(dialogue)
    dialogue = Dialogue(SUE)
    lines = list(itertools.islice(_generate_rows(off=1), 3))
    other = '4,"Sue ran and she won.",Sue,Ann,1,99'
    dialogue.process_reply(Reply("\n".join([*lines, f'5,"{RACED}",Sue,Sally,2,3', other])))
    assert f"5 distances are wrong. For example, for your sentence\n{RACED}" in _last(dialogue)


def test_next_turn_is_smaller_after_a_truncated_or_bad_one():
    """EvoGrad's appendix A.1 asks for ten rows "to see if it's okay"."""
    dialogue = Dialogue(SUE, batches=(30,))
    rows = "\n".join(itertools.islice(_generate_rows(), 8))
    assert len(dialogue.process_reply(Reply(rows[:-20], finish="length"))) == 7
    assert "Your reply was cut off" in _last(dialogue)
    assert "Please write 7 rows" in _last(dialogue)
    dialogue.process_reply(Reply("I think", finish="length"))
    assert "Please write 3 rows" in _last(dialogue)
    dialogue = Dialogue(SUE, batches=(30, 30))
    dialogue.process_reply(_reply(_generate_rows(off=1), 30))
    assert dialogue.batch_size == 10


def test_dialogue_ends_after_fruitless_or_too_many_turns():
    """Three turns without a row are fruitless."""
    dialogue = Dialogue(SUE)
    for text in ("", "I can't help with that.", "..."):
        assert dialogue.ending is None
        dialogue.process_reply(Reply(text))
    assert dialogue.ending == (
        "fruitless",
        "the last 3 turns had no acceptable row (0 of 100 accepted); most faults: ellipsis 1. Use "
        "a stronger model, or read its replies in the transcript",
    )
    mute = Dialogue(SUE, fruitless=1)
    mute.process_reply(Reply("Hm."))
    assert mute.ending is not None
    assert "no reply contained a row of the table" in mute.ending.message
    dialogue, rows = Dialogue(SUE, most_rounds=4), _generate_rows()
    while not dialogue.ending:
        dialogue.process_reply(_reply(rows, 1))
    assert dialogue.ending == (
        "rounds",
        "4 of 100 children were accepted in 4 turns; allow more turns, or use a stronger model",
    )  # fmt: skip


def test_planted_faults_of_rows_are_found():
    """They are 170 of 13 kinds, in 256 rows; rows whose faults can be corrected are accepted.

    Four more faults are real, although not planted on purpose.
    """
    planted = Counter(fault for record, _ in ROWS for fault in record["faults"])
    assert (len(ROWS), planted.total(), len(planted)) == (256, 170, 13)
    assert min(planted.values()) >= 8
    assert sum(not record["faults"] for record, _ in ROWS) >= 100
    found = [(record, set(record["faults"]), checked) for record, checked in ROWS]
    missed = [(record["row"], kinds) for record, kinds, row in found if kinds - {*row.faults}]
    assert missed == []
    alarms = [(r["row"], row.faults) for r, kinds, row in found if not kinds and row.faults]
    assert alarms == []
    also = sorted(kind for _, kinds, row in found for kind in {*row.faults} - kinds)
    assert also == ["absent", "absent", "distance", "distance"]
    wrong = [r["row"] for r, kinds, row in found if (row.problem is not None) != (kinds <= KEPT)]
    assert wrong == []


def test_rows_may_share_oddities_of_the_original():
    """The original has "her son" for "Ann's son", or a blank glued to a word."""
    for root, text, distance in (
        (Problem("p", "Ann saw her son, and _ was glad.", ("Ann", "Ann's son"), 0),
         '1,"Bob saw his son, and _ was glad.",Bob,Bob\'s son,1,2', 2),
        (Problem("p", "Sue beat Sally because _had a good start.", ("Sue", "Sally"), 0),
         '1,"Sue beat Sally although _had a good start.",Sue,Sally,2,1', 1),
    ):  # fmt: skip
        (row,) = parse_rows(Reply(text))
        checked = RowChecker(root, 0.6, "refuse").check(row, set())
        assert (checked.faults, checked.distance) == ((), distance)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("1,Sue beat Sally,Sue,Sally,1", "it has not the six columns"),
        ('1,"Although they ran, Sue beat Sally because she won.",Sue,Sally,1,9', "exactly one"),
        ('1,"Sue and Ann ran, and _ ran better than the others did.",Sue,Sally,1,9', "both must"),
        ('1,"Although they ran, Sue beat Sally because _ won.",Ann,Sally,1,9', "its old name"),
        ('1,"Although they ran, Sue beat Sally because _ won.",Sue,Sally,3,9', "neither 1 nor 2"),
        ('1,"Although they ran, Sue beat Sally because _ won.",Sue,,1,9', "empty or equal"),
        ("1,...,Sue,Sally,1,2", "rows that you left out"),
        (f'1,"{SUE.sentence.upper()}",Sue,Sally,1,9', "it is the original itself"),
    ],
)
def test_faults_are_explained_with_their_row(row, words):
    dialogue = Dialogue(SUE)
    assert dialogue.process_reply(Reply(row)) == ()
    (told,) = [line for line in _last(dialogue).splitlines() if words in line]
    assert told.startswith("1 row cannot be used: it ")
    assert told.endswith(row)


def test_repeated_rows_are_refused():
    """They repeat an earlier turn or a taken problem."""
    dialogue = Dialogue(SUE, taken=[Problem("t", "Sue beat Ann because _ ran.", ("Sue", "Ann"), 0)])
    reply = _reply(_generate_rows(), 3)
    assert len(dialogue.process_reply(reply)) == 3
    assert dialogue.process_reply(reply) == ()
    assert "3 rows cannot be used: each repeats an earlier row" in _last(dialogue)
    dialogue.process_reply(Reply('9,"Sue beat Ann, because _ ran.",Sue,Ann,1,9'))
    assert dialogue.turns[-1].count_faults()["duplicate"] == 1


def test_next_message_asks_for_what_was_missing():
    """Other answers, new names and smaller distances, only if they were missing."""
    dialogue = Dialogue(SUE)
    rows = [
        f'{n},"Although they ran {word} in this very cold, long and hard race, Sue beat Sally '
        f'because _had such a good start.",Sue,Sally,1,8'
        for n, word in enumerate(("fast", "well", "much", "hard"), 1)
    ]
    assert len(dialogue.process_reply(Reply("\n".join(rows)))) == 4
    assert "So far 4 answers are 1 and 0 are 2: write more rows with answer 2" in _last(dialogue)
    assert "You may change the names" in _last(dialogue)
    assert "Keep the distances smaller" in _last(dialogue)
    balanced = Dialogue(SUE)
    balanced.process_reply(_reply(_generate_rows(), 10))
    assert _last(balanced).split("\n\n")[0] == "All rows are right. Well done."


def test_memory_limits_the_sent_turns():
    """The first message is always sent."""
    whole, short, rows = Dialogue(SUE), Dialogue(SUE, memory=1), _generate_rows()
    for _ in range(4):
        reply = _reply(rows, 2)
        whole.process_reply(reply)
        short.process_reply(reply)
    assert len(whole.messages) == 9
    assert short.messages == (whole.messages[0], *whole.messages[-2:])
    assert [message.role for message in short.messages] == ["user", "assistant", "user"]


def test_first_message_explains_with_examples():
    first = Dialogue(SUE).messages[0].content
    assert f'0,"{SUE.sentence}",Sue,Sally,1,0\n' in first
    assert "It has 19 tokens: Although they ran at about the same speed , Sue" in first
    assert "Row 1: parcel → crate (1)." in first
    assert "Row 2: parcel → crate (1), heavy → high (2)." in first


def test_questions_are_answered_only_before_the_first_rows():
    """As in EvoGrad's appendix A.1."""
    dialogue = Dialogue(SUE, wanted=3)
    first = dialogue.messages[0].content
    assert "if anything in this task is not clear to you, you may ask" in first
    assert dialogue.process_reply(Reply("May I change the names? Does a comma count?")) == ()
    answer = dialogue.messages[-1].content
    assert "names and punctuation marks, too" in answer
    assert "Please write 3 rows, numbered from 1." in answer
    dialogue.process_reply(Reply("And the names?"))
    assert "I found no row in your reply" in dialogue.messages[-1].content


@pytest.mark.parametrize(
    "setting",
    [
        {"wanted": 0}, {"batches": ()}, {"batches": (10, 0)}, {"distances": "keep"},
        {"changed": 0.0}, {"most_rounds": 0}, {"fruitless": 0}, {"memory": 0},
    ],
)  # fmt: skip
def test_settings_out_of_range_are_refused(setting):
    with pytest.raises(InputError, match=f"^{next(iter(setting))} is .*; it must be"):
        Dialogue(SUE, **setting)


def test_three_options_or_no_answer_are_refused():
    with pytest.raises(ProblemError, match="'t' has 3 options and an answer; the table"):
        Dialogue(Problem("t", "A _ b.", ("x", "y", "z"), 0))
    with pytest.raises(ProblemError, match="'t' has 2 options and no answer; the table"):
        Dialogue(Problem("t", "A _ b.", ("x", "y")))


HERE = Path(__file__).parent


def _records(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (HERE / name).read_text("utf-8").split("\n") if line]


REPLIES = _records("scripted_replies.jsonl")

KEPT = REPAIRED | {"distance"}
"""Faults that are corrected, so their rows are kept."""


def _root(record: dict[str, Any]) -> Problem:
    options = (record["option1"], record["option2"])
    return Problem(record["root"], record["sentence"], options, record["answer"] - 1)


def _check_rows() -> list[tuple[dict[str, Any], Row]]:
    """Return each scripted row and its check, in order."""
    checkers: dict[str, RowChecker] = {}
    taken: dict[str, set[str]] = {}
    found = []
    for record in _records("scripted_rows.jsonl"):
        name = record["root"]
        if "row" not in record:
            checkers[name], taken[name] = RowChecker(_root(record), 0.6, "correct"), set()
            continue
        rows = parse_rows(Reply(record["row"]))
        assert len(rows) == 1, record["row"]
        checked = checkers[name].check(rows[0], taken[name])
        if checked.problem:
            taken[name].add(normalize_sentence(checked.sentence))
        found.append((record, checked))
    return found


ROWS = _check_rows()


def test_accepted_rows_are_unvalidated_children():
    """Each has its true distance, and the claimed one if that was wrong."""
    for record, checked in ROWS:
        child = checked.problem
        if child is None:
            continue
        assert child.lineage is not None
        assert child.lineage.declared == len(child.lineage.edits) == checked.distance > 0
        assert child.extra["evolve.unvalidated"] is True
        assert child.origin is not None
        assert child.origin.source == "chat"
        wrong = "distance" in checked.faults and checked.claimed_distance is not None
        assert child.extra.get("chat.claimed") == (checked.claimed_distance if wrong else None)
        assert f",{(child.answer or 0) + 1}," in record["row"]


@pytest.mark.parametrize("script", REPLIES, ids=lambda script: script["case"])
def test_rows_are_found_in_fences_tables_and_prose(script):
    """Missing and truncated rows are reported."""
    root = Problem("u", "Ben lent his umbrella to Tom, so _ got wet on the way home.",
                   ("Ben", "Tom"), 0)  # fmt: skip
    dialogue = Dialogue(root)
    accepted = dialogue.process_reply(Reply(script["reply"], finish=script["finish"]))
    (done,) = dialogue.turns
    found = [fault for checked in done.rows for fault in checked.faults]
    found += ["nothing"] if not done.rows else ["cut"] if done.is_truncated else []
    if "truncated" in found:
        found.remove("cut")
    assert (len(accepted), found) == (script["accepted"], script["faults"])


@pytest.mark.data
def test_human_twins_pass_the_checks(data_dir):
    """Of WinoGrande's 10,234 halves, as rows of the other half, one is refused, for a typo."""
    refused: Counter[str] = Counter()
    halves: dict[str, list[Problem]] = defaultdict(list)
    for problem in formats.read(data_dir / "winogrande" / "train_l.jsonl"):
        halves[problem.twin_id or problem.id].append(problem)
    for twin in halves.values():
        for parent, child in itertools.permutations(twin, 2):
            distance = compute_edit_distance(tokenize(parent.sentence), tokenize(child.sentence))
            answer = (child.answer or 0) + 1
            text = format_row(1, child.sentence, child.options, answer, distance)
            (row,) = parse_rows(Reply(text))
            refused.update(RowChecker(parent, 0.6, "refuse").check(row, set()).faults)
    assert refused == {"absent": 1}  # "his first car which had nice leather seatsr"


@given(
    st.text(st.characters(exclude_categories=["C", "Z"], exclude_characters="_"), min_size=1),
    st.text(st.characters(exclude_categories=["C", "Z"], exclude_characters="_|;*\\"), min_size=1),
)
def test_formatted_rows_round_trip(first, second):
    sentence = f"a, {first.replace('|', '').replace(';', '')} _ b"
    text = format_row(7, sentence, (second, "x"), 1, 3)
    if "**" in text or "\\" in text or any(mark in text for mark in "“”"):
        return
    (row,) = parse_rows(Reply(text))
    assert row.cells == ("7", sentence, second, "x", "1", "3")


@given(st.text())
def test_any_reply_can_be_parsed_and_checked(text):
    checker = RowChecker(Problem("r", "Sue beat Ann as _ ran.", ("Sue", "Ann"), 0), 0.6, "correct")
    for row in parse_rows(Reply(text)):
        assert checker.check(row, set()).faults or len(row.cells) == 6


def test_lines_of_a_megabyte_are_parsed():
    """A slow parser would take an hour."""
    for filler in (".", "-", "a_", "<think>", '"', ",", "1,"):
        rows = parse_rows(Reply(filler * (1_000_000 // len(filler)) + " _ x"))
        assert [row.faults for row in rows] in ([("columns",)], [])


def test_child_of_a_child_declares_no_depth():
    """Its distance is to its parent, not to the root."""
    root = Problem("r", "Sue beat Ann because _ ran very well.", ("Sue", "Ann"), 0)
    (row,) = parse_rows(Reply('1,"Sue beat Ann although _ ran very well.",Sue,Ann,2,1'))
    child = RowChecker(root, 0.6, "correct").check(row, set()).problem
    assert child is not None
    (row,) = parse_rows(Reply('1,"Sue beat Ann although _ ran very badly.",Sue,Ann,1,1'))
    grandchild = RowChecker(child, 0.6, "correct").check(row, set()).problem
    assert grandchild is not None
    assert grandchild.lineage is not None
    assert grandchild.lineage.declared is None
    assert grandchild.lineage.root == "r"
