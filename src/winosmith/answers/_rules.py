"""Rules for interpreting the answers of every source.

- Answers are interpreted as the kind that the source uses: letters, texts or numbers.
- A row of a log belongs to the item with the same question and options.
- One row per item is used: that of the named filter, scorer or epoch, or of the first by default.
- Answers that match no option are invalid. Answers to items without a row are missing.
"""

from __future__ import annotations

import warnings
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from math import isfinite, isnan
from typing import Any, NamedTuple

from winosmith import formats
from winosmith.answers._answers import Answers, Log
from winosmith.answers._file import AnswerFile
from winosmith.answers._items import Items, Row
from winosmith.data import Place, is_missing, parse_whole
from winosmith.errors import FormatError, first_ids
from winosmith.prediction import Prediction, find_best_options
from winosmith.problem import Problem

NO_LETTER = "no answer is an option letter; write A for the first option and B for the second"

SOURCES = (
    'answers are read from a table of ids and letters, a list of labels, an object such as {"q1": '
    '"A"}, predictions of winosmith solve, lm-evaluation-harness samples, or logs of inspect_ai, '
    "HELM, OpenAI evals or Every Eval Ever; convert other logs to a table with one row per item: "
    "its id, and a column for each model with the letter that the model chose"
)

INVALID = "[invalid]"
"""The string that lm-evaluation-harness filters return if a reply contains no answer."""

LETTERS = ("letter", "letter2")
"""Kinds of letters: in the usual order of their script, and in its other order."""

_LABELS = (*LETTERS, "1", "text")
"""Kinds of labels that users write; numbers start at 1."""

_REPLIES = (*LETTERS, "0", "text", "1")
"""Kinds of answers in logs; the first of those that fit equally many targets and keys is used."""


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
    """Return the kind that fits most answers; of tied kinds, the one that matches most keys.

    Args:
        values: the answers or targets.
        readings: the option that each answer names, by kind.
        kinds: the kinds to choose from; if they also match equally many keys, the first is used.
        keys: the key of each item in the same log, if known.

    >>> detect_kind(["A", "b"], [{"letter": 0, "text": 1}, {"letter": 1}], ("text", "letter"))
    AnswerKind(name='letter', script='Latin')
    """
    fits, agree = Counter[str](), Counter[str]()
    for at, found in enumerate(readings):
        fits.update(found.keys())
        agree.update(kind for kind, option in found.items() if keys and option == keys[at])
    name = max(kinds, key=lambda kind: (fits[kind], agree[kind], -kinds.index(kind)))
    if not fits[name]:
        return AnswerKind(None)
    letters = map(formats.parse_letter, values if name in LETTERS else [])
    scripts = Counter(letter.script for letter in letters if letter).most_common(1)
    return AnswerKind(name, scripts[0][0] if scripts else None)


def read_option(
    value: Any, readings: Mapping[str, int], kind: AnswerKind, others: Sequence[str]
) -> int | None:
    """Return the option that an answer names; None if the answer is invalid.

    If the answer is not of the source's kind, `others` are tried. In a source that uses the letters
    of one script, a letter of that script is always read as a letter. A letter of another script
    never is: the Cyrillic В is third, the Latin B second.
    """
    if kind.name and kind.script and (letter := formats.parse_letter(value)):
        return readings.get(kind.name if letter.script == kind.script else "text")
    return next((readings[one] for one in (kind.name, *others) if one and one in readings), None)


def read_choices(
    labels: Mapping[str, Any], file: AnswerFile, places: Mapping[str, Place]
) -> dict[str, int | None]:
    """Return the options that labels name, by item id, with None for invalid labels.

    Missing labels are omitted from the result. Labels of unknown ids, and values other than text or
    numbers, are invalid.

    Args:
        labels: letters, numbers from 1 or texts of options, by item id.
        file: the file of answers.
        places: the location of each label, if known.
    """
    texts = {problem.id: problem.options for problem in file.dataset}
    given = {
        name: label
        for name, label in labels.items()
        if not is_missing(label) or (isinstance(label, str) and label in texts.get(name, ()))
    }
    readings = {
        name: formats.interpret_answer(
            str(label) if isinstance(label, bool) else label, texts[name]
        )
        if name in texts and not isinstance(label, dict | list)
        else {}
        for name, label in given.items()
    }
    kind = detect_kind([*given.values()], [*readings.values()], _LABELS)
    numbers = {parse_whole(str(label).strip()) for label in given.values()}
    are_numbered = kind.name not in LETTERS or numbers > {"", "0"}
    for name, fits in readings.items():
        if kind.name == "text" or not fits.keys().isdisjoint(LETTERS):
            continue
        why = ""
        if are_numbered and "0" in fits and "1" not in fits and "text" not in fits:
            why = "options are numbered from 1"
        elif "1" in fits and "text" in fits and fits["1"] != fits["text"]:
            why = f"options are numbered from 1, but {given[name]!r} is another option's text"
        if why:
            what = f"{name!r}: {given[name]} is not a label: {why}; write A for the first option"
            if numbers <= {"0", "1"}:
                what += "; if 0 and 1 mean wrong and right, write incorrect and correct instead"
            raise file.error(what, places.get(name))
    return {name: read_option(given[name], fits, kind, _LABELS) for name, fits in readings.items()}


