"""`ChatSolver`: its conversations, the answers read from replies, and its summary."""

import csv
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from winosmith import Problem
from winosmith.chat import Client, Messages, Reply
from winosmith.errors import DataError
from winosmith.solve._chat import ChatSolver, _score_first_token, parse_answer
from winosmith.testing import make_twins

DATA, TRAIN = make_twins(8, singles=2), make_twins(20, seed=5)
CUP = Problem("a", "The cup hit the jug and the _ broke.", ("cup", "jug"))
THREE = Problem("c", "The cup, the jug and the pan fell, but the _ held.", ("cup", "jug", "pan"))


@dataclass
class Model:
    """A model that answers with a function of the last message and records its conversations."""

    answer: Callable[[str], str]
    asked: list[Messages] = field(default_factory=list)
    finish: str = "stop"

    def __call__(self, messages: Messages, /) -> Reply:
        self.asked.append(messages)
        return Reply(self.answer(messages[-1].content), 10, 1, self.finish)


def answer_first_in_alphabet(shown: str) -> str:
    """Answer the option that is first in the alphabet, wherever it is shown."""
    return min(line.split(": ")[1] for line in shown.splitlines() if line.startswith("Option"))


def test_conversation_follows_the_documented_format():
    """It has the instruction, a solved problem, and the problem with its options in their order."""
    model = Model(lambda _: "2")
    shot = Problem("s", "It was _ who ran.", ("Ann", "Sue"), 1)
    ChatSolver(model, shots=((shot,),)).score([CUP])
    (turns,) = model.asked
    assert [turn.role for turn in turns] == ["user", "assistant", "user"]
    assert turns[0].content == (
        "Each sentence below has one blank, written as an underscore (_). Choose the option that "
        "belongs in the blank, so that the sentence makes sense. Reply with the number of that "
        "option, and nothing else.\n\n"
        "Sentence: It was _ who ran.\nOption 1: Ann\nOption 2: Sue"
    )
    assert turns[1].content == "2"
    assert turns[2].content == (
        "Sentence: The cup hit the jug and the _ broke.\nOption 1: cup\nOption 2: jug"
    )


def test_pronoun_is_marked_and_asked_about_in_all_turns():
    model = Model(lambda _: "2")
    shot = Problem("s", "Ann told Sue that _ ran.", ("Ann", "Sue"), 1, pronoun="she")
    asked = Problem("a", "Ann saw Sue as _ fell.", ("Ann", "Sue"), pronoun="she")
    assert ChatSolver(model, shots=((shot,),), sees="pronoun").score([asked]) == [(0.0, 1.0)]
    (turns,) = model.asked
    assert turns[0].content == (
        "Each sentence below has one pronoun set off by asterisks, such as **she**. Choose the "
        "option that this pronoun refers to. Reply with the number of that option, and nothing "
        "else.\n\nSentence: Ann told Sue that **she** ran.\nQuestion: What does the pronoun "
        "**she** refer to?\nOption 1: Ann\nOption 2: Sue"
    )
    assert turns[2].content == (
        "Sentence: Ann saw Sue as **she** fell.\nQuestion: What does the pronoun **she** refer to?"
        "\nOption 1: Ann\nOption 2: Sue"
    )
    with pytest.raises(DataError, match=r"the pronoun of 1 of 1 problems is unknown \('a'\)"):
        ChatSolver(model, shots=((replace(CUP, answer=1),),), sees="pronoun")


@pytest.mark.parametrize(
    ("reply", "scores"),
    [("1", (1.0, 0.0)), ("It's the jug.", (0.0, 1.0)), ("Either.", (0.5, 0.5)), ("", (0.5, 0.5))],
)
def test_reply_gives_the_chosen_option_a_score_of_1(reply, scores):
    """If no option is clear, all get the same score."""
    assert ChatSolver(Model(lambda _: reply)).score([CUP]) == [scores]


def test_unclear_and_truncated_replies_are_counted():
    model = Model(lambda shown: "hm" if "cup" in shown else "1", finish="length")
    interview = ChatSolver(model).ask([CUP, *DATA])
    assert interview.record() == {
        "problems": 19,
        "replies": 19,
        "unclear": 1,
        "unclear_rate": 1 / 19,
        "cut_off": 19,
        "first_place": 1.0,
        "position_bias": None,
        "tokens_in": 190,
        "tokens_out": 19,
    }
    assert interview.replies[0].choice is None
    assert interview.replies[0].reply.text == "hm"


