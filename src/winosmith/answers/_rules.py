"""Rules for interpreting the answers of every source.

- Answers are interpreted as the kind that the source uses: letters, texts or numbers.
- A row of a log belongs to the item with the same question and options.
- One row per item is used: that of the named filter, scorer or epoch, or of the first by default.
- Answers that match no option are invalid. Answers to items without a row are missing.
"""

from __future__ import annotations

import warnings
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from math import inf, isfinite, isnan
from os.path import commonprefix
from string import ascii_uppercase, digits
from typing import Any, NamedTuple

from winosmith import formats
from winosmith.answers._answers import Answers, Log
from winosmith.answers._file import AnswerFile, normalise_id
from winosmith.answers._items import Items, Row, number_repeats
from winosmith.data import Place, format_cell, parse_whole_number
from winosmith.errors import FormatError, join_ids
from winosmith.formats import parse_letter
from winosmith.prediction import Prediction, find_best_options
from winosmith.problem import Problem
from winosmith.text import fold, normalize, remove_invisible

NO_LETTER = "no answer is an option letter; write A for the first option and B for the second"

SOURCES = (
    'answers are read from a table of ids and letters, a list of labels, an object such as {"q1": '
    '"A"}, predictions of winosmith solve, lm-evaluation-harness samples, or logs of inspect_ai, '
    "HELM, OpenAI evals or Every Eval Ever; convert other logs to a table with one row per item: "
    "its id, and a column for each model with the letter that the model chose"
)

INVALID = "[invalid]"
"""The string that lm-evaluation-harness filters return if a reply contains no answer."""

_LABELS = (*formats.LETTER_KINDS, "1", "text")
"""Kinds of labels that users write; numbers start at 1."""

_REPLIES = (*formats.LETTER_KINDS, "0", "text", "1")
"""Kinds of answers in logs; if several fit equally many targets and keys, the first is used."""


class AnswerKind(NamedTuple):
    """The kind of answers in a source.

    Attributes:
        name: a kind in the result of `formats.interpret_answer`; None if no answer names an option.
        script: the script of most letters, if answers are letters.
    """

    name: str | None
    script: str | None = None


def detect_kind(
    values: Sequence[Any],
    readings: Sequence[Mapping[str, int]],
    kinds: Sequence[str],
    keys: Sequence[int | None] = (),
) -> AnswerKind:
    """Return the kind that fits most answers, and among tied kinds, matches most keys.

    If tied kinds also match equally many keys, the first in `kinds` is used. `readings` contains
    the option that each answer names, by kind.

    >>> detect_kind(["A", "b"], [{"letter": 0, "text": 1}, {"letter": 1}], ("text", "letter"))
    AnswerKind(name='letter', script='Latin')
    """
    fits, agree = Counter[str](), Counter[str]()
    for at, reading in enumerate(readings):
        fits.update(reading.keys())
        agree.update(kind for kind, option in reading.items() if keys and option == keys[at])
    name = max(kinds, key=lambda kind: (fits[kind], agree[kind], -kinds.index(kind)))
    if not fits[name]:
        return AnswerKind(None)
    letters = map(parse_letter, values if name in formats.LETTER_KINDS else [])
    scripts = Counter(letter.script for letter in letters if letter).most_common(1)
    return AnswerKind(name, scripts[0][0] if scripts else None)


def read_option(
    value: Any, readings: Mapping[str, int], kind: AnswerKind, others: Sequence[str]
) -> int | None:
    """Return the option that an answer names, or None if the answer is invalid.

    If the answer is not of the source's kind, the kinds in `others` are tried. In a source that
    uses the letters of one script, a letter of that script is always read as a letter. A letter of
    another script never is, because the Cyrillic В is third and the Latin B second.
    """
    if kind.name and kind.script and (letter := parse_letter(value)):
        return readings.get(kind.name if letter.script == kind.script else "text")
    return next((readings[one] for one in (kind.name, *others) if one and one in readings), None)


def _refuse_second_letters(
    answers: Sequence[tuple[Any, Mapping[str, int], Place | None]], file: AnswerFile
) -> None:
    """Refuse answers or keys if every second item has the letters F, G, H and J (and K).

    Other letters beyond the options are invalid answers.
    """
    beyond = [(value, letter.positions, at) for value, one, at in answers
              if not one and (letter := parse_letter(value))]  # fmt: skip
    letters = {positions.get("letter") for _, positions, _ in beyond}
    if len(letters) > 1 and letters <= {*map(ascii_uppercase.index, "FGHJK")}:
        raise file.make_error(
            f"{len(beyond):,} of {len(answers):,} labels, such as {beyond[0][0]!r}, are letters "
            "beyond the options' number; write the options' texts, or [invalid]",
            beyond[0][2],
        )


