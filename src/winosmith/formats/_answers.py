"""Match an answer to a choice by letter, number, text or label."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any

from winosmith.data import Place, parse_whole_number
from winosmith.errors import AdvisedText, FormatError
from winosmith.formats._base import Entry, count_common_prefix, get_problems, replace_items
from winosmith.formats._choices import PREFIX
from winosmith.formats._columns import is_empty
from winosmith.formats._letters import LETTER_KINDS, Letter, locate_letter
from winosmith.formats._names import collect_names, is_answer_name, normalise
from winosmith.problem import Extra
from winosmith.text import compute_edit_distance, fold, normalize, remove_invisible

KINDS = {
    "letter": "letters",
    "letter2": "letters in the alternative order",
    "0": "numbers from 0",
    "1": "numbers from 1",
    "text": "texts of choices",
    "label": "labels of choices",
}
"""Names of the answer kinds for use in messages."""

KeyedRow = tuple[Place, Mapping[str, Any], Callable[[Any], Mapping[str, int]], int]
"""A row's location, its additional fields, a function that interprets an answer, and the key."""

_LETTER = re.compile(r"\s*[(（\[]?(\w|الف)[\u0640'׳]?[.)．、:：）\]]?\s*")
"""A letter of any script; a tatweel may follow an Arabic letter, and a geresh a Hebrew one."""

_MARKUP = re.compile(
    r"\$?\\boxed\{\s*(.+?)\s*\}\$?|[*_`]{1,3}(.+?)[*_`]{1,3}|[\"'“‘„«](.+?)[\"'”’“»]|"
    r"(?:(?:final )?answer: |(?:option|choice)[ _]?)(.+)",
    re.IGNORECASE,
)
"""An answer in markup that models often use, such as \\boxed{B}, **B**, "B" or "Answer: B"."""


def interpret_answer(
    value: Any,
    options: Sequence[str],
    labels: Sequence[str] = (),
    original_options: Sequence[str] = (),
    max_marks: int = 2,
) -> dict[str, int]:
    """Return the 0-based index of the choice that an answer refers to, by kind of answer.

    An answer that could be of several kinds may refer to several choices.

    Args:
        value: the answer.
        options: the texts of the choices.
        labels: the labels of the choices, if they have any.
        original_options: the options before their letters or numbers were removed.
        max_marks: maximum number of layers of markup, such as `**`, to remove.

    >>> interpret_answer("B", ["a cup", "a jug"]), interpret_answer("**2**", ["1", "2"])
    ({'letter': 1}, {'text': 1, '1': 1})
    >>> interpret_answer("2.0", ["2", "1"]), interpret_answer(2, ["2.0", "1.0"])
    ({'text': 0, '1': 1}, {'text': 0, '1': 1})
    >>> interpret_answer("ii", ["a cup", "a jug"]), interpret_answer("i", ["1", "i"])
    ({'1': 1}, {'text': 1})
    """
    count = len(options)
    value = remove_invisible(value) if isinstance(value, str) else value
    text = " ".join(str(value).split())
    plain = text if text.isascii() else normalize(text, "NFKC")  # ③ becomes 3
    bare = plain.strip("()[]、. ")
    whole = parse_whole_number(plain)
    found: dict[str, int] = {}
    if text in labels:
        found["label"] = labels.index(text)
    elif labels:
        plain_labels = [*map(normalise, labels)]
        if plain_labels.count(normalise(text)) == 1:
            found["label"] = plain_labels.index(normalise(text))
        elif len(labelled := [*_find_by_label(text, options, labels)]) == 1:
            found["label"] = labelled[0]
    option = as_written = match_option(text, options)
    if option is None and original_options:
        option = match_option(text, original_options)
    if option is None and (marker := PREFIX.match(text)):
        option = match_option(text[marker.end() :], options)
    if option is None and whole:  # from a column of whole numbers with missing values
        option = match_option(whole, options)
        option = match_option(f"{whole}.0", options) if option is None else option
    if option is None:
        whole = whole or parse_whole_number(bare)
    else:
        found["text"] = option
    if max_marks and not found and (markup := _MARKUP.fullmatch(text)):
        [inner] = filter(None, markup.groups())
        return interpret_answer(inner, options, labels, original_options, max_marks - 1)
    if (letter := parse_letter(value)) and not _MARKUP.fullmatch(text):
        found |= {kind: at for kind, at in letter.positions.items() if at < count}
    if whole and (as_written is None or "," not in plain):
        number = int(whole)
        found |= {"0": number} if 0 <= number < count else {}
        found |= {"1": number - 1} if 1 <= number <= count else {}
    if option is None and bare.upper() in _ROMAN_NUMERALS[:count]:
        found["1"] = _ROMAN_NUMERALS.index(bare.upper())
    return found


