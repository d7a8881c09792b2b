"""The usual column names of questions, choices, answers and ids.

Comparisons ignore case, spaces and punctuation, so `Correct Answer`, `correct_answer` and
`correctAnswer` are the same name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain, count, takewhile

from winosmith.formats._letters import FIRST_MARKERS, SERIES

QUESTION = tuple(
    "question questionstem stem query prompt problem goal ctx questiontext qtext startphrase input "
    "statement frage fragetext énoncé pregunta domanda".split()
)
NEEDS_PASSAGE = ("question", "questionstem", "stem", "query")
PASSAGE = tuple(
    "context passage article paragraph dialogue story narrative document background text".split()
)
"""Columns with a question's passage, or with the question itself if no other column has it."""

PASSAGE_ENDINGS = ("context", "passage", "article", "paragraph", "dialogue", "narrative")

CHOICES = tuple(
    "choices options endings candidates answers answerchoices choice mc1targets targetscores "
    "option optionlist answeroptions".split()
)
_CHOICE = re.compile(
    r"(?P<noun>(?P<before>(?!.*(?:incorrect|wrong|distractor)).*[ _./-])?(?:option|choice"
    r"|alternative|alt|answer|ans|opt|op|sol|solution|ending|candidate|response|output|antwort|réponse"
    rf"|opción|respuesta|risposta)s?[ _./-]?)?(?P<sign>[0{''.join(FIRST_MARKERS)}])"
    r"(?P<after>[.)]?(?(noun)(?:[ _./(-].+)?))",
    re.IGNORECASE,
)
"""Pattern of the first of several columns with one choice each; `before` and `after` match words
around the noun and number, such as a language: "Dutch Option 1", "option1_nl"."""

ANSWER = tuple(
    "answer answerkey label gold goldlabel target correct correctanswer correctoption cop answeridx"
    " answerindex key correctchoice correctindex correctidx correctanswerindex rightanswer ra"
    " richtigeantwort lösung antwort bonneréponse réponse respuestacorrecta respuesta"
    " rispostacorretta risposta correctanswers goldanswer ideal groundtruth finaldecision".split()
)
_ANSWERS = frozenset(ANSWER)
_ALIASES = re.compile(
    r"(?:(?:gold|correct|right)?(?:answer|ans)|(?:gold|correct|right)(?:option|choice))(?:id|idx"
    r"|index|num|number|letter|text|key|label|option|choice)"
    r"|(?:gold|correct|right)(?:id|idx|index|letter|text|key|label)|answerrightending|solution"
)
"""Less common names of answer columns."""
CORRECT = ("bestanswer", *ANSWER, "chosen", "right")
_DISTRACTOR = re.compile(
    r"(?:distractor|(?:best)?(?:incorrect|wrong|false)(?:answer|option|choice)?|rejected)([0-9]*)"
)
_DISTRACTOR_LISTS = tuple(
    "distractors incorrectanswers wronganswers incorrectoptions wrongoptions incorrectchoices "
    "wrongchoices".split()
)

TEXT_PAIRS = (
    ("premise", "hypothesis"),
    ("context", "hypothesis"),
    ("sentence1", "sentence2"),
    ("sentencea", "sentenceb"),
    ("premises", "conclusion"),
)
ID = ("id", "qid", "questionid", "uid", "ind", "idx")
UNIQUE_ID = tuple(
    "problemid itemid exampleid sampleid docid sentid uuid guid nr no number itemno questionno qno "
    "index #".split()
)
"""Names of columns that have the id if each row has its own value."""
ID_COLUMNS = (*ID, *UNIQUE_ID)
INDEX = ("", "unnamed0", "indexlevel0")
"""Names of the row labels in tables that pandas or R wrote; "" is one only in the first column."""

_SIGN = re.compile(rf"(?<!\d)\d(?!\d)|[{''.join(sorted(FIRST_MARKERS))}](?![^\W_])")
"""Pattern of a digit without other digits next to it, or of a first letter at a word's end."""

FLAGS = ("correct", "iscorrect", "right", "isright", "isanswer")
"""Keys whose values flag the correct choice."""

RESERVED = frozenset({*QUESTION, *PASSAGE, *CHOICES, *ID, *chain.from_iterable(TEXT_PAIRS)})
"""Column names that readers reserve for a role; additional columns can't use them."""

_MAX_NAMES, _MAX_GROUPS = 20, 4
"""Maximum numbers of columns and of column groups to list in a message."""


@dataclass(frozen=True, slots=True)
class Family:
    """Columns with one choice each, whose names differ only in a letter or number."""

    names: tuple[str, ...]
    before: str
    after: str

    @property
    def is_plain(self) -> bool:
        """Whether the names consist only of a noun and a number."""
        return not self.before and not self.after.strip(".)")

    def includes(self, name: str) -> bool:
        """Return whether a column name has the family's words before and after its own noun."""
        return not self.is_plain and name.startswith(self.before) and name.endswith(self.after)


