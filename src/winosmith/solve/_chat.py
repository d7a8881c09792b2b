"""`ChatSolver`: ask a chat model which option belongs in the blank, and read its reply."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from string import ascii_lowercase, ascii_uppercase
from typing import Any, Literal

from winosmith.chat import ChatError, ChatModel, Client, Message, Reply
from winosmith.dataset import Dataset
from winosmith.errors import DataError, join_ids
from winosmith.problem import BLANK, Problem
from winosmith.records import dump_json, make_problem_record
from winosmith.report import percent
from winosmith.results import Result, computed, shown
from winosmith.seen import Sees, check_pronouns, check_sees_value, insert_pronoun
from winosmith.solve._solver import Scores, sample_solved
from winosmith.text import normalize

_TOP_TOKENS = 20
"""Number of candidates for the first token to request, with log-probabilities. This is OpenAI's
maximum."""


@dataclass(frozen=True)
class ChatSolver:
    """Asks a chat model to choose an option for each problem, and interprets its reply.

    An option's score is the fraction of replies that choose it, which is 1 or 0 if a problem is
    asked once. An unclear reply counts equally for all options. Unclear replies are counted by
    `ask(…).unclear_count`. If the replies to the two orders of a problem contradict each other, the
    problem is undecided.

    Attributes:
        model: a `chat.Client`, or a callable that takes messages and returns a `chat.Reply`.
        shots: few-shot examples, with a tuple of solved problems for each draw. Each problem is
            asked once per draw. A single empty draw means zero-shot.
        swap: whether to ask again with the options in another order, to detect position bias.
        scoring: "reply" interprets the text. "logprobs" uses the probabilities of the options'
            numbers (letters for a question) as the first token. It requires a `chat.Client` whose
            server reports them.
        instruction: beginning of every conversation. The default depends on `sees` and on whether
            the problem is a question.
        sees: "blank", or "pronoun" to mark the pronoun with asterisks and ask for its referent.
        reply_log: list to which every `ParsedReply` is appended. Omit it in a server, because it
            grows without limit.

    Raises:
        DataError: a shot has no answer or lacks a required pronoun, or there are no draws.
        InputError: `sees` is unknown.

    >>> from winosmith import Problem, chat
    >>> solver = ChatSolver(lambda messages: chat.Reply("Option 2, of course."))
    >>> solver.score([Problem("a", "The cup hit the jug and the _ broke.", ("cup", "jug"))])
    [(0.0, 1.0)]
    """

    model: ChatModel
    shots: tuple[tuple[Problem, ...], ...] = ((),)
    swap: bool = False
    scoring: Literal["reply", "logprobs"] = "reply"
    instruction: str | None = None
    sees: Sees = "blank"
    reply_log: list[ParsedReply] | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        check_sees_value(self.sees)
        if self.sees == "pronoun":
            check_pronouns([shot for draw in self.shots for shot in draw])
        if not self.shots:
            raise DataError("there are no draws of shots; for zero-shot use one empty draw: ((),)")
        unsolved = [shot.id for draw in self.shots for shot in draw if shot.answer is None]
        if unsolved:
            raise DataError(f"{len(unsolved)} shots have no answer ({join_ids(unsolved)})")
        if self.scoring == "logprobs" and not isinstance(self.model, Client):
            raise DataError("scoring='logprobs' needs a chat.Client; use scoring='reply'")

    @classmethod
    def with_shots(
        cls,
        model: ChatModel,
        train: Dataset,
        count: int = 30,
        *,
        draws: int = 1,
        seed: int = 0,
        **settings: Any,
    ) -> ChatSolver:
        """Return a solver with few-shot examples, drawn at random.

        EvoGrad (2024, section 4.1) uses 30 problems from the training set. The examples are the
        same for a whole run, so that a server can cache them.

        Args:
            model: the chat model.
            train: problems to draw from. Problems without an answer are skipped.
            count: number of shots.
            draws: number of draws, whose replies are averaged.
            seed: random seed of the draws.
            settings: further attributes of the solver.

        Raises:
            DataError: too few problems have an answer, or there are no draws.
        """
        drawn = tuple(tuple(sample_solved(train, count, [seed, draw])) for draw in range(draws))
        return cls(model, drawn, **settings)

    @property
    def opening(self) -> str:
        """The beginning of every conversation about a blank."""
        return INSTRUCTIONS[self.sees] if self.instruction is None else self.instruction

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters that determine the scores, without the server's address or a key."""
        parameters: dict[str, Any] = {"solver": "chat", **getattr(self.model, "parameters", {})}
        parameters |= {"shots": len(self.shots[0]), "draws": len(self.shots), "swap": self.swap}
        parameters["sees"] = self.sees
        if any(self.shots):
            drawn = [[make_problem_record(shot) for shot in draw] for draw in self.shots]
            parameters["shots_digest"] = _compute_short_digest(dump_json({"shots": drawn}))
        if self.scoring != "reply":
            parameters["scoring"] = self.scoring
        if self.instruction is not None:
            parameters["instruction"] = _compute_short_digest(self.instruction)
        return parameters

    def score(self, problems: Sequence[Problem]) -> Scores:
        """Return the mean score of each option over all replies.

        The scores of a problem sum to 1.
        """
        asked = self.ask(problems).replies
        each = len(asked) // max(1, len(problems))
        return [
            tuple(
                math.fsum(column) / each
                for column in zip(*(one.scores for one in asked[at : at + each]), strict=True)
            )
            for at in range(0, len(asked), each or 1)
        ]

    def ask(self, problems: Sequence[Problem]) -> Interview:
        """Ask about each problem, and return all replies.

        Raises:
            DataError: a problem is among the shots, or a required pronoun is unknown.
        """
        solved = {_make_shot_key(shot) for draw in self.shots for shot in draw}
        known = [problem.id for problem in problems if _make_shot_key(problem) in solved]
        if known:
            raise DataError(
                f"{len(known)} of the problems are among the shots, with their answers "
                f"({join_ids(known)}); draw shots from other problems"
            )
        if self.sees == "pronoun":
            check_pronouns(problems)
        questions = [
            (problem, draw, order)
            for problem in problems
            for draw in range(len(self.shots))
            for order in make_orders(len(problem.options), swap=self.swap)
        ]
        conversations = [self._make_conversation(*one) for one in questions]
        model = self.model
        if self.scoring == "logprobs" and isinstance(model, Client):
            also = {"logprobs": True, "top_logprobs": _TOP_TOKENS}
            model = replace(model, extra={**also, **model.extra})
        replies = (
            model.ask(conversations)
            if isinstance(model, Client)
            else list(map(model, conversations))
        )
        asked = tuple(
            self._parse_reply(*one, reply) for one, reply in zip(questions, replies, strict=True)
        )
        if self.reply_log is not None:
            self.reply_log.extend(asked)
        return Interview(asked)

    def _make_conversation(self, problem: Problem, draw: int, order: Order) -> tuple[Message, ...]:
        """Return the instruction, the shots with their answers, and the problem.

        All turns except the last are the same for every problem, so that a server can cache them.
        The instruction is part of the first turn, because some models have no system role.
        """
        turns: list[Message] = []
        for shot in self.shots[draw]:
            if shot.answer is not None:
                own = tuple(range(len(shot.options)))
                turns.append(Message("user", _format_problem(shot, own, self.sees)))
                turns.append(Message("assistant", _name_options(shot)[shot.answer]))
        turns.append(Message("user", _format_problem(problem, order, self.sees)))
        asks = problem.blank is None and self.instruction is None
        instruction = INSTRUCTIONS["question"] if asks else self.opening
        return (Message("user", f"{instruction}\n\n{turns[0].content}"), *turns[1:])

    def _parse_reply(self, problem: Problem, draw: int, order: Order, reply: Reply) -> ParsedReply:
        if self.scoring == "logprobs":
            shown = _score_first_token(reply, _name_options(problem))
            place = None if len(set(shown)) == 1 else shown.index(max(shown))
        else:
            options = [problem.options[option] for option in order]
            place = parse_answer(
                reply.text, options, problem.sentence if problem.blank_is_unique else ""
            )
            shown = [
                1 / len(order) if place is None else float(n == place) for n in range(len(order))
            ]
        scores = tuple(shown[order.index(option)] for option in range(len(order)))
        choice = None if place is None else order[place]
        return ParsedReply(problem.id, draw, order, reply, choice, scores)


