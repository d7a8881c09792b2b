"""Checks of typed sentences: verdicts for the writer, and hints for moderators.

The input may be incomplete. A hint is a short message on why a moderator should check a new twin:
near-duplicates, data of real people (contact data, names), unpleasant text, and look-alike
characters.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from typing import Any, Literal

from django.conf import settings
from django.utils import translation
from django.utils.translation import gettext as _

from winosmith.errors import InputError
from winosmith.problem import BLANK
from winosmith.report import percent
from winosmith.text import FUNCTION_WORDS, normalize, split_words
from winosmith.web.people.models import Person, to_latin
from winosmith.web.problems.lookalikes import AnyHalf, find_lookalikes
from winosmith.web.problems.models import Problem

_CONTACTS = re.compile(
    r"""[\w.+-]{1,64}@[\w-]{1,63}\.[\w.-]*\w                          # an email address
    | \b(?:https?://|www\.)\S+                                       # a web address
    | \b[\w-]{1,63}\.(?:com|org|net|edu|gov|info|io|co|uk|de|fr|eu|me)\b(?:/\S*)?
    | (?<!\w)@\w{3,}                                                 # a social media name
    | (?<![\w.])\+\d[\d\s().-]{5,}\d                                 # telephone numbers
    | (?<![\w.])\(?\d{3}\)?[-.\s]\d{3}[-.\s]\d{4}\b | \b\d{3}[-.]\d{4}\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""Pattern of contact data.

The lengths of names are limited as in RFC 5321 (4.5.3.1.1) and RFC 1035 (2.3.4). Without limits,
the match would take quadratic time.
"""

_INITIAL = re.compile(r"[A-Z]\.")
_CAPITALISED = re.compile(rf"[A-Z][a-z]+(?:['’-][A-Z]?[a-z]+)*|{_INITIAL.pattern}")
_ENDS_SENTENCE = re.compile(r"[.?!:;\"”’)]$")
_NOT_NAMES = frozenset(
    """mr mrs ms miss dr prof sir lady lord aunt uncle grandma grandpa king queen prince princess
    president doctor professor officer captain coach saint st santa
    monday tuesday wednesday thursday friday saturday sunday january february march april may june
    july august september october november december christmas easter thanksgiving halloween new
    year years eve day north south east west northern southern eastern western central
    york orleans san los las angeles vegas united states kingdom great britain america american
    europe european english french german spanish chinese italian mexican
    lake mount river sea ocean island bay beach valley park street avenue road city town county
    university college school high academy museum hospital church club company inc restaurant
    state house court world war olympics cup league bowl national international
    internet i ok tv english math mathematics science history biology chemistry""".split()
)
"""Titles, days, places and other capitalised words that are not part of a person's name."""

MAX_WORDS_IN_CAPITALS = 2
"""Maximum number of words in capitals that are considered abbreviations."""

_OPENERS = frozenset(
    """after although later today tonight tomorrow yesterday when whenever unlike like despite
    perhaps maybe luckily unfortunately fortunately sadly finally eventually suddenly once first
    last next little poor young old big even only usually normally surprisingly according instead
    everyone everybody someone somebody nobody both since because while if as so but and yet
    thankfully recently apparently obviously clearly naturally""".split()
)
"""Words that often start a sentence before a name."""


def find_flagged_words(text: str, word_list: Sequence[str]) -> list[str]:
    """Return the listed words and phrases in a text, including disguised spellings.

    A listed word matches only itself, ignoring case. If it ends in "*", it matches as a prefix.

    >>> find_flagged_words("What an IDIOT, idiotically!", ["idiot", "dunce*"])
    ['idiot']
    """
    shown = normalize_appearance(text) if word_list else ""
    found = []
    for listed in word_list:
        word = normalize_appearance(listed.strip())
        inside = r"\s+".join(map(re.escape, word.rstrip("*").split()))
        end = "" if word.endswith("*") else r"(?!\w)"
        if inside and re.search(rf"(?<!\w){inside}{end}", shown):
            found.append(listed)
    return found


def find_contact_data(text: str) -> list[str]:
    """Return email and web addresses, telephone numbers and social media names.

    >>> find_contact_data("Write to ann@example.org or call 555-0134 from 1990-2000.")
    ['ann@example.org', '555-0134']
    """
    return [found[0].rstrip(".,;") for found in _CONTACTS.finditer(text)]


def find_full_names(text: str, options: Sequence[str] = ()) -> list[str]:
    """Return possible full names of real people: two consecutive capitalised words.

    A single first name is normal in Winograd sentences. An option, a title, a place or a day is not
    part of a name, nor is a function word at the start of a sentence.

    >>> find_full_names("Ann read that Ada Lovelace met Bob in New York.", ["Ann", "Bob"])
    ['Ada Lovelace']
    """
    own = {option.strip() for option in options}
    found: dict[str, None] = {}
    starts, before = True, ""
    for word in split_words(text):
        initial = bool(_INITIAL.fullmatch(word))
        bare = word if initial else re.sub(r"['’]s?$", "", word.strip("\"'“”‘’().,;:?!"))
        name = bare if _CAPITALISED.fullmatch(bare) else ""
        if starts and name.lower() in FUNCTION_WORDS | _OPENERS:
            name = ""
        lower = {before.lower(), name.lower()}
        if before and name and not ({before, name} & own or lower & _NOT_NAMES):
            found[f"{before} {name}"] = None
        starts = bool(_ENDS_SENTENCE.search(word)) and not initial
        before = "" if starts or word.endswith(",") else name
    return list(found)


def find_shouting(text: str) -> list[str]:
    """Return repeated ! and ? marks, and words in capitals if the text has too many of them.

    >>> find_shouting("NASA called. THIS IS NOT FUNNY AT ALL!!!")
    ['NASA', 'THIS', 'FUNNY', '!!!']
    """
    loud = [w for w in re.findall(r"\b[^\W\d_]{4,}\b", text) if w.isupper()]
    marks = re.findall(r"[!?]{2,}", text)
    return [*(loud if len(loud) > MAX_WORDS_IN_CAPITALS else ()), *marks]


def find_invisible(text: str) -> list[str]:
    r"""Return the names of invisible characters: zero-width, bidirectional and control characters.

    >>> find_invisible("so\u200bft")
    ['ZERO WIDTH SPACE']
    """
    if text.isascii() and text.isprintable():
        return []
    found = (letter for letter in text if unicodedata.category(letter) in ("Cf", "Cc", "Co", "Cn"))
    return sorted({_get_character_name(letter) for letter in found if letter not in "\n\r\t"})


def find_foreign_lookalikes(text: str) -> list[str]:
    """Return the names of non-Latin characters that look like Latin letters in a Latin text.

    >>> find_foreign_lookalikes("a sаfe word")  # the second "а" is Cyrillic
    ['CYRILLIC SMALL LETTER A']
    """
    if text.isascii():
        return []
    letters = [letter for letter in text if letter.isalpha()]
    if sum(letter.isascii() for letter in letters) * 2 <= len(letters):
        return []  # mostly written in another script, to which these letters belong
    foreign = {letter for letter in letters if not letter.isascii() and to_latin(letter) != letter}
    names = map(_get_character_name, foreign)
    # Some Latin letters look like others, such as the Turkish dotless i.
    return sorted(name for name in names if not name.startswith("LATIN "))


def normalize_appearance(text: str) -> str:
    r"""Normalize a text to what readers see: case-folded Latin letters, no invisible characters.

    >>> normalize_appearance("ІDI\u00adOT")  # with a Cyrillic first letter and a soft hyphen
    'idiot'
    """
    plain = normalize(text, "NFKC")
    shown = "".join(letter for letter in plain if unicodedata.category(letter) != "Cf")
    return "".join(map(to_latin, shown)).casefold()


def _get_character_name(letter: str) -> str:
    return unicodedata.name(letter, f"U+{ord(letter):04X}")


MAX_SENTENCE_LENGTH, MAX_OPTION_LENGTH = 1000, 100
"""Maximum numbers of characters."""

MAX_CHARACTERS = 20_000
"""Maximum number of characters in a stored form, which is ten times as many as a twin needs."""

_BLANKS = re.compile(rf"{BLANK}{{2,}}")


_BIDI_CONTROLS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Characters that change the writing direction, so that displayed text differs from its code."""


def normalize_text(text: str) -> str:
    """Normalize a text to a single line, single spaces, composed letters, and one `_` per blank.

    >>> normalize_text(" The cup  hit the jug, and the ____ broke. ")
    'The cup hit the jug, and the _ broke.'
    """
    plain = _BIDI_CONTROLS.sub("", normalize(text))
    printed = (" " if unicodedata.category(letter) == "Cc" else letter for letter in plain)
    whole = "".join(printed).encode("utf-8", "replace").decode()
    return _BLANKS.sub(BLANK, " ".join(whole.split()))


def read_field(form: Mapping[str, Any], name: str) -> str:
    """Return the value of a form field, normalized but never truncated."""
    return normalize_text(str(form.get(name, "")))


def empty_if_long(text: str, max_length: int) -> str:
    """Return a text, or "" if it is too long for the rules.

    The rules compare texts word by word, so 10,000 words would take seconds.
    """
    return text if len(text) <= max_length else ""


def are_usable_options(options: Sequence[str]) -> bool:
    """Return whether all options are non-empty, have no blank, and differ in more than case.

    >>> [are_usable_options(options) for options in (("cup", "jug"), ("cup", "Cup"), ("cup", ""))]
    [True, False, False]
    """
    folded = {option.casefold() for option in options}
    return "" not in folded and len(folded) == len(options) and BLANK not in "".join(options)


Verdict = Literal["pass", "note", "fail", "todo", "unchecked"]
"""The result of a rule; neither "note" nor "unchecked" prevents submission.

The result is "todo" if too little is written, and "unchecked" if the rule can't be checked in this
script (`winosmith.text.detect_script`).
"""


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one rule.

    Attributes:
        rule: The rule's name, as in `winosmith.validate` if the rule exists there.
        label: The requirement.
        figure: The measured value ("17 words"), or "".
        advice: What to do if the rule does not pass.
        field: The form field that the rule concerns.
        half: The half of a twin, 0 or 1; None if the rule concerns both, or a single sentence.
    """

    rule: str
    verdict: Verdict
    label: str
    figure: str
    advice: str
    field: str
    half: int | None = None

    def as_todo(self) -> Check:
        """Return an undecided copy without advice, for a text that is too long to check."""
        return replace(self, verdict="todo", figure="", advice="")


def check_blank(sentence: str, field: str, *, separated: bool, half: int | None = None) -> Check:
    count = sentence.count(BLANK)
    verdict: Verdict = "pass" if count == 1 and sentence != BLANK else "todo"
    if count > 1:
        verdict, advice = "fail", _("Use only one blank; there are %d.") % count
    elif sentence:
        advice = _("Put the blank, an underscore “_”, where one of the options belongs.")
    else:
        advice = _("Write the sentence.")
    figure = _("separated from the words next to it") if separated else ""
    return Check("blank", verdict, _("One blank “_”"), figure, advice, field, half)


def has_usable_options(options: Sequence[str]) -> bool:
    return are_usable_options(options) and max(map(len, options)) <= MAX_OPTION_LENGTH


def check_options(options: Sequence[str]) -> Check:
    verdict: Verdict = "pass" if has_usable_options(options) else "fail" if all(options) else "todo"
    long = [n for n, option in enumerate(options, 1) if len(option) > MAX_OPTION_LENGTH]
    with_blank = [n for n, option in enumerate(options, 1) if BLANK in option]
    if "" in options:
        number = options.index("") + 1
        advice = _("Enter each option: the people or things that could fill the blank.")
    elif long:
        number, advice = long[0], _("An option can have at most %d characters.") % MAX_OPTION_LENGTH
    elif with_blank:
        number, advice = with_blank[0], _("An option can’t contain a blank.")
    else:
        number, advice = len(options), _("The options must differ.")
    label = _("The options are different")
    return Check("options differ", verdict, label, "", advice, f"option_{number}")


def mark_rejected(checks: Iterable[Check], faults: Mapping[str, Sequence[str]]) -> list[Check]:
    return [
        replace(one, verdict="fail") if one.advice in faults.get(one.field, ()) else one
        for one in checks
    ]


def summarize(checks: Sequence[Check]) -> dict[str, Any]:
    times = Counter(check.verdict for check in checks)
    halves = {None: "", 0: _("First half") + ": ", 1: _("Second half") + ": "}
    advised = (check for check in checks if check.verdict in ("fail", "todo") and check.advice)
    first = min(advised, key=lambda check: check.verdict == "todo", default=None)
    return {
        "passed": times["pass"],
        "all": len(checks) - times["unchecked"],
        "next": halves[first.half] + first.advice if first else "",
        "ready": not times["fail"] and not times["todo"],
    }


def make_form_context(
    options: Sequence[str], faults: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    return {
        "options": [
            {
                "number": number,
                "name": f"option_{number}",
                "value": option,
                "faults": faults.get(f"option_{number}", []),
                "error": f"option-{number}-error",
            }
            for number, option in enumerate(options, 1)
        ],
        "fault_count": sum(map(len, faults.values())),
        "first_fault": next(iter(faults), ""),
        "longest_sentence": MAX_SENTENCE_LENGTH,
        "longest_option": MAX_OPTION_LENGTH,
    }


def group_advice_by_field(checks: Iterable[Check]) -> dict[str, list[str]]:
    faults: dict[str, list[str]] = {}
    for check in checks:
        if check.advice and check.advice not in faults.setdefault(check.field, []):
            faults[check.field].append(check.advice)
    return faults


class RefusedError(InputError):
    """The input violates rules; `faults` contains the advice by form field."""

    def __init__(self, faults: dict[str, list[str]]):
        self.faults = faults
        super().__init__(" ".join(text for texts in faults.values() for text in texts))


MAX_FINDINGS = 3
"""Maximum number of findings of one kind in a hint."""


def find_moderator_hints(
    halves: Sequence[AnyHalf],
    contributor: Person | None = None,
    *,
    skip_twin: int | None = None,
    family: Problem | None = None,
) -> list[str]:
    """Return the hints on a twin for moderators (`Problem.hints`), in the site's language.

    A hint contains no text or id that the contributor may not see. However, the hints also report
    similar problems under embargo, so only moderators may see them. Problems of the family with the
    root `family`, and of a twin that these halves revise (`skip_twin`), give no hint.
    """
    with translation.override(settings.LANGUAGE_CODE):
        return find_contributor_hints(
            halves, contributor, skip_twin=skip_twin, family=family, include_hidden=True
        )


def find_contributor_hints(
    halves: Sequence[AnyHalf],
    contributor: Person | None = None,
    *,
    skip_twin: int | None = None,
    family: Problem | None = None,
    include_hidden: bool = False,
) -> list[str]:
    """Return the hints that a contributor sees while writing, in the language of the page."""
    near = find_lookalikes(
        halves,
        skip_twin=skip_twin,
        family=family,
        reader=contributor,
        include_hidden=include_hidden,
        limit=MAX_FINDINGS,
    )
    similar: dict[str, None] = {}
    for hit in near:
        if hit.source:
            hint = _("shares {share} of its words with {ref} in {source}")
        elif hit.sentence is None:  # a hidden text: neither its id nor its similarity is shown
            hint = _("shares most of its words with a problem on this site that is not public")
        else:
            hint = _("shares {share} of its words with {ref} on this site")
        values = {"share": percent(hit.share, 0), "ref": hit.ref, "source": hit.source}
        similar[hint.format(**values)] = None
    return [*find_text_hints(halves, settings.RULES.words_to_flag), *similar]


def find_text_hints(halves: Sequence[AnyHalf], words_to_flag: Sequence[str] = ()) -> list[str]:
    """Return the hints on the wording of halves; a finding in both halves is listed once."""
    found = [
        _find_issues(half.sentence, tuple(half.options), tuple(words_to_flag)) for half in halves
    ]
    kinds = (
        _("words on this site's list"),
        _("possible contact data"),
        _("a possible full name of a real person"),
        _("shouting"),
        _("invisible characters"),
        _("characters that look like Latin letters"),
    )
    hints = []
    for kind, *of_halves in zip(kinds, *found, strict=True):
        if distinct := list(dict.fromkeys(chain(*of_halves))):
            more = ["…"] if len(distinct) > MAX_FINDINGS else []
            hints.append(f"{kind}: {', '.join([*distinct[:MAX_FINDINGS], *more])}")
    return hints


@lru_cache(500)
def _find_issues(
    sentence: str, options: tuple[str, ...], words_to_flag: tuple[str, ...]
) -> tuple[tuple[str, ...], ...]:
    """Return the issues in a half, by kind.

    The issues stay cached while the other half is edited.
    """
    texts = (sentence, *options)
    names = [find_full_names(sentence, options), *map(find_full_names, options)]
    return (
        tuple(w for t in texts for w in find_flagged_words(t, words_to_flag)),
        tuple(found for t in texts for found in find_contact_data(t)),
        tuple(name for each in names for name in each),
        tuple(found for t in texts for found in find_shouting(t)),
        tuple(name for t in texts for name in find_invisible(t)),
        tuple(name for t in texts for name in find_foreign_lookalikes(t)),
    )