_ROMAN_NUMERALS = "I II III IV V VI VII VIII IX X".split()


def parse_letter(value: Any) -> Letter | None:
    """Parse an answer that is a single letter, or return None for other answers.

    >>> parse_letter("**(b)**"), parse_letter("red")
    (Letter(script='Latin', positions={'letter': 1}), None)
    """
    if not isinstance(value, str):
        return None
    for form in ("NFC", "NFKC"):  # Ⓑ and ⒝ become letters
        found = _LETTER.fullmatch(normalize(value, form))
        if found and (letter := locate_letter(found[1])):
            return letter
    markup = _MARKUP.fullmatch(value.strip()) if len(value) < 30 else None  # few layers
    return parse_letter(next(filter(None, markup.groups()))) if markup else None


def refuse_mixed_scripts(
    answers: Iterable[tuple[Any, Place]], remedy: str = "use one script"
) -> None:
    """Refuse letters of several scripts, because the Cyrillic В is third and the Latin B second."""
    places: defaultdict[str, list[Place]] = defaultdict(list)
    for value, place in answers:
        if letter := parse_letter(value):
            places[letter.script].append(place)
    if len(places) > 1:
        usual, *others = sorted(places, key=lambda script: -len(places[script]))
        where = "; ".join(f"{script} in {join_places(places[script])}" for script in others)
        raise places[others[0]][0].make_error(
            f"the answers mix letters of several scripts, which may look alike: {usual} in most "
            f"rows, {where}; {remedy}"
        )


def find_contradiction(value: Any, options: Sequence[str], labels: Sequence[str] = ()) -> str:
    """Return a phrase if an answer has one option's letter and another's text, or else ""."""
    marker = PREFIX.match(value) if isinstance(value, str) and value[2:] else None
    if not marker or match_option(value, options) is not None:
        return ""
    option = match_option(value[marker.end() :], options)
    named = interpret_answer(marker[0], options, labels)
    marked = [named[kind] for kind in ("label", *LETTER_KINDS, "1") if kind in named]
    if not marked or option is None or option in named.values():  # numbers may start at 0
        return ""
    return f"{value!r} marks option {marked[0] + 1}, but has the text of option {option + 1}"


def locate_letters(values: Iterable[Any]) -> list[int] | None:
    """Return the 0-based position of each letter, or None if the letters don't mark all options.

    >>> locate_letters(["(B)", "(A)"]), locate_letters("イロハ"), locate_letters("AC")
    ([1, 0], [0, 1, 2], None)
    """
    letters = [*map(parse_letter, values)]
    orders = ([one.positions.get(kind, -1) if one else -1 for one in letters]
              for kind in LETTER_KINDS)  # fmt: skip
    return next((order for order in orders if sorted(order) == [*range(len(order))]), None)


def match_choices(value: Any, options: Sequence[str], labels: Sequence[str]) -> list[int]:
    """Return the indices of the choices whose text or label equals the answer, ignoring case.

    >>> match_choices("Paris", ["PARIS", "Rome", "paris "], [])
    [0, 2]
    """
    wanted = " ".join(str(value).split()).casefold()
    texts = [[" ".join(text.split()).casefold() for text in group] for group in (options, labels)]
    return sorted({at for group in texts for at, text in enumerate(group) if text == wanted})


