"""Free text as answers: spellings of our own, and ChatGPT's on WinoGrande's dev set."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winosmith.solve._chat import parse_answer

SURGEONS = "Sarah was a much better surgeon than Maria so _ always got the easier cases."
NAMES = ("Sarah", "Maria")

SECOND = """\
2
2.
(2)
[2]
**2**
` 2 `
２
#2
No. 2
B
b)
(B)
B. Maria
Choice B
Option 2
option two
OPTION 2
Option2
option #2
Option 2: Maria
Option 2, Maria
Option 2 - Maria
Option 2 (Maria)
Option 2. Maria.
2 Maria
2 - Maria
Maria (2)
Maria (option 2)
The second
the second option
2nd
the latter
Maria
maria.
"Maria"
'Maria'
“Maria”
_Maria_
Maria's
Maria, because she is the worse surgeon
Maria because Sarah is better.
Maria - Sarah is better
The answer is Maria.
The correct answer is Option 2: Maria.
Answer: 2
**Answer:** B
Answer:\\n2
Final answer: **Maria**
{"answer": 2}
{"answer": "Maria"}
I would choose Maria since Sarah is better
I'd go with option 2.
Sure! The answer is 2.
Assistant: 2
Output: 2
\\boxed{2}
$\\boxed{\\text{Maria}}$
Option 2 is correct
The blank should be filled with Maria.
The word that belongs in the blank is "Maria".
The missing word is Maria
Sarah was a much better surgeon than Maria so Maria always got the easier cases.
...so Maria always got the easier cases.
Option 1 (Sarah) would get the hard cases. Option 2 (Maria) fits better.
Let's think. Sarah is better. So the easy cases go to the other. The answer is 2
Option 1: Sarah\\nOption 2: Maria\\n\\nAnswer: 2
2\\n\\nExplanation: Sarah is better, so Maria gets them. Option 1 would be wrong.
It is Maria, not Sarah.
Maria rather than Sarah
It can't be Sarah, so it must be Maria.
<think>Sarah? 1? No.</think>2
""".splitlines()

UNCLEAR = """\

I don't know.
Both
Neither Sarah nor Maria.
Sarah or Maria
Option 1 or Option 2
1 or 2
1 and 2
3
Option 3
Not Sarah.
Option 2 is not correct
1 is wrong
Option 1: Maria
Option 1: Sarah\\nOption 2: Maria
Option 1 (Sarah) would mean one thing, while Option 2 (Maria) would mean another.
There are 2 people here.
A cup
<think>Sarah? 1
""".splitlines()


TURNED = dict(zip("1 2 ２ B b two second 2nd latter".split(),
                  "2 1 １ A a one first 1st former".split(), strict=True))  # fmt: skip


def _turned(place: re.Match[str]) -> str:
    return TURNED[place.group()]


def _unescaped(text: str) -> str:
    return text.replace("\\n", "\n")


def test_an_answer_is_read_in_any_spelling() -> None:
    """Each of these means the second option."""
    said = map(_unescaped, SECOND)
    assert [text for text in said if parse_answer(text, NAMES, SURGEONS) != 1] == []


def test_the_first_is_read_as_the_second_is() -> None:
    """The same words for the first option mean the first."""
    spelt = r"2nd|[12２]|\b[Bb]\b|two|second|latter"
    said = [re.sub(spelt, _turned, _unescaped(text)) for text in SECOND]
    assert [text for text in said if parse_answer(text, NAMES[::-1], SURGEONS) != 0] == []


@pytest.mark.parametrize("text", UNCLEAR)
def test_what_is_not_clear_is_no_answer(text: str) -> None:
    """Silence, both, neither, a contradiction, a place that isn't there: none is an answer."""
    assert parse_answer(_unescaped(text), NAMES, SURGEONS) is None