def _has_lookalikes(problem: Problem | None) -> bool:
    """Return whether the options have letters that look like Latin ones, as in Russian."""
    return problem is not None and any(
        fold(one) != normalize(remove_invisible(one), "NFKC").lower() for one in problem.options
    )


def read_choices(
    labels: Mapping[str, Any],
    readings: Mapping[str, Mapping[str, int]],
    file: AnswerFile,
    places: Mapping[str, Place],
) -> dict[str, int | None]:
    """Map each item's id to the option that the label names, or to None if it is invalid.

    Labels are letters, numbers from 1 or texts of options. `readings` is the result of
    `AnswerFile.interpret_labels` for these labels.
    """
    present = {name: labels[name] for name in readings}
    kind = detect_kind([*present.values()], [*readings.values()], _LABELS)
    known = [name for name in present if name in file.problems]
    _refuse_second_letters([(present[n], readings[n], places.get(n)) for n in known], file)
    _refuse_mixed_scripts(present, readings, kind, file, places)
    _refuse_unclear_labels(present, readings, kind, file, places)
    others = _choose_other_kinds(present, readings, kind, file)
    return {n: read_option(present[n], reading, kind, others) for n, reading in readings.items()}


def _refuse_mixed_scripts(
    present: Mapping[str, Any],
    readings: Mapping[str, Mapping[str, int]],
    kind: AnswerKind,
    file: AnswerFile,
    places: Mapping[str, Place],
) -> None:
    no_texts = [name for name in present if "text" not in readings[name]]
    letters = [(present[n], places[n]) for n in (present if kind.script else no_texts)]
    if kind.script is None:  # a Cyrillic В among texts or numbers may be meant as the Latin B
        names = [name for name in no_texts if not _has_lookalikes(file.problems.get(name))]
    else:  # the Cyrillic С in А, В, С is meant as the Latin C
        names = [name for name in no_texts if not readings[name] and kind.script != "Latin"]
    letters += [(fold(str(present[n])), places[n]) for n in names]
    formats.refuse_mixed_scripts(
        letters, "use one script, or write [invalid] for a model's other replies"
    )


def _refuse_unclear_labels(
    present: Mapping[str, Any],
    readings: Mapping[str, Mapping[str, int]],
    kind: AnswerKind,
    file: AnswerFile,
    places: Mapping[str, Place],
) -> None:
    """Refuse labels that name two options, and zeros that are not an option's text."""
    are_texts = kind.script and all("text" in one for one in readings.values() if kind.name in one)
    mark = kind.name if kind.name and are_texts else "1"
    numbers = {parse_whole_number(str(label).strip()) for label in present.values()}
    are_numbered = kind.name not in formats.LETTER_KINDS or numbers > {"", "0"}
    for name, reading in readings.items():
        options = file.problems[name].options if name in file.problems else ()
        if fault := formats.find_contradiction(present[name], options):
            raise file.make_error(
                f"{name!r}: {fault}; write only one of them, or [invalid]", places.get(name)
            )
        is_letter = not reading.keys().isdisjoint(formats.LETTER_KINDS)
        if mark == "1" and (kind.name == "text" or is_letter):
            continue
        text = ""
        if are_numbered and "0" in reading and "1" not in reading and "text" not in reading:
            text = "0 is not a label: options are numbered from 1"
        elif mark in reading and "text" in reading and reading[mark] != reading["text"]:
            first, second = reading[mark] + 1, reading["text"] + 1
            text = f"{present[name]} may mean option {first} or the text of option {second}"
        if text:
            text = f"{name!r}: {text}; write {'A' if mark == '1' else '1'} for the first option"
            if numbers <= {"0", "1"}:
                text += "; if 0 and 1 mean wrong and right, write incorrect and correct instead"
            raise file.make_error(text, places.get(name))