def _make_shot_key(problem: Problem) -> tuple[str, frozenset[str]]:
    return problem.sentence, frozenset(problem.options if problem.blank is None else ())


def _score_first_token(reply: Reply, names: Sequence[str]) -> list[float]:
    """Return the probability of each option's name as the first token, normalised over options.

    A name that the server does not report gets the lowest reported probability, as an upper bound.
    """
    if not reply.first_token:
        raise ChatError(
            "the server reports no log-probabilities; score by the reply instead (scoring='reply')"
        )
    tokens = [(token.strip(), math.exp(logprob)) for token, logprob in reply.first_token]
    found = [[p for token, p in tokens if token == name] for name in names]
    if not any(found):
        return [1 / len(names)] * len(names)
    lowest = min(p for _, p in tokens)
    mass = [math.fsum(values) if values else lowest for values in found]
    return [values / math.fsum(mass) for values in mass]


def _compute_short_digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class ParsedReply:
    """A model's reply to a problem, and the option that it chooses.

    Attributes:
        draw: 0-based number of the draw of shots.
        order: the problem's option indices in the order shown.
        choice: index of the chosen option in the problem; None if unclear.
        scores: score of each option. The scores sum to 1, and are equal if the choice is unclear.
    """

    problem_id: str
    draw: int
    order: tuple[int, ...]
    reply: Reply
    choice: int | None
    scores: tuple[float, ...]

    @property
    def position(self) -> int | None:
        return None if self.choice is None else self.order.index(self.choice)