@pytest.mark.parametrize(
    ("answer", "cup", "three", "bias"),
    [
        (lambda _: "1", (0.5, 0.5), (0.5, 0.5, 0.0), 1.0),
        (answer_first_in_alphabet, (1.0, 0.0), (1.0, 0.0, 0.0), 0.0),
        (lambda shown: "1" if "Option 1: cup" in shown else "?", (0.75, 0.25), None, None),
    ],
    ids=["always the first option", "ignores the order", "often unclear"],
)
def test_swapped_options_show_position_bias(answer, cup, three, bias):
    """A biased model scores all options the same. Unclear replies don't count."""
    solver = ChatSolver(Model(answer), swap=True)
    assert solver.score([CUP]) == [cup]
    assert solver.ask([CUP]).position_bias == bias
    if three:
        assert solver.score([THREE]) == [three]
        assert solver.ask([*DATA, THREE]).position_bias == bias
        assert {max(scores) for scores in solver.score(DATA)} == {max(cup)}
    if bias:
        assert solver.ask(DATA).first_position_rate == 1.0


def test_shots_are_the_same_for_all_problems_of_a_draw():
    """Two draws have different shots, and so have two seeds."""
    model = Model(lambda _: "1")
    solver = ChatSolver.with_shots(model, TRAIN, draws=2, seed=1, swap=True)
    solver.score(DATA)
    before = Counter(tuple(messages[:-1]) for messages in model.asked)
    assert sorted(before.values()) == [36, 36]
    assert {len(prefix) for prefix in before} == {60}
    again = ChatSolver.with_shots(model, TRAIN, draws=2, seed=1, swap=True)
    other = ChatSolver.with_shots(model, TRAIN, draws=2, seed=2, swap=True)
    assert again.shots == solver.shots != other.shots
    assert solver.shots[0] != solver.shots[1]
    assert all(len({shot.id for shot in draw}) == 30 for draw in solver.shots)


def test_score_is_the_fraction_of_votes_over_draws():
    answers = iter("1121")
    solver = ChatSolver.with_shots(Model(lambda _: next(answers)), TRAIN, 2, draws=4)
    assert solver.score([CUP]) == [(0.75, 0.25)]


def test_problems_among_the_shots_are_refused():
    """The same question with other options is another problem, but not in another order."""
    solver = ChatSolver.with_shots(Model(lambda _: "1"), DATA, 3)
    with pytest.raises(DataError, match=r"3 of the problems are among the shots, .*\('"):
        solver.score(DATA)
    one = Problem("s", "Which is true?", ("ice burns", "tea is hot"), 1, blank=None)
    other = Problem("q", "Which is true?", ("fire burns", "ice is hot"), 0, blank=None)
    solver = ChatSolver(Model(lambda _: "A"), ((one,),))
    assert solver.score([other]) == [(1, 0)]
    with pytest.raises(DataError, match="1 of the problems are among the shots"):
        solver.score([other, replace(one, id="again", options=one.options[::-1])])


def test_too_few_or_unanswered_shots_are_refused():
    model = Model(lambda _: "1")
    with pytest.raises(DataError, match="30 shots can't be drawn from 18 problems"):
        ChatSolver.with_shots(model, DATA)
    with pytest.raises(DataError, match="can't be drawn from 0 problems"):
        ChatSolver.with_shots(model, TRAIN.blind(), 1)
    with pytest.raises(DataError, match=r"1 shots have no answer \('a'\)"):
        ChatSolver(model, shots=((CUP,),))
    with pytest.raises(DataError, match="no draws of shots"):
        ChatSolver(model, shots=())


def test_nothing_asked_is_nothing_scored():
    """Without problems, the summary has no rates."""
    solver = ChatSolver(Model(lambda _: "1"), swap=True)
    assert solver.score([]) == []
    assert solver.ask([]).unclear_rate is None


def test_parameters_omit_the_address_and_the_cache():
    """They include everything that determines the scores: model, settings, shots and orders."""
    client = Client("m", "http://localhost:1/v1", extra={"top_p": 0.5}, cache="/nowhere")
    solver = ChatSolver.with_shots(client, TRAIN, 2, swap=True, instruction="Choose.")
    told = solver.parameters
    assert {name: told[name] for name in list(told)[:-2]} == {
        "solver": "chat",
        "model": "m",
        "temperature": 0.0,
        "max_tokens": 256,
        "top_p": 0.5,
        "shots": 2,
        "draws": 1,
        "swap": True,
        "sees": "blank",
    }
    assert list(told)[-2:] == ["shots_digest", "instruction"]
    other = ChatSolver.with_shots(client, TRAIN, 2, seed=1, swap=True)
    assert other.parameters["shots_digest"] != told["shots_digest"]
    assert "localhost" not in str(told)