@pytest.mark.parametrize(
    ("text", "options", "meant"),
    [
        ("shirt", ("shirt", "t-shirt"), 0),
        ("The T-Shirt.", ("shirt", "t-shirt"), 1),
        ("It fits the t-shirt.", ("shirt", "t-shirt"), 1),
        ("the suitcase.", ("trophy", "suitcase"), 1),
        ("the trophy is too large", ("trophy", "suitcase"), 0),
        ("Ann's cup", ("Ann", "Ann's cup"), 1),
        ("3", ("2", "3"), 1),
        ("2", ("2", "3"), None),  # the first by its words, the second by its place
        ("Option 2", ("2", "3"), 1),
        ("Option 4", ("v", "w", "x", "y", "z"), 3),
        ("C", ("w", "x", "y", "z"), 2),
        ("the fifth option", ("v", "w", "x", "y", "z"), 4),
        ("the latter", ("x", "y", "z"), 1),
        ("Café", ("CAFÉ", "bar"), 0),
        ("-1", ("5", "-1", "7", "1"), 1),
        ("B. -1", ("1", "-1"), 1),
        ("- B. -1", ("1", "-1"), 1),
        ("D. CL", ("Na", "K", "Cl", "CL"), 3),
        ("cl", ("Na", "K", "Cl", "CL"), None),
    ],
)
def test_options_of_all_kinds_are_told_apart(
    text: str, options: tuple[str, ...], meant: int | None
) -> None:
    """Options within others, numbers, signs and case in options, more than two, other scripts."""
    assert parse_answer(text, options) == meant


@given(st.text(max_size=200))
def test_no_text_breaks_the_reader(text: str) -> None:
    """Any text at all gives an option or none."""
    assert parse_answer(text, NAMES, SURGEONS) in (None, 0, 1)


def test_a_long_text_is_read_soon() -> None:
    """Pages and pages of both names is read, and means nothing."""
    assert parse_answer("Sarah and Maria " * 10_000, NAMES, SURGEONS) is None


@pytest.fixture(scope="module")
def chatgpt(data_dir: Path) -> list[dict[str, str]]:
    """Return ChatGPT's answers on WinoGrande's dev set, as they were typed, with explanations."""
    path = data_dir / "winogrande_predictions" / "ugorsahin_chatgpt_results.csv"
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _read(row: dict[str, str], text: str) -> int | None:
    return parse_answer(text, (row["option1"], row["option2"]), row["sentence"])


@pytest.mark.data
@pytest.mark.parametrize("form", ["{chatgpt}", "{chatgpt}\n{reason}", "{chatgpt} {reason}"])
def test_every_answer_of_chatgpt_is_read(chatgpt: list[dict[str, str]], form: str) -> None:
    """All 1,267 answers, in 653 spellings, are read right, with their explanation or without.

    What is right is the number that each holds, and so is the accuracy that their author
    published: 62.75 %, which is 795 of 1,267.
    """
    assert len({row["chatgpt"] for row in chatgpt}) == 653
    read = [_read(row, form.format_map(row)) for row in chatgpt]
    number = [int(next(c for c in row["chatgpt"] if c in "12")) - 1 for row in chatgpt]
    assert read == number
    right = sum(choice == int(row["answer"]) - 1 for choice, row in zip(read, chatgpt, strict=True))
    assert (len(read), right) == (1267, 795)


@pytest.mark.data
def test_explanations_alone_are_read_with_care(chatgpt: list[dict[str, str]]) -> None:
    """Of 1,078 explanations without their answer half are read, and 99 % of these as it was given.

    The others name both options without preferring one. The 4 that are read otherwise contradict
    the answer that they explain.
    """
    explained = [row for row in chatgpt if row["reason"].strip()]
    pairs = [(_read(row, row["reason"]), _read(row, row["chatgpt"])) for row in explained]
    read = [(mine, given) for mine, given in pairs if mine is not None]
    assert (len(explained), len(read)) == (1078, 561)
    assert sum(mine != given for mine, given in read) == 4