def _find_by_label(answer: str, options: Sequence[str], labels: Sequence[str]) -> Iterator[int]:
    """Yield each choice if the answer is its label and text, as in "option 2: a cup"."""
    for at, (label, text) in enumerate(zip(labels, options, strict=False)):
        rest = answer.removeprefix(label)
        if rest != answer and rest.lstrip(" .:)-").casefold() == " ".join(text.split()).casefold():
            yield at


def match_option(text: str, options: Sequence[str]) -> int | None:
    """Return the index of the only option that matches a text, or None.

    Case, a full stop at the end, and the shape of quotation marks and dashes are ignored, unless
    options differ only in these.

    >>> match_option("A  cup.", ["a cup", "a jug"]), match_option("Us", ["US", "us"])
    (0, None)
    >>> match_option("I don’t", ["I don't", "I do"]), match_option("−5", ["-5", "–5"])
    (0, None)
    """
    option = _match_text(text, options)
    if option is None and len(text) > 1 and not all(map(str.isascii, (text, *options))):
        text, *typed = (one.translate(_TYPED_SIGNS) for one in (text, *options))
        option = _match_text(text, typed)
    return option


_TYPED_SIGNS = str.maketrans("‘’“”–—−", "''\"\"---")


def _match_text(text: str, options: Sequence[str]) -> int | None:
    plain = (one if one.isascii() else remove_invisible(normalize(one)) for one in (text, *options))
    wanted, *tidied = (" ".join(one.split()) for one in plain)
    if tidied.count(wanted) == 1:
        return tidied.index(wanted)
    folded = wanted.casefold()
    bare = folded.rstrip(".。")
    if not bare or f"\n{bare}" not in "\n".join(["", *tidied]).casefold():
        return None
    folded_options = [*map(str.casefold, tidied)]
    if folded not in folded_options:
        folded, folded_options = bare, [one.rstrip(".。") for one in folded_options]
    return folded_options.index(folded) if folded_options.count(folded) == 1 else None


_MIN_ROWS_PER_DIFFERENCE = 10
"""A column repeats the key if it differs from the key in fewer than 1 in this many rows."""


def find_repeated_keys(
    rows: Sequence[KeyedRow],
    fields: Mapping[str, str],
    key_column: str = "",
    *,
    is_known: bool = True,
) -> tuple[list[str], list[str]]:
    """Return the fields that repeat the key, and a note on each other column with answers.

    If `is_known` is false, another column may be the key. It is then an error if another column has
    answers in at least half of the rows and these differ from the key.
    """
    repeats, notes = list[str](), list[str]()
    for name, field in fields.items():
        if not is_answer_name(name):
            continue
        answers = [
            (place, interpret(extra[field]), key)
            for place, extra, interpret, key in rows
            if not is_empty(extra.get(field)) and not isinstance(extra[field], list | dict)
        ]
        differ = {kind: [place for place, readings, key in answers if readings.get(kind) != key]
                  for kind in KINDS}  # fmt: skip
        places, count = min(differ.values(), key=len), len(answers)
        fits = [kind for kind in KINDS if all(kind in readings for _, readings, _ in answers)]
        if _MIN_ROWS_PER_DIFFERENCE * len(places) < count:
            repeats.append(field)
            note = f"{name!r} repeats the key and is omitted"
            if places:
                note += f"; it differs in {len(places):,} of {count:,} rows ({join_places(places)})"
            notes.append(note)
        elif answers and fits:
            places = min((differ[kind] for kind in fits), key=len)
            if not is_known and 2 * count >= len(rows):
                raise FormatError.advise(
                    f"{key_column!r} and {name!r} may both be the answers but differ in "
                    f"{len(places):,} of {count:,} rows, first at {places[0].position}",
                    "answer",
                    f"; choose one with `answer={key_column!r}` or `answer={name!r}`",
                )
            notes.append(
                f"{name!r} has a different answer in {len(places):,} of {count:,} rows "
                f"({join_places(places)})"
            )
    return repeats, notes


