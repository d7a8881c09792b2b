"""Shuffle the options of quizzes in their own files (`winosmith.audit.shuffle_files`)."""

import csv
import gzip
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import needed
from winosmith import formats
from winosmith.audit import shuffle_files
from winosmith.errors import DataError, FormatError

TEXTS = [("red", 'so-called "blue"', "café, gray", "green"), ("salt", "sand", "soap", "silk")] * 6


def rows(record: Callable[[int, tuple[str, ...], int], dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a record per item; each position is the key of every fourth item."""
    return [record(n, texts, n % 4) for n, texts in enumerate(TEXTS)]


def _listed(n: int, texts: tuple[str, ...], key: int) -> dict[str, Any]:
    return {"question": f"Which is {n}?", "options": [*texts], "answer": key}


LAYOUTS: dict[str, Callable[[int, tuple[str, ...], int], dict[str, Any]]] = {
    "from 0": _listed,
    "from 1": lambda n, t, key: _listed(n, t, key) | {"answer": key + 1},
    "digits as texts": lambda n, t, key: _listed(n, t, key) | {"answer": str(key)},
    "letters": lambda n, t, key: _listed(n, t, key) | {"answer": "ABCD"[key]},
    "Arabic letters": lambda n, t, key: _listed(n, t, key) | {"answer": "أبتث"[key]},
    "small letters": lambda n, t, key: _listed(n, t, key) | {"answer": f"({'abcd'[key]})"},
    "texts": lambda n, t, key: _listed(n, t, key) | {"answer": t[key]},
    "two keys": lambda n, t, key: _listed(n, t, key) | {"answer": "ABCD"[key], "answer_index": key},
    "signs": lambda n, t, key: {
        "question": f"Which is {n}?",
        "options": [f"{sign}. {text}" for sign, text in zip("ABCD", t, strict=True)],
        "answer": "ABCD"[key],
    },
    "labels": lambda n, t, key: {
        "question": f"Which is {n}?",
        "options": dict(zip("ABCD", t, strict=True)),
        "answer": "ABCD"[key],
    },
    "labelled objects": lambda n, t, key: {
        "question": f"Which is {n}?",
        "options": [{"label": s, "text": o} for s, o in zip("ABCD", t, strict=True)],
        "answerKey": "ABCD"[key],
    },
    "flags": lambda n, t, key: {
        "question": f"Which is {n}?",
        "answers": [{"text": o, "correct": at == key} for at, o in enumerate(t)],
    },
    "columns": lambda n, t, key: {
        "question": f"Which is {n}?", **dict(zip("ABCD", t, strict=True)), "answer": "ABCD"[key],
    },
    "numbered columns": lambda n, t, key: {
        "question": f"Which is {n}?",
        **{f"option{at}": text for at, text in enumerate(t, 1)},
        "answer": key + 1,
    },
}  # fmt: skip
"""Layouts of quizzes: functions that write the options and the key of an item."""


def content(path: Path) -> list[tuple[str, list[str], str]]:
    """Return the questions, the sorted options and the correct options of a file."""
    return [
        (p.sentence, sorted(p.options), p.options[p.answer])
        for p in formats.scan(path).problems
        if p.answer is not None
    ]


def written(layout: str, folder: Path, ending: str) -> Path:
    """Write a quiz in a layout."""
    quiz = [*map(dict, rows(LAYOUTS[layout]))]
    path = folder / f"quiz.{ending}"
    if ending == "csv":
        out = io.StringIO(newline="")
        table = csv.DictWriter(out, [*quiz[0]], lineterminator="\r\n")
        table.writeheader()
        table.writerows(quiz)
        path.write_bytes(out.getvalue().encode("utf-8-sig"))
    elif ending == "yaml":
        dumped = needed("yaml").safe_dump({"questions": quiz}, sort_keys=False, allow_unicode=True)
        path.write_text("# A quiz.\n" + dumped.replace("- question:", "# An item\n- question:"))
    elif ending == "jsonl":
        path.write_text("".join(json.dumps(one) + "\n" for one in quiz))
    else:
        path.write_text(json.dumps({"title": "Made up", "questions": quiz}, indent=4) + "\n")
    return path


@pytest.mark.parametrize(
    ("layout", "ending"),
    [(layout, ending) for layout in LAYOUTS for ending in ("json", "jsonl", "yaml")]
    + [("columns", "csv"), ("numbered columns", "csv")],
)
def test_only_the_order_of_options_changes(tmp_path, layout, ending):
    """Letters, layout and encoding of the file stay.

    A second run with the same seed changes nothing.
    """
    path = written(layout, tmp_path, ending)
    raw, before = path.read_bytes(), content(path)
    places = [p.answer for p in formats.scan(path).problems]
    found = shuffle_files([path])
    assert found.unchanged == ()
    assert found.write() == [str(path)]
    assert content(path) == before
    assert [p.answer for p in formats.scan(path).problems] != places
    lines = zip(path.read_bytes().splitlines(), raw.splitlines(), strict=True)
    spaces = [(len(now) - len(now.lstrip()), len(old) - len(old.lstrip())) for now, old in lines]
    assert all(now == old for now, old in spaces)
    assert path.read_bytes()[:3] == raw[:3]  # a byte-order mark
    assert shuffle_files([path]).write() == []
    assert shuffle_files([path], seed=1).files[0].changed


@pytest.mark.parametrize("letters", ["ABCD", "أبتث", "イロハニ"])
@pytest.mark.parametrize("options_have_signs", [True, False])
def test_sign_of_a_key_is_that_of_its_new_position(tmp_path, letters, options_have_signs):
    """Of "ت.

    cup", the letter changes. If the order of the letters is unclear, the item is unchanged.
    """
    rows = []
    for n, texts in enumerate(TEXTS):
        signed = [f"{sign}. {text}" for sign, text in zip(letters, texts, strict=True)]
        options = signed if options_have_signs else [*texts]
        rows.append({"question": f"Which is {n}?", "options": options, "answer": signed[0]})
    path = tmp_path / "quiz.jsonl"
    path.write_text("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in rows), "utf-8")
    found = shuffle_files([path])
    found.write()
    moved = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    start = 3 if options_have_signs else 0
    places = [[one[start:] for one in row["options"]].index(row["answer"][3:]) for row in moved]
    assert [row["answer"][0] for row in moved] == [letters[place] for place in places]
    assert len({*places}) == 4 or found.unchanged


def quiz(folder: Path, items: Sequence[dict[str, Any]] = (), **further: Any) -> Path:
    """Write a quiz whose items have additional values."""
    path = folder / "quiz.json"
    path.write_text(json.dumps([one | further for one in items or rows(_listed)]))
    return path


def test_letters_in_explanations_follow_their_options(tmp_path):
    items = rows(_listed)
    for one in items:
        a, b, c = ("ABCD"[(one["answer"] + more) % 4] for more in range(3))
        one["explanation"] = (
            f"Option {a}\nis right (not ({b})); options ({b}) and ({c}) aren't. A cup é."
        )
    path = quiz(tmp_path, items)
    assert shuffle_files([path]).write()
    for both in zip(items, json.loads(path.read_text()), strict=True):
        named, now = (
            [one["options"]["ABCD".index(c)]
             for c in re.findall("[A-D](?! cup)", one["explanation"])]
            for one in both
        )  # fmt: skip
        assert named == now
        rest, rest_now = (re.sub("[A-D]", "", one["explanation"]) for one in both)
        assert rest == rest_now


@pytest.mark.parametrize(
    ("further", "reason"),
    [
        ({"why": "Clearly B is meant."}, "its 'why' may refer to an option by 'B'"),
        ({"why": "Only 'C' is right."}, "its 'why' may refer to an option by 'C'"),
        ({"why": "b is right"}, "its 'why' may refer to an option by 'b'"),
        ({"why": "The first is right."}, "its 'why' may refer to an option by its position"),
        ({"why": "(A)-(C) are wrong."}, "its 'why' may refer to an option by 'A'"),
        ({"why": "Vitamin (A) is healthy."}, "its 'why' may refer to an option by 'A'"),
        ({"subject": "Choice A"}, "its 'subject' may refer to an option by 'A'"),
        ({"feedback": {"A": "yes", "B": "no"}}, "another field has one value per option"),
        ({"feedback_A": "yes", "feedback_B": "no"}, "several columns have one value per option"),
        ({"question": "Is (A) or (B) right?"}, "the order of its options matters"),
        ({"why": "Here A is wrong."}, "its 'why' may refer to an option by 'A'"),
        ({"why": "A describes it better."}, "its 'why' may refer to an option by 'A'"),
        ({"why": "Hence option b."}, "its 'why' may refer to an option by 'option b'"),
        ({"why": "Верно Б."}, "its 'why' may refer to an option by 'Б'"),
        ({"why": "B是错的"}, "its 'why' may refer to an option by 'B'"),
        ({"why": "The 2nd option is wrong."}, "its 'why' may refer to an option by its position"),
        ({"why": "The second option is wrong."}, "may refer to an option by its position"),
        ({"why": "Option two is right."}, "may refer to an option by its position"),
        ({"why": "Die zweite Antwort stimmt."}, "may refer to an option by its position"),
        ({"why": "La opción correcta es la segunda opción."}, "to an option by its position"),
        ({"why": "第二个选项是对的。"}, "may refer to an option by its position"),
        ({"options": ["a", "b", "c", "以上都对"]}, "the order of its options matters"),
        ({"feedback": ["a", "b", "c", "d"]}, "another field has one value per option"),
        ({"feedback": {"A": "a", "B": "b", "C": "c", "D": "d"}}, "another field has one value"),
        ({"options": ["a", "b", "c", "all of the above"]}, "the order of its options matters"),
        ({"copy": ["a", "b", "c", "d"], "options": ["a", "b", "c", "d"]}, "found more than once"),
        ({"why": "a is right"}, "its 'why' may refer to an option by 'a'"),
        ({"p": "[0.1, 0.2, 0.3, 0.4]"}, "its 'p' may have one value per option"),
    ],
)
def test_items_that_can_not_be_changed_safely_are_listed(tmp_path, further, reason):
    path = quiz(tmp_path, **further)
    raw = path.read_bytes()
    found = shuffle_files([path])
    assert found.write() == []
    assert path.read_bytes() == raw
    assert len(found.unchanged) == len(TEXTS)
    assert all(reason in one.reason for one in found.unchanged)
    assert str(found.unchanged[1].place) == f"{path}, row 2"


@pytest.mark.parametrize(
    ("name", "numbers", "refers"),
    [
        ("gpt4_pred", lambda at, key: at % 3, True),
        ("gpt4", lambda at, key: str(key + 1) if at % 3 else 1, True),
        ("worst", lambda at, key: (key + 1) % 4, True),
        ("annotations", lambda at, key: [key, key, at % 4, at % 3, key], True),
        ("level", lambda at, key: at % 4, False),
        ("points", lambda at, key: 1, False),
        ("predicted_seconds", lambda at, key: at + 5, False),
    ],
)
def test_items_with_numbers_of_options_are_unchanged(tmp_path, name, numbers, refers):
    """Numbers refer to options if they are named like answers, or vary with the keys."""
    keys = [at // 4 % 4 for at in range(40)]
    texts = ("up", "on", "in", "by")
    items = [{"question": f"What is {at}?", "options": [f"{text} {at}" for text in texts],
              "answer": "ABCD"[key], name: numbers(at, key)}
             for at, key in enumerate(keys)]  # fmt: skip
    found = shuffle_files([quiz(tmp_path, items)])
    reasons = {one.reason for one in found.unchanged}
    assert reasons == ({f"its {name!r} may refer to an option by a number"} if refers else set())
    assert (found.files[0].changed > 30) is not refers


def test_letter_in_the_feedback_of_an_option_keeps_the_order(tmp_path):
    """Feedback moves with its option, so "B is wrong" would be next to another letter."""
    items = rows(LAYOUTS["flags"])
    for one in items:
        for letter, option in zip("ABCD", one["answers"], strict=True):
            option["feedback"] = f"{letter} is wrong"
    assert {one.reason for one in shuffle_files([quiz(tmp_path, items)]).unchanged} == {
        "the 'feedback' of an option may refer to another option"
    }


def test_items_without_an_answer_are_unchanged(tmp_path):
    """Their keys may be in another file, or in a field that only some files have."""
    found = shuffle_files([quiz(tmp_path, answer=None)])
    assert found.write() == []
    assert {one.reason for one in found.unchanged} == {
        "it has no answer; its key may be in another field or file"
    }


def test_files_with_different_answer_fields_are_refused(tmp_path):
    """The keys of the first file would stay at their old positions."""
    for name in ("answer", "correct"):
        items = [one | {name: "ABCD"[one.pop("answer")]} for one in rows(_listed)]
        (tmp_path / f"{name}.json").write_text(json.dumps(items))
    with pytest.raises(FormatError, match="the answer is in 'correct' only in some rows"):
        shuffle_files([tmp_path / "answer.json", tmp_path / "correct.json"])


def test_words_a_and_i_are_not_option_letters(tmp_path):
    assert shuffle_files(
        [quiz(tmp_path, why="A river is wet, I think. It's a lake; an answer a day.")]
    ).write()


def test_items_with_a_possible_second_key_are_unchanged(tmp_path):
    items = [one | {"answer": "ABCD"[one["answer"]], "correct_index": one["answer"]}
             for one in rows(_listed)]  # fmt: skip
    items[0]["correct_index"] = "n/a"
    path = quiz(tmp_path, items)
    found = shuffle_files([path])
    assert {one.reason for one in found.unchanged} == {"its 'correct_index' may contain the key"}
    assert len(found.write()) <= 1
    assert json.loads(path.read_text())[1:] == items[1:]


def test_key_with_letter_and_text_gets_the_new_letter(tmp_path):
    path = quiz(tmp_path, [one | {"answer": f"{'ABCD'[key]}) {one['options'][key]}"}
                           for one in rows(_listed) for key in [one["answer"]]])  # fmt: skip
    assert shuffle_files([path]).write()
    for one in json.loads(path.read_text()):
        sign, _, text = one["answer"].partition(") ")
        assert one["options"]["ABCD".index(sign)] == text


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("seed", range(8))
def test_shuffled_small_quiz_is_still_unambiguous(tmp_path, first, seed):
    """A key stays if it is the only one that shows whether keys count from 0 or 1."""
    path = quiz(tmp_path, [_listed(n, (f"red {n}", "blue", "green", "gray"), n + first)
                           for n in range(4)])  # fmt: skip
    before = content(path)
    shuffle_files([path], seed).write()
    assert content(path) == before
    assert shuffle_files([path], seed).write() == []


def test_file_mode_and_symbolic_link_are_kept(tmp_path):
    path, link = quiz(tmp_path), tmp_path / "link.json"
    path.chmod(0o600)
    link.symlink_to(path)
    assert shuffle_files([link]).write() == [str(link)]
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o600
    found = shuffle_files([path], seed=1)
    path.write_text(path.read_text() + "\n")
    with pytest.raises(DataError, match="has changed since it was read"):
        found.write()


def test_records_with_several_items_are_unchanged_and_listed(tmp_path):
    units = [{"unit": unit, "questions": rows(_listed)} for unit in (1, 2)]
    found = shuffle_files([quiz(tmp_path, units)])
    assert {one.reason for one in found.unchanged} == {"its record contains several items"}


def test_compressed_file_is_refused(tmp_path):
    """It couldn't be written back as it was."""
    path = tmp_path / "quiz.json.gz"
    path.write_bytes(gzip.compress(quiz(tmp_path).read_bytes()))
    with pytest.raises(DataError, match="decompress it"):
        shuffle_files([path])


def test_order_of_options_depends_only_on_the_item(tmp_path):
    items = [_listed(n, (f"red {n}", "blue", "green", "gray"), 0) for n in range(400)]
    (tmp_path / "all.json").write_text(json.dumps(items))
    for part in (0, 1):
        (tmp_path / f"part{part}.json").write_text(json.dumps(items[part::2]))
    shuffle_files([tmp_path / "all.json"]).write()
    shuffle_files([tmp_path / "part0.json", tmp_path / "part1.json"]).write()
    whole, *halves = (json.loads((tmp_path / f"{name}.json").read_text())
                      for name in ("all", "part0", "part1"))  # fmt: skip
    assert [whole[0::2], whole[1::2]] == halves
    counts = Counter(item["answer"] for item in whole)
    assert all(70 <= counts[place] <= 130 for place in range(4))