def check_ids(ids: Collection[str], file: AnswerFile, noun: str, hint: str = "") -> None:
    """Raise FormatError if items lack an id, and most ids belong to no item or omitted record.

    Ids that are numbered from 1 are refused if the items are numbered from 0, and vice versa.
    """
    known = {*file.dataset.ids}
    numbers = [*map(str, range(len(known) + 1))]
    if len(ids) == len(known) > 1 and {*ids} ^ known == {numbers[0], numbers[-1]}:
        first = "1" if "0" in known else "0"
        raise file.error(f"the ids start at {first}, but the items' ids don't: use the items' ids")
    lost = [name for name in ids if name not in known]
    found = len(ids) - len(lost)
    if not ids or (found < len(known) and 2 * (len(lost) - len(file.omitted)) > len(ids)):
        raise file.error(
            f"only {found:,} of {len(ids):,} {noun} match the id of an item"
            + (f"; {first_ids(lost)} do not. Is this another data set?" if lost else "")
            + (f" {hint}" if hint else "")
        )


def choose_filters(file: AnswerFile, *groups: Sequence[str]) -> tuple[list[str], Log]:
    """Choose one filter, scorer or epoch of each kind; return their names, and a `Log` with them.

    For each kind, the user's choice or else the first name is used; "" for a kind without names. A
    number stands for an epoch or trial: "2" for "epoch 2".
    """
    wanted = [[name for name in kind if _is_selected(name, file.filters)] for kind in groups]
    every = [name for kind in groups for name in kind]
    twice = next((own for own in wanted if len(own) > 1), None)
    if twice or (file.filters and {*every} - {"", "none"} and not any(wanted)):
        what = f"both {' and '.join(map(repr, twice))}" if twice else "none of the chosen filters"
        raise file.error(
            f"the log has {what}; name one of {', '.join(map(repr, every))} with `filters=`"
        )
    chosen = [next(iter([*own, *kind]), "") for own, kind in zip(wanted, groups, strict=True)]
    several = [at for at, kind in enumerate(groups) if len(kind) > 1]
    used = ", ".join(chosen[at] for at in several)
    names = tuple(name for at in several for name in groups[at])
    return chosen, Log(filter=used if several else None, filters=names)


def _is_selected(name: str, filters: Collection[str]) -> bool:
    number = name.rpartition(" ")[2]
    return name in filters or (number.isdecimal() and number in filters)


def make_repeated_rows_error(
    file: AnswerFile, count: int, item_id: str, places: Sequence[Place | None] = ()
) -> FormatError:
    """Return the error for an item with several rows."""
    at = ", ".join(place.inside for place in places[:3] if place) or "repeated"
    return file.error(
        f"{count} rows per item have the same filter and epoch, such as {item_id!r} "
        f"({at}): write a log for one filter"
    )


def read_rows(
    rows: Sequence[Row],
    file: AnswerFile,
    solver: str,
    log: Log,
    *,
    problem_with_rows: str = "",
) -> Answers:
    """Return the answers in a log's rows, which are of one filter and epoch.

    Args:
        rows: the rows, in the log's order.
        file: the log.
        solver: the model's name.
        log: the facts that are known before rows are matched to items.
        problem_with_rows: why some rows may have no item, for the error message.
    """
    dataset = file.dataset
    of_items = _assign_rows_to_items(rows, file, problem_with_rows)
    key_kind, kind = _detect_log_kinds([rows[at] for at in of_items.values()], file)
    found: list[Prediction] = []
    compared, differ, contradicted = 0, [], []
    for name, at in of_items.items():
        row, problem = rows[at], dataset[dataset.row(name)]
        options = row.options or problem.options
        target = _find_target_index(row, options, key_kind)
        own = None if target is None else formats.match_option(options[target], problem.options)
        if own is not None and problem.answer is not None:
            compared += 1
            differ += [name] * (own != problem.answer)
        prediction = _make_prediction(row, options, kind, problem)
        if prediction is None:
            continue
        found.append(prediction)
        if row.correct is not None and own is not None and len(prediction.chosen) < 2:
            contradicted += [name] * ((prediction.chosen == (own,)) != row.correct)
    are_marked = all(rows[at].reply == INVALID for at in of_items.values())
    if not are_marked and not any(prediction.chosen for prediction in found):
        of_filter = f" of {log.filter!r}" if log.filter else ""
        raise file.error(
            f"no answer{of_filter} can be read; a row needs either an answer that is a letter or "
            "an option, or the log-likelihoods of all options",
            rows[0].place,
        )
    log = replace(
        log, keys_differ=tuple(differ), keys_compared=compared, scores_differ=tuple(contradicted)
    )
    return Answers(tuple(found), solver, log=log)