def drop_repeated_keys(entries: list[Entry]) -> list[str]:
    """Remove the fields of `extra` that repeat the key, and return a note on each field."""
    problems = get_problems(entries)
    rows = [
        (entries[row].place, one.extra, partial(interpret_answer, options=one.options), one.answer)
        for row, one in problems.items()
        if one.answer is not None
    ]
    fields = {key.partition(".")[2]: key for key in collect_names(extra for _, extra, *_ in rows)}
    repeats, notes = find_repeated_keys(rows, fields)
    for row, one in problems.items() if repeats else ():
        if not one.extra.keys().isdisjoint(repeats):
            others = Extra({k: value for k, value in one.extra.items() if k not in repeats})
            replace_items(entries, {row: replace(one, extra=others)})
    return notes


def interpret_labels(
    labels: Mapping[str, Sequence[Place]], *, is_declared: bool
) -> tuple[tuple[str, ...], dict[str, str], dict[str, str], list[str]]:
    """Interpret the labels that occur in any row as the choices of every row.

    Labels that differ only in case, width, invisible characters, surrounding punctuation or the
    separator of words ("Yes", "yes."; "not_so", "not so") are the same label. If the user named the
    column as the choices (`is_declared`), no label is considered a typo.

    Returns:
        The sorted choices, in their most frequent spellings; the choice of each label; the reason
        why a label is refused, if it may be a typo; and a sentence for each label that is rare or
        has several spellings.
    """

    def describe(label: str) -> str:
        return f"{label!r} ({join_places(labels[label])})"

    folded, notes, faults = _fold_labels(labels), list[str](), dict[str, str]()
    classes: defaultdict[str, list[str]] = defaultdict(list)
    for label in sorted(labels, key=lambda one: -len(labels[one])):
        classes[folded[label]].append(label)
    counts = {name: sum(len(labels[one]) for one in own) for name, own in classes.items()}
    max_count = max(counts.values(), default=0)
    is_open = len(labels) <= _MAX_LABELS
    spellings: dict[str, str] = {}
    for name, (label, *others) in classes.items():
        notes += [f"the label {describe(other)} is read as {label!r}" for other in others]
        if is_open and _TYPO_RATIO * counts[name] <= max_count:
            may_be_typo = any(_may_be_typo(name, other, counts) for other in counts)
            if may_be_typo and not is_declared:
                faults |= {
                    one: AdvisedText(
                        f"the label {describe(one)} is rare and may be a typo: correct it",
                        "choices",
                        ", or, if it is one of the choices, name its column with `choices=`",
                    )
                    for one in classes[name]
                }
                continue
            if may_be_typo or counts[name] <= _MAX_RARE_COUNT:
                notes.append(f"the label {describe(label)} is rare")
        spellings[name] = name.title() if name in ("true", "false") else label
    usual = [classes[name][0] for name in spellings]
    numbers = [one for one in usual if re.fullmatch(r"-?[0-9]+", one)]
    words = [one for one in usual if one not in numbers]
    if is_open and len(numbers) > 1 and len(words) > 1:
        number, word = describe(numbers[0]), describe(words[0])
        notes.append(f"the labels are numbers, such as {number}, and words, such as {word}")
    notes += [
        f"the labels {describe(one)} and {describe(other)} may be one class"
        for one, other in combinations(usual if is_open else (), 2)
        if _may_be_one_class(folded[one], folded[other])
    ]
    choices = tuple(sorted(spellings.values(), key=None if words else int))
    choice_of = {one: spellings[name] for one, name in folded.items() if name in spellings}
    return choices, choice_of, faults, notes


def _fold_labels(labels: Iterable[str]) -> dict[str, str]:
    """Normalise labels, and if all of them mean yes or no, reduce them to two."""
    folded = {label: _normalise_label(label) for label in labels}
    distinct = {*folded.values()}
    pairs = [pair for pair in zip(_NO, _YES, strict=True) if distinct.issuperset(pair)]
    same = {word: pairs[0][at] for pair in pairs for at, word in enumerate(pair)}
    return {label: same[one] for label, one in folded.items()} if distinct == {*same} else folded