def _choose_other_kinds(
    present: Mapping[str, Any],
    readings: Mapping[str, Mapping[str, int]],
    kind: AnswerKind,
    file: AnswerFile,
) -> tuple[str, ...]:
    """Return the kinds that are tried for labels not of this kind, and note unclear numbers.

    If numbers are texts of options, a number that isn't an option's text is not a position.
    """
    are_texts = kind.name == "text" and any(
        "text" in one and one["text"] != one.get("1") and parse_whole_number(str(present[name]))
        for name, one in readings.items()
    )
    positions = [one for one in readings.values() if "0" in one or "1" in one]
    may_count_from_0 = all("0" in one for one in positions)
    how = ""
    if are_texts:
        how = "texts of options; if they are positions"
    elif kind.name == "1":
        how = "counted from 1, but none is that of a last option; if they count from 0"
    if how and may_count_from_0 and 2 * len(positions) > len(readings):
        text = f"{file.path}: the numbers are read as {how}, write letters"
        warnings.warn(text, formats.ReadingNote, stacklevel=5)
    return tuple(one for one in _LABELS if not (are_texts and one == "1"))


def check_ids(ids: Collection[str], file: AnswerFile, noun: str, hint: str = "") -> None:
    """Raise FormatError if an item has no answer and most ids match no item or omitted record.

    Ids that are numbered from 1 are refused if the items are numbered from 0, and vice versa.
    """
    check_first_id(ids, file)
    unknown = [name for name in ids if name not in file.problems]
    matched = len(ids) - len(unknown)
    if not ids or (
        matched < len(file.problems) and 2 * (len(unknown) - len(file.omitted)) > len(ids)
    ):
        raise file.make_error(
            f"only {matched:,} of {len(ids):,} {noun} match the id of an item"
            + (f"; {_explain_unknown_ids(unknown, file)}" if unknown else "")
            + (f" {hint}" if hint else "")
        )


def refuse_unclear_numbers(ids: Iterable[Any], file: AnswerFile) -> None:
    """Refuse numbers as ids if the data's ids are not unique, unless all items are answered."""
    own = {*filter(str.isdecimal, file.problems)} if file.dataset.is_numbered else set()
    numbers = own & {*map(normalise_id, map(format_cell, ids))}
    if 0 < len(numbers) < len(own):
        raise file.make_error(
            f"the data have no unique ids, so {min(numbers)!r} may be an item of any file or "
            "part. Pass each part with its own answers, or add unique ids to data and answers"
        )


def check_first_id(ids: Collection[str], file: AnswerFile) -> None:
    """Raise FormatError if ids are numbered from 1, but items from 0, or vice versa.

    If no id is 0, but most from 1 to the highest id are present, the ids are numbered from 1. All
    numbers may have the same prefix, such as "q".
    """
    names = [*map(normalise_id, file.problems), *map(str, file.omitted)]
    spelled = [*names, *map(normalise_id, ids)]
    prefix = commonprefix(spelled).rstrip(digits)  # noqa: RUF071 - letters
    item_ids, numbers = (
        {one[len(prefix) :].lstrip("0") or one[-1:] for one in kind}
        for kind in (names, map(normalise_id, ids))
    )
    count = len(item_ids)
    if prefix and numbers <= item_ids:
        return
    hint = ""
    if "0" in item_ids and "0" not in numbers and "1" in numbers:
        highest = max(int(one) for one in numbers if one.isdecimal())
        differ = highest == count or 4 * len(numbers) >= 3 * highest
        hint = "; if only the answer to '0' is missing, add a row for '0'"
    else:
        differ = "0" in numbers - item_ids and str(count) in item_ids - numbers
    if differ and item_ids == {str(at + (not hint)) for at in range(count)}:
        raise file.make_error(
            f"the answers' ids count from {int(bool(hint))}, but the data set's ids count from "
            f"{int(not hint)}; use the data set's ids{hint}"
        )


def _explain_unknown_ids(unknown: Sequence[str], file: AnswerFile) -> str:
    wanted = {*map(normalise_id, unknown)}
    for name in sorted({name for problem in file.dataset for name in problem.extra}):
        values = {normalise_id(format_cell(problem.extra.get(name))) for problem in file.dataset}
        if len(values) == len(file.dataset) and 2 * len(wanted & values) > len(wanted):
            column = name.partition(".")[2] or name
            advice = f"name it with `id={column!r}`"
            return f"{join_ids(unknown)} are in the data's column {column!r}: {advice}"
    item_ids = file.dataset.ids
    are_rows = all(map(str.isdecimal, item_ids)) and item_ids[0] == "0"
    return (
        f"{join_ids(unknown)} do not. The items' ids are {join_ids(item_ids)}"
        + (": if the data have a column of ids, name it with `id=`" if are_rows else "")
        + ". Is this another data set?"
    )