@dataclass(frozen=True)
class Interview(Result):
    """A chat model's replies to all problems.

    Attributes:
        replies: the replies, ordered by problem, draw and order.
    """

    replies: tuple[ParsedReply, ...] = field(metadata=shown("replies", len, json=len))

    @property
    @computed(key="problems", **shown("problems"))
    def problem_count(self) -> int:
        """The number of problems with a reply."""
        return len({one.problem_id for one in self.replies})

    @property
    @computed(key="unclear", **shown("unclear"))
    def unclear_count(self) -> int:
        """The number of replies that choose no option, or more than one."""
        return sum(one.choice is None for one in self.replies)

    @property
    @computed(**shown("unclear replies", percent))
    def unclear_rate(self) -> float | None:
        """The fraction of replies that are unclear; None if there are none."""
        return self.unclear_count / len(self.replies) if self.replies else None

    @property
    @computed(key="cut_off", **shown("cut off; a higher --max-tokens may help"))
    def cut_off_count(self) -> int:
        """The number of replies that were cut off. A higher `max_tokens` may help."""
        return sum(one.reply.finish == "length" for one in self.replies)

    @property
    @computed(key="first_place", **shown("clear replies that choose the first option", percent))
    def first_position_rate(self) -> float | None:
        """The fraction of clear replies that choose the option shown first.

        It is None if no reply is clear.
        """
        places = [one.position for one in self.replies if one.position is not None]
        return sum(place == 0 for place in places) / len(places) if places else None

    @property
    @computed(**shown("same position when the options are swapped", percent))
    def position_bias(self) -> float | None:
        """The fraction of problems whose two replies choose the same position, 0–1.

        Such replies follow the position, because the options change positions. The fraction is None
        if only one order was asked.
        """
        together: dict[tuple[str, int], list[int | None]] = {}
        for one in self.replies:
            together.setdefault((one.problem_id, one.draw), []).append(one.position)
        pairs = [places for places in together.values() if len(places) == 2 and None not in places]
        return sum(first == second for first, second in pairs) / len(pairs) if pairs else None

    @property
    @computed(**shown("input tokens", ","))
    def tokens_in(self) -> int | None:
        """The number of tokens sent; None if a reply has no count."""
        counts = [one.reply.tokens_in for one in self.replies]
        return None if None in counts else sum(filter(None, counts))

    @property
    @computed(**shown("output tokens", ","))
    def tokens_out(self) -> int | None:
        """The number of tokens received; None if a reply has no count."""
        counts = [one.reply.tokens_out for one in self.replies]
        return None if None in counts else sum(filter(None, counts))