@pytest.mark.parametrize(
    ("first", "scores"),
    [
        ([("1", -0.5), ("2", -1.5)], [0.7311, 0.2689]),
        ([("1", -1.0), (" 1", -1.0), ("2", -1.0)], [0.6667, 0.3333]),
        ([("2", -0.1), ("The", -3.0)], [0.0522, 0.9478]),
        ([("The", -0.1), ("A", -3.0)], [0.5, 0.5]),
    ],
)
def test_first_token_probabilities_become_scores(first, scores):
    """An option that is not among the top tokens gets the lowest reported probability."""
    found = _score_first_token(Reply("1", first_token=tuple(first)), ("1", "2"))
    assert found == pytest.approx(scores, abs=1e-4)


def test_log_probabilities_need_a_client():
    with pytest.raises(DataError, match=r"needs a chat\.Client"):
        ChatSolver(Model(lambda _: "1"), scoring="logprobs")


def test_questions_label_options_with_letters():
    shot = Problem("s", "What is hot?", ("ice", "tea"), 1, blank=None)
    asked = Problem("q", "What is in __init__.py?", (*"vwxyz", "u_"), 0, blank=None)
    model = Model(lambda _: "F. u_")
    assert ChatSolver(model, ((shot,),)).score([asked]) == [(0, 0, 0, 0, 0, 1)]
    said = [turn.content for turn in model.asked[-1]]
    assert said[0].endswith("nothing else.\n\nQuestion: What is hot?\nA. ice\nB. tea")
    assert "letter of that option" in said[0]
    assert said[1:] == [
        "B",
        "Question: What is in __init__.py?\nA. v\nB. w\nC. x\nD. y\nE. z\nF. u_",
    ]


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


def _swap_place(place: re.Match[str]) -> str:
    return TURNED[place.group()]


def _unescape(text: str) -> str:
    return text.replace("\\n", "\n")


def test_second_option_is_read_in_any_spelling():
    said = map(_unescape, SECOND)
    assert [text for text in said if parse_answer(text, NAMES, SURGEONS) != 1] == []


def test_first_option_is_read_in_the_same_spellings():
    spelt = r"2nd|[12２]|\b[Bb]\b|two|second|latter"
    said = [re.sub(spelt, _swap_place, _unescape(text)) for text in SECOND]
    assert [text for text in said if parse_answer(text, NAMES[::-1], SURGEONS) != 0] == []


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
        ("2", ("2", "3"), None),  # the first option by its text, the second by its number
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
        *((_unescape(text), NAMES, None) for text in UNCLEAR),
        pytest.param("Sarah and Maria " * 10_000, NAMES, None, id="long"),  # a slow parser hangs
    ],
)
def test_options_of_all_kinds_are_distinguished(text, options, meant):
    """Nested options, numbers, signs, case, more than two options, and other scripts.

    There is no answer in, for example, silence, both, neither, a contradiction, or an option that
    doesn't exist.
    """
    assert parse_answer(text, options, SURGEONS if options is NAMES else "") == meant


@given(st.text(max_size=200))
def test_any_text_is_parsed(text):
    assert parse_answer(text, NAMES, SURGEONS) in (None, 0, 1)


@pytest.fixture(scope="module")
def chatgpt(data_dir: Path) -> list[dict[str, str]]:
    """Return ChatGPT's original answers on WinoGrande's dev set, with explanations."""
    path = data_dir / "winogrande_predictions" / "ugorsahin_chatgpt_results.csv"
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _read(row: dict[str, str], text: str) -> int | None:
    return parse_answer(text, (row["option1"], row["option2"]), row["sentence"])


@pytest.mark.data
@pytest.mark.parametrize("form", ["{chatgpt}", "{chatgpt}\n{reason}", "{chatgpt} {reason}"])
def test_all_answers_of_chatgpt_are_read_correctly(chatgpt, form):
    """All 1,267 answers, in 653 spellings, are read, with and without their explanation.

    The correct reading is the number in each answer. The accuracy is that of the answers'
    author: 62.75 %, which is 795 of 1,267.
    """
    assert len({row["chatgpt"] for row in chatgpt}) == 653
    read = [_read(row, form.format_map(row)) for row in chatgpt]
    number = [int(next(c for c in row["chatgpt"] if c in "12")) - 1 for row in chatgpt]
    assert read == number
    right = sum(choice == int(row["answer"]) - 1 for choice, row in zip(read, chatgpt, strict=True))
    assert (len(read), right) == (1267, 795)


@pytest.mark.data
def test_half_of_the_explanations_give_the_answer(chatgpt):
    """Of 1,078 explanations without their answer, 561 are read, and 99 % of them correctly.

    The others name both options without preferring one. The 4 incorrect readings are of
    explanations that contradict their answer.
    """
    explained = [row for row in chatgpt if row["reason"].strip()]
    pairs = [(_read(row, row["reason"]), _read(row, row["chatgpt"])) for row in explained]
    read = [(mine, given) for mine, given in pairs if mine is not None]
    assert (len(explained), len(read)) == (1078, 561)
    assert sum(mine != given for mine, given in read) == 4