def _may_be_one_class(label: str, other: str) -> bool:
    """Return whether two normalised labels may be one class.

    Such labels differ only in diacritics, in letters that look alike or in the ending of the last
    word, or both labels mean yes or no.

    >>> _may_be_one_class("entails", "entailed"), _may_be_one_class("entails", "not entailed")
    (True, False)
    >>> _may_be_one_class("sí", "si"), _may_be_one_class("y", "1"), _may_be_one_class("1", "2")
    (True, True, False)
    """
    if _strip_diacritics(label) == _strip_diacritics(other):
        return True
    if any(label in words and other in words for words in (_YES, _NO)):
        return True
    if label.isdecimal() or other.isdecimal():
        return False
    (start, _, word), (other_start, _, other_word) = label.rpartition(" "), other.rpartition(" ")
    shared = count_common_prefix([word, other_word]) if start == other_start else 0
    return shared >= max(_MIN_STEM, 2 / 3 * min(len(word), len(other_word)))


def _strip_diacritics(label: str) -> str:
    signs = unicodedata.normalize("NFD", fold(label))
    return "".join(sign for sign in signs if unicodedata.category(sign) != "Mn")


def _normalise_label(label: str) -> str:
    """Normalise a label, so that all its spellings become equal.

    >>> [*map(_normalise_label, ("Yes.", "‘ＹＥＳ’", "not_so", "是。", "C++", "５!"))]
    ['yes', 'yes', 'not so', '是', 'c++', '5!']
    """
    folded = unicodedata.normalize("NFKC", remove_invisible(label)).casefold()
    word = re.sub(r"[\s_-]+", " ", folded.strip(_PUNCTUATION))
    is_word = all(unicodedata.category(sign)[0] in "LMZ" for sign in word)
    plain = "".join(str(unicodedata.decimal(sign, sign)) for sign in remove_invisible(label))
    return word if word and is_word else plain.casefold()


_PUNCTUATION = " .,;:!¡?¿'\"`‘’“”„«»‹›()[]。、「」『』【】《》।؟،؛"

_YES, _NO = ("yes", "true", "y", "t", "1"), ("no", "false", "n", "f", "0")

_MIN_STEM = 5
"""Minimum number of first letters that two words for one class share."""

_MAX_LABELS, _TYPO_RATIO, _MAX_RARE_COUNT = 100, 5, 3
"""Maximum number of labels to search for typos; minimum ratio of a frequent label's count to a rare
label's; maximum count of a label that is noted as rare (typos occur less often)."""


def _may_be_typo(label: str, frequent: str, counts: Mapping[str, int]) -> bool:
    """Return whether a rare label may misspell a frequent label, both normalised.

    A misspelling has one letter or diacritic added, missing or different, or is another yes or no.
    """
    if label == frequent or _TYPO_RATIO * counts[label] > counts[frequent]:
        return False
    is_synonym = any(label in words and frequent in words for words in (_YES, _NO))
    if is_synonym or _strip_diacritics(label) == _strip_diacritics(frequent):
        return True
    is_short = max(len(label), len(frequent)) < 3
    if is_short or not (label + frequent).isalpha() or counts[label] >= _MAX_RARE_COUNT:
        return False
    swapped = sorted(label) == sorted(frequent) and sum(map(str.__ne__, label, frequent)) == 2
    return swapped or compute_edit_distance(label, frequent) == 1


def join_places(places: Sequence[Place]) -> str:
    """Format line or row numbers as a list for messages.

    >>> join_places([Place("a.csv", 7)]), join_places([Place("a.csv", n) for n in (7, 9)])
    ('line 7', 'lines 7 and 9')
    >>> join_places([Place("<DataFrame>", n, "row") for n in range(1, 23)])[-21:]
    '18, 19, 20 and 2 more'
    """
    unit = places[0].unit
    *numbers, last = (str(place.number) for place in places[:_MAX_LISTED])
    if len(places) > _MAX_LISTED:
        return f"{unit}s {', '.join([*numbers, last])} and {len(places) - _MAX_LISTED:,} more"
    return f"{unit}s {', '.join(numbers)} and {last}" if numbers else f"{unit} {last}"


_MAX_LISTED = 20