INSTRUCTIONS: dict[Sees | Literal["question"], str] = {
    "blank": """\
Each sentence below has one blank, written as an underscore (_). Choose the option that belongs \
in the blank, so that the sentence makes sense. Reply with the number of that option, and nothing \
else.""",
    "pronoun": """\
Each sentence below has one pronoun set off by asterisks, such as **she**. Choose the option that \
this pronoun refers to. Reply with the number of that option, and nothing else.""",
    "question": """\
Each question below has several options. Choose the option that answers the question. Reply with \
the letter of that option, and nothing else.""",
}
"""The instruction at the start of a conversation, for each value of `sees` and for questions.
EvoGrad (2024, section 4.1) does not print its instruction. The question about a pronoun is from
GPT-3's SuperGLUE-WSC (Brown et al. 2020, appendix G)."""

Order = tuple[int, ...]
"""The indices of the options in the order shown."""


def make_orders(option_count: int, *, swap: bool) -> tuple[Order, ...]:
    """Return the orders in which to show options: unchanged and, with `swap`, rotated by one.

    In the rotated order, no option keeps its position. A solver that always chooses the same
    position therefore chooses two different options.

    >>> make_orders(2, swap=True), make_orders(3, swap=True)
    (((0, 1), (1, 0)), ((0, 1, 2), (1, 2, 0)))
    """
    own = tuple(range(option_count))
    return (own, own[1:] + own[:1]) if swap else (own,)


def _name_options(problem: Problem) -> Sequence[str]:
    count = len(problem.options)
    letters = ascii_uppercase[:count]
    return letters if problem.blank is None else [str(n) for n in range(1, count + 1)]


def _format_problem(problem: Problem, order: Order, sees: Sees) -> str:
    names = zip(_name_options(problem), order, strict=True)
    if problem.blank is None:
        listed = [f"{name}. {problem.options[option].strip()}" for name, option in names]
        return "\n".join((f"Question: {problem.sentence.strip()}", *listed))
    listed = [f"Option {name}: {problem.options[option].strip()}" for name, option in names]
    if sees == "blank":
        return "\n".join((f"Sentence: {problem.sentence.strip()}", *listed))
    asked = f"What does the pronoun **{(problem.pronoun or '').strip()}** refer to?"
    sentence = insert_pronoun(problem, "**").strip()
    return "\n".join((f"Sentence: {sentence}", f"Question: {asked}", *listed))


_ORDINALS = (
    ("1", "one", "first", "1st", "a", "former"),
    ("2", "two", "second", "2nd", "b", "latter"),
    ("3", "three", "third", "3rd", "c"),
    ("4", "four", "fourth", "4th", "d"),
    ("5", "five", "fifth", "5th", "e"),
    *((str(place), letter) for place, letter in enumerate(ascii_lowercase[5:], 6)),
)
"""The words that name each position. "former" and "latter" apply only to two options."""

_PLACES = {name: place for place, names in enumerate(_ORDINALS) for name in names}
_NAME = "|".join(sorted(_PLACES, key=len, reverse=True))

_NOUN = r"(?:option|choice|answer|one)"
_LABEL = rf"(?:option|choice|answer|number|no\.|#)\s*[#:]?\s*\(?({_NAME})\b\)?"
_ORDINAL = r"(?:the\s+)?(first|second|third|fourth|fifth|1st|2nd|3rd|4th|5th|former|latter)\b"
_LABELLED = re.compile(rf"\b{_LABEL}|\b{_ORDINAL}\s+{_NOUN}\b|\bthe\s+(former|latter)\b")
_LINE_START = re.compile(rf"(?:the\s+)?(?:{_LABEL}|{_ORDINAL}|\(?({_NAME})\b\)?)(?:\s+{_NOUN}\b)?")
"""A position at the beginning of a line: with a label, as an ordinal, or as a name only."""

_END_OF_ANSWER = re.compile(
    r"\W*$|\s*[.,:;=)\]}!–—-]|\s+\(?(?:because|since|as|explanation|reason)\b|\s+is\s+(?!not\b|wrong\b|incorrect\b)"
)
"""Text that may follow an answer."""