def _detect_log_kinds(rows: Sequence[Row], file: AnswerFile) -> tuple[AnswerKind, AnswerKind]:
    """Return the kinds of a log's keys and replies; the same kind if it fits most replies."""
    usual = file.dataset[0].options
    keyed = [row for row in rows if isinstance(row.target, str)]
    keys = [formats.interpret_answer(row.target, row.options or usual) for row in keyed]
    kind = detect_kind([row.target for row in keyed], keys, _REPLIES, [row.key for row in keyed])
    replied = [row for row in rows if isinstance(row.reply, str)]
    said = [formats.interpret_answer(row.reply, row.options or usual) for row in replied]
    fits = Counter[str | None](name for found in said for name in found)
    numbers = [one for one in "10" if 10 * fits[one] >= 9 * len(said)]
    other = detect_kind([row.reply for row in replied], said, (*LETTERS, "text", *numbers))
    most = fits[other.name] * (1 if {kind.name, other.name} == {*"01"} else 0.9)
    if kind.name and kind.name != other.name and fits[kind.name] >= most:
        return kind, kind
    if kind.name and other.name in numbers and kind.name != other.name:
        warnings.warn(
            f"{file.path}: the replies are read as {formats.KINDS[other.name]}, although the log's "
            f"keys are {formats.KINDS[kind.name]}",
            formats.ReadingNote,
            stacklevel=6,
        )
    return kind, other


def _find_target_index(row: Row, options: Sequence[str], kind: AnswerKind) -> int | None:
    target = row.target
    if isinstance(target, str):
        target = formats.interpret_answer(target, options).get(kind.name or "")
    target = row.key if target is None else target
    return target if target is not None and target < len(options) else None


def _make_prediction(
    row: Row, options: Sequence[str], kind: AnswerKind, problem: Problem
) -> Prediction | None:
    if (row.reply is None and not row.scores) or len(row.scores) not in (0, len(options)):
        return None
    places = [formats.match_option(option, problem.options) for option in options]
    if row.scores:
        if {*places} == {*range(len(problem.options))} and all(map(isfinite, row.scores)):
            scores = tuple(row.scores[places.index(at)] for at in range(len(places)))
            return Prediction(problem.id, find_best_options(scores)[0], scores)
        finite = [at for at, score in enumerate(row.scores) if isfinite(score)]
        if not finite or any(map(isnan, row.scores)):
            return Prediction(problem.id, None)
        best = [places[finite[at]] for at in find_best_options([row.scores[at] for at in finite])]
        chosen = sorted(place for place in best if place is not None)
        return Prediction(
            problem.id, chosen[0] if chosen else None, tied=tuple(chosen) if chosen[1:] else ()
        )
    reply = row.reply
    if isinstance(reply, str):
        reply = read_option(
            reply, formats.interpret_answer(reply, options), kind, ("text", *LETTERS)
        )
    return Prediction(problem.id, None if reply is None else places[reply])


def _assign_rows_to_items(rows: Sequence[Row], file: AnswerFile, reason: str) -> dict[str, int]:
    """Return the index of each item's row; a single row belongs to all duplicates of an item."""
    items = Items(file.dataset)
    of_copies: dict[tuple[str, ...], list[int]] = defaultdict(list)
    lost = []
    for at, row in enumerate(rows):
        if names := tuple(problem.id for problem in items.find(row)):
            of_copies[names].append(at)
        else:
            lost.append(row)
    if 2 * len(lost) > len(rows) or not rows:
        raise file.error(
            f"only {len(rows) - len(lost):,} of {len(rows):,} rows match the question and "
            f"options of an item: is this another data set?{reason}",
            lost[0].place if lost else None,
        )
    found: dict[str, int] = {}
    for names, places in of_copies.items():
        if len(places) == 1:
            places = places * len(names)
        if len(places) != len(names) or any(name in found for name in names):
            count = max(2, len(places) // len(names))
            raise make_repeated_rows_error(file, count, names[0], [rows[at].place for at in places])
        found |= zip(names, places, strict=True)
    if lost:
        first = lost[0].place.inside if lost[0].place else repr(lost[0].id)
        warnings.warn(
            f"{file.path}: {len(lost):,} of {len(rows):,} rows match no item ({first}, …); "
            "they are omitted",
            formats.ReadingNote,
            stacklevel=3,
        )
    return found