def choose_filters(file: AnswerFile, *groups: Sequence[str]) -> tuple[list[str], Log]:
    """Return one name from each group of filters, scorers or epochs, and a `Log`.

    The user's choice is used, or else the first name. The name of an empty group is "". A number
    stands for an epoch or trial: "2" for "epoch 2".
    """
    wanted = [[name for name in kind if _is_selected(name, file.filters)] for kind in groups]
    options = [name for kind in groups for name in kind]
    rivals = next((names for names in wanted if len(names) > 1), None)
    if rivals or (file.filters and {*options} - {"", "none"} and not any(wanted)):
        what = f"both {' and '.join(map(repr, rivals))}" if rivals else "none of the chosen filters"
        raise file.make_error(
            f"the log has {what}; name one of {', '.join(map(repr, options))} with `filters=`"
        )
    chosen = [next(iter([*names, *kind]), "") for names, kind in zip(wanted, groups, strict=True)]
    multiple = [at for at, kind in enumerate(groups) if len(kind) > 1]
    used = ", ".join(chosen[at] for at in multiple)
    names = tuple(name for at in multiple for name in groups[at])
    return chosen, Log(filter=used if multiple else None, filters=names, used=tuple(chosen))


def _is_selected(name: str, filters: Collection[str]) -> bool:
    number = name.rpartition(" ")[2]
    return name in filters or (number.isdecimal() and number in filters)


def make_repeated_rows_error(
    file: AnswerFile, count: int, item_id: str, places: Sequence[Place | None] = ()
) -> FormatError:
    at = ", ".join(place.position for place in places[:3] if place) or "repeated"
    return file.make_error(
        f"items such as {item_id!r} have {count} rows with the same filter and epoch ({at}): "
        "write a log for one filter"
    )


def read_rows(
    rows: Sequence[Row], file: AnswerFile, solver: str, log: Log, *, problem_with_rows: str = ""
) -> Answers:
    """Return the answers in a log's rows, all of which have the same filter and epoch.

    `log` contains the facts that are known before rows are matched to items. The error message
    shows `problem_with_rows`, the reason why some rows may have no item.
    """
    of_items = _assign_rows_to_items(rows, file, problem_with_rows)
    items = [file.problems[name] for name in of_items]
    rows = [
        replace(rows[at], options=number_repeats(rows[at].options or item.options))
        for at, item in zip(of_items.values(), items, strict=True)
    ]
    key_kind, kind = _detect_log_kinds(rows, items, file)
    found: list[Prediction] = []
    compared, differ, contradicted = 0, [], []
    for row, problem in zip(rows, items, strict=True):
        name, options = problem.id, number_repeats(problem.options)
        order = [formats.match_option(option, options) for option in row.options]
        target = row.target
        if isinstance(target, str):
            target = formats.interpret_answer(target, row.options).get(key_kind.name or "")
        target = row.key if target is None else target
        key = order[target] if target is not None and target < len(order) else None
        if key is not None and problem.answer is not None:
            compared += 1
            differ += [name] * (key != problem.answer)
        prediction = _make_prediction(row, order, kind, problem)
        if prediction is None:
            continue
        found.append(prediction)
        if row.correct is not None and key is not None and len(prediction.chosen) < 2:
            contradicted += [name] * ((prediction.chosen == (key,)) != row.correct)
    are_invalid = all(row.reply == INVALID for row in rows)
    if not are_invalid and not any(prediction.chosen for prediction in found):
        which = f" of {log.filter!r}" if log.filter else ""
        raise file.make_error(
            f"no answer{which} can be read; each row needs an answer (a letter or an "
            "option) or the log-likelihoods of all options",
            rows[0].place,
        )
    log = replace(
        log, keys_differ=tuple(differ), keys_compared=compared, scores_differ=tuple(contradicted)
    )
    return Answers(tuple(found), solver, log=log)