_CHOOSE = r"\bi(?:'d| would| will|'ll)? (?:choose|pick|select|go with|say)\b"
_ANNOUNCEMENT = re.compile(
    rf"\b(?:answer|blank|word|solution|result|(?:option|choice)(?!\W*(?:{_NAME})\b))\b[^.:\n]{{0,40}}?"
    r"(?:\b(?:is|must be|should be|would be)\b|:|=|\bwith\b)\s*"
    rf"|{_CHOOSE}:?\s*|\\boxed\s*"
)
"""Text that announces an answer."""

_APPROVAL = re.compile(
    r"\s*(?:\([^)]*\)\s*)?(?:(?:would|clearly|best|better|logically)\s+)*"
    r"(?:fits?|belongs?|makes? (?:more|most|better|the most) sense"
    r"|(?:is|seems|be) (?:clearly )?(?:the )?(?:more |most )?"
    r"(?:correct|right|best|better|answer|logical|(?:good|best|better) fit))\b(?! not\b)"
)
"""Text that states that the option before it is the answer."""

_NEGATION_BEFORE = re.compile(
    r"(?:\bnot|n't|\bnor|\bneither|\bcannot|\bnever|\bthan|\binstead of|\bexcept|\bunlike"
    r"|\bexcludes?|\brules? out|\bwrong:?)\s+(?:be\s+)?(?:the\s+|an?\s+)?$"
)
"""Text that negates the words after it."""

_NEGATION_AFTER = re.compile(
    r"\s*(?:\([^)]*\)\s*)?(?:\w+(?:n't\b|\s+not\b)|(?:is|seems)\s+(?:wrong|incorrect))"
)
"""Text that negates the position before it."""

_SPEAKER_LABEL = re.compile(r"^(?:assistant|output|response|reply|final answer|sure)\s*[:=!,]\s*")
_REASONING = re.compile(r"^.*</think(?:ing)?>", re.DOTALL)
_CONTEXT_WORDS = 3
"""Number of words on each side of the blank that a filled-in sentence must repeat."""

_SEARCHED_CHARACTERS = 500
"""Number of characters after an announcement that are searched for the answer."""


def parse_answer(text: str, options: Sequence[str], sentence: str = "") -> int | None:
    """Return the position of the option that a reply chooses, or None if the reply is unclear.

    The first item of the following list that the reply contains decides. If this item contradicts
    itself ("Option 1: Maria" if Maria is the second option), the reply is unclear.

    1. the text after the last "answer is", "I choose" or a similar phrase;
    2. a line with only the option's number, letter, position or text;
    3. the beginning of the first line, with an explanation after it;
    4. an option that is said to fit or to make more sense;
    5. the sentence, or the words around its blank, with an option filled in;
    6. the only option that is mentioned, unless it is denied ("not Maria").

    A model's thoughts (`<think>…</think>`) are ignored, even if they were cut off.

    Args:
        text: the model's reply.
        options: the options in the order shown.
        sentence: the sentence with its blank.

    >>> [parse_answer(said, ("Ann", "Sue")) for said in ("2", "Option 1: Ann", "**Sue**, as …")]
    [1, 0, 1]
    >>> parse_answer("It could be Ann or Sue.", ("Ann", "Sue")) is None
    True
    """
    text = _REASONING.sub("", text)
    if "<think" in text:
        return None
    said = _normalize_text(text)
    known = [_normalize_text(option) for option in options]
    # options that consist of punctuation, or differ only in it, are never found
    known = [one if one and known.count(one) == 1 else "\0" for one in known]
    choices = _find_choices(said, known, _normalize_text(sentence, keep=BLANK))
    found: set[int] = next(filter(None, choices), set())
    return found.pop() if len(found) == 1 else None