class Names(tuple[str, ...]):
    """Column names, with cached lists of the columns for each role."""

    @cached_property
    def normalised(self) -> dict[str, str]:
        return {name: normalise(name) for name in self}

    @cached_property
    def spellings(self) -> dict[str, str]:
        """Map each normalised name to its first spelling."""
        return {plain: name for name, plain in reversed(self.normalised.items())}

    @cached_property
    def families(self) -> tuple[Family, ...]:
        """The families of columns with one choice each, starting with plain names."""
        found = list[Family]()
        for match in filter(None, map(_CHOICE.fullmatch, self.normalised)):
            stem, sign, after = match[0][: match.start("sign")], match["sign"], match["after"]
            if sign == "1" and f"{stem}0{after}" in self.normalised:
                continue
            run = self._find_run(stem, sign, after)
            if len(run) >= 2:
                found.append(Family(run, match["before"] or "", after))
        return tuple(sorted(found, key=lambda one: not one.is_plain))

    @cached_property
    def list_columns(self) -> tuple[str, ...]:
        """The columns that may contain lists of choices, such as `multiple_choices`."""
        ends = ("choices", "options")
        return tuple(
            name for name, plain in self.normalised.items()
            if plain.startswith(ends) or plain.endswith(ends)
        )  # fmt: skip

    @cached_property
    def distractors(self) -> tuple[str, ...]:
        """The columns of incorrect choices: one column per choice, sorted by number, or one list.

        >>> Names(["Question", "Incorrect Answer 2", "Incorrect Answer 1"]).distractors
        ('Incorrect Answer 1', 'Incorrect Answer 2')
        """
        matches = ((_DISTRACTOR.fullmatch(plain), name) for name, plain in self.normalised.items())
        found = [(int(match[1] or 0), name) for match, name in matches if match]
        lists = find_existing(_DISTRACTOR_LISTS, self)
        return tuple(name for _, name in sorted(found)) or tuple(lists[:1])

    @cached_property
    def answer_aliases(self) -> tuple[str, ...]:
        return tuple(name for name, plain in self.normalised.items() if _ALIASES.fullmatch(plain))

    def _find_run(self, before: str, sign: str, after: str) -> tuple[str, ...]:
        """Return the longest group of columns that starts with a name and continues its series."""
        # Collect all of them: too many choices are refused later, not truncated here.
        series_list: list[Iterable[str]] = [run for run in SERIES if run[0] == sign]
        if sign in "01":
            series_list = [map(str, count(int(sign)))]
        names = ((f"{before}{n}{after}" for n in signs) for signs in series_list)
        runs = (tuple(takewhile(self.normalised.__contains__, run)) for run in names)
        return max(runs, key=len, default=())

    def find_similar_groups(self, family: Family) -> list[tuple[str, ...]]:
        """Return other groups of the same size whose names differ only in a letter or number."""
        runs = (
            self._find_run(name[: sign.start()], sign[0], name[sign.end() :])
            for name in self for sign in _SIGN.finditer(name)
        )  # fmt: skip
        return [one for one in runs if len(one) == len(family.names) and one != family.names]


def collect_names(rows: Iterable[Iterable[str]]) -> Names:
    found, last = dict[str, None](), tuple[str, ...]()
    for row in rows:
        if (names := tuple(row)) != last:  # most rows have the names of the previous row
            found |= dict.fromkeys(names)
            last = names
    return as_names(found)


def as_names(names: Iterable[str]) -> Names:
    return names if isinstance(names, Names) else _make_names(tuple(names))


_make_names = lru_cache(maxsize=16)(Names)
_PUNCTUATION = re.compile(r"[\W_]+")


@lru_cache(maxsize=1 << 17)
def normalise(name: str) -> str:
    """Convert a name to lower case, without spaces or punctuation.

    >>> normalise("Correct Answer"), normalise("answerKey"), normalise("#")
    ('correctanswer', 'answerkey', '#')
    """
    return _PUNCTUATION.sub("", name).casefold() or name


def find_existing(wanted: Iterable[str], names: Iterable[str]) -> list[str]:
    """Return the wanted names that exist, spelled as in the file."""
    spellings = as_names(names).spellings
    return [spellings[name] for name in wanted if name in spellings]


def find_name(wanted: Iterable[str], names: Iterable[str]) -> str | None:
    """Return the first wanted name that exists, spelled as in the file."""
    return next(iter(find_existing(wanted, names)), None)


def is_answer_name(name: str) -> bool:
    """Return whether a column with this name may contain answers.

    >>> is_answer_name("correct_answer"), is_answer_name("gold_idx"), is_answer_name("hint")
    (True, True, False)
    """
    return normalise(name) in _ANSWERS or _ALIASES.fullmatch(normalise(name)) is not None


def join_names(names: Sequence[str], limit: int = _MAX_NAMES) -> str:
    """Format names for a message: the first few, then the number of the remaining names.

    >>> join_names(["a", "b"]), join_names(["a"] * 1020)[-19:]
    ("'a', 'b'", "'a', and 1,000 more")
    """
    shown = ", ".join(map(repr, names[:limit]))
    return f"{shown}, and {len(names) - limit:,} more" if len(names) > limit else shown


def join_groups(groups_of_names: Iterable[Sequence[str]]) -> str:
    groups = [*dict.fromkeys(map(tuple, groups_of_names))]
    rest = len(groups) - _MAX_GROUPS
    more = f" or one of {rest:,} more groups" if rest > 0 else ""
    return " or ".join(map(join_names, groups[:_MAX_GROUPS])) + more