def _detect_log_kinds(
    rows: Sequence[Row], items: Sequence[Problem], file: AnswerFile
) -> tuple[AnswerKind, AnswerKind]:
    """Return the kinds of a log's keys and replies, a single kind if most replies fit it.

    If the log has no copy of an item, the data's key is used to choose between kinds.
    """
    texts = ["" if item.answer is None else item.options[item.answer] for item in items]
    keys = [
        formats.match_option(text, row.options) if row.key is None else row.key
        for row, text in zip(rows, texts, strict=True)
    ]
    readings = [
        formats.interpret_answer(row.target, row.options) if isinstance(row.target, str) else {}
        for row in rows
    ]
    targets = [(row.target, one, row.place) for row, one in zip(rows, readings, strict=True)]
    _refuse_second_letters(targets, file)
    kind = detect_kind([row.target for row in rows], readings, _REPLIES, keys)
    replied = [row for row in rows if isinstance(row.reply, str)]
    replies = [formats.interpret_answer(row.reply, row.options) for row in replied]
    fits = Counter[str | None](name for found in replies for name in found)
    min_numbers = max(0.9 * sum(map(bool, replies)), 0.5 * len(replies))
    numbers = [one for one in "10" if fits[one] >= min_numbers]
    kinds = (*formats.LETTER_KINDS, "text", *numbers)
    other = detect_kind([row.reply for row in replied], replies, kinds)
    min_fits = fits[other.name] * (1 if {kind.name, other.name} == {*"01"} else 0.9)
    if kind.name in (None, other.name):
        return kind, other
    if fits[kind.name] >= min_fits:
        return kind, kind
    if other.name in numbers:
        warnings.warn(
            f"{file.path}: the replies are read as {formats.KINDS[other.name]}, although the log's "
            f"keys are {formats.KINDS[str(kind.name)]}",
            formats.ReadingNote,
            stacklevel=6,
        )
    return kind, other


def _make_prediction(
    row: Row, order: Sequence[int | None], kind: AnswerKind, problem: Problem
) -> Prediction | None:
    if (row.reply is None and not row.scores) or len(row.scores) not in (0, len(order)):
        return None
    if row.scores:
        if {*order} == {*range(len(problem.options))} and all(map(isfinite, row.scores)):
            scores = tuple(row.scores[order.index(at)] for at in range(len(order)))
            return Prediction(problem.id, find_best_options(scores)[0], scores)
        finite = [at for at, score in enumerate(row.scores) if isfinite(score)]
        if not finite or any(isnan(score) or score == inf for score in row.scores):
            return Prediction(problem.id, None)
        best = [order[finite[at]] for at in find_best_options([row.scores[at] for at in finite])]
        chosen = sorted(place for place in best if place is not None)
        return Prediction(
            problem.id, chosen[0] if chosen else None, tied=tuple(chosen) if chosen[1:] else ()
        )
    reply = row.reply
    if isinstance(reply, str):
        if formats.find_contradiction(reply, row.options):  # one option's letter, another's text
            return Prediction(problem.id, None)
        keys = formats.interpret_answer(row.target, row.options) if row.key is not None else {}
        labels = [name for name in "01" if keys.get(name) == row.key is not None]
        others = ("text", *formats.LETTER_KINDS, *labels)  # options may have labels of their own
        reply = read_option(reply, formats.interpret_answer(reply, row.options), kind, others)
    return Prediction(problem.id, None if reply is None else order[reply])


def _assign_rows_to_items(rows: Sequence[Row], file: AnswerFile, reason: str) -> dict[str, int]:
    """Return the index of each item's row. A single row belongs to all duplicates of an item."""
    items = Items(file.dataset)
    by_copies: dict[tuple[str, ...], list[int]] = defaultdict(list)
    unmatched = []
    for at, row in enumerate(rows):
        if names := tuple(problem.id for problem in items.find(row)):
            by_copies[names].append(at)
        else:
            unmatched.append(row)
    if 2 * len(unmatched) > len(rows) or not rows:
        raise file.make_error(
            f"only {len(rows) - len(unmatched):,} of {len(rows):,} rows match the question and "
            f"options of an item: is this another data set?{reason}",
            unmatched[0].place if unmatched else None,
        )
    found: dict[str, int] = {}
    for names, places in by_copies.items():
        if len(places) == 1:
            places = places * len(names)
        if len(places) != len(names) or any(name in found for name in names):
            count = max(2, len(places) // len(names))
            raise make_repeated_rows_error(file, count, names[0], [rows[at].place for at in places])
        found |= zip(names, places, strict=True)
    if unmatched:
        first = unmatched[0].place.position if unmatched[0].place else repr(unmatched[0].id)
        warnings.warn(
            f"{file.path}: {len(unmatched):,} of {len(rows):,} rows match no item ({first}, …); "
            f"they are omitted{reason and '.'}{reason}",
            formats.ReadingNote,
            stacklevel=3,
        )
    return found