def _find_choices(text: str, options: Sequence[str], sentence: str) -> Iterator[set[int]]:
    """Yield the options found by each item of the list in `parse_answer`; a set may be empty."""
    # 1. after an announcement, starting with the last
    for mark in reversed(list(_ANNOUNCEMENT.finditer(text))):
        searched = text[mark.end() : mark.end() + _SEARCHED_CHARACTERS].lstrip()
        rest = re.split(r"\n\s*\n|(?<=[.!?])\s", searched, maxsplit=1)[0]
        yield {option for option, _ in _match_line_start(rest, options)}
    # 2. on a line of its own
    lines = text.splitlines()
    found = (pair for line in lines for pair in _match_line_start(line, options))
    yield {option for option, rest in found if not rest}
    # 3. at the beginning of the first line, or of a line with a label
    first, *others = [line for line in lines if line.strip()] or [""]
    starting = [first, *(line for line in others if re.match(_LABEL, line))]
    yield {option for line in starting for option, _ in _match_line_start(line, options)}
    # 4. with approval
    flat = " ".join(text.split())
    mentions = list(_find_mentions(flat, options))
    yield {option for option, end in mentions if _APPROVAL.match(flat, end)}
    # 5. in the blank
    if BLANK in sentence:
        before, after = (part.split() for part in sentence.split(BLANK, 1))
        filled = set()
        for option, words in enumerate(options):
            near = " ".join((*before[-_CONTEXT_WORDS:], words, *after[:_CONTEXT_WORDS]))
            if re.search(rf"(?<!\w){re.escape(near.replace(' .', '.'))}(?!\w)", flat):
                filled.add(option)
        yield filled
    # 6. anywhere
    yield {option for option, _ in mentions}


def _normalize_text(text: str, keep: str = "") -> str:
    text = normalize(text, "NFKC").casefold()
    text = re.sub(r"[‘’`´]", "'", text)
    marks = "*_" if not keep else "*"
    text = re.sub(rf"[{marks}\"“”«»$]|\\(?:text|mathrm)\b|(?<!\w)'|'(?!\w)", "", text)
    lines = (re.sub(r"[ \t\xa0]+", " ", line).strip(" #>•") for line in text.split("\n"))
    # a dash before a digit is a sign, before anything else a bullet
    return "\n".join(re.sub(r"^-(?!\d)[ #>•-]*|[ -]+$", "", line) for line in lines)


def _match_line_start(line: str, options: Sequence[str]) -> Iterator[tuple[int, str]]:
    line = _SPEAKER_LABEL.sub("", line.strip(" {[("))
    by_words = list(_match_option(line, options))
    head = _LINE_START.match(line)
    place = _PLACES[next(filter(None, head.groups()))] if head else len(options)
    if head is None or place >= len(options) or not _END_OF_ANSWER.match(line[head.end() :]):
        yield from by_words
        return
    if any(not rest for _, rest in by_words):
        yield from by_words  # an option that is a number can mean both
    rest = re.sub(r"^(?:(?!-\d)[\W_])*(?:is\s+)?", "", line[head.end() :])
    more = list(_match_option(rest, options))
    yield place, more[0][1] if more else rest
    yield from more


def _match_option(line: str, options: Sequence[str]) -> Iterator[tuple[int, str]]:
    line, bare = _strip_article(line), [_strip_article(option) for option in options]
    fits = [i for i, words in enumerate(bare) if re.match(re.escape(words) + r"(?!\w)", line)]
    if not fits:
        return
    longest = max(fits, key=lambda i: len(bare[i]))
    rest = line[len(bare[longest]) :]
    if _END_OF_ANSWER.match(rest):
        yield longest, re.sub(r"^\W+", "", rest)


def _strip_article(text: str) -> str:
    return re.sub(r"^(?:the|a|an)\s+", "", text)


def _find_mentions(text: str, options: Sequence[str]) -> Iterator[tuple[int, int]]:
    left = text
    for option in sorted(range(len(options)), key=lambda i: -len(options[i])):
        words = re.compile(rf"(?<!\w){re.escape(_strip_article(options[option]))}(?:s|'s)?(?!\w)")
        for match in words.finditer(left):
            if not _is_negated(text, match.start()):
                yield option, match.end()
        left = words.sub(lambda match: "\0" * len(match.group()), left)  # not in shorter ones
    for match in _LABELLED.finditer(text):
        place = _PLACES[next(filter(None, match.groups()))]
        denied = _is_negated(text, match.start()) or _NEGATION_AFTER.match(text, match.end())
        if place < len(options) and not denied:
            yield place, match.end()


def _is_negated(text: str, index: int) -> bool:
    return _NEGATION_BEFORE.search(text[max(0, index - 40) : index]) is not None
