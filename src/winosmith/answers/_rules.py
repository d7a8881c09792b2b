"""The rules by which answers are read, the same for every source.

- An answer is read as the kind of answer that the source uses: a letter, a text or a number.
- A row of a log belongs to the item with its question and options.
- One row per item is used: of a named filter, scorer or epoch, or else of the first one.
- Answers that are none of the options are invalid. Items without a row are missing.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from math import isfinite, isnan
from pathlib import Path
from typing import Any

from winosmith import formats
from winosmith.answers._answers import Answers, Log
from winosmith.answers._items import Items, Row
from winosmith.dataset import Dataset
from winosmith.errors import FormatError
from winosmith.prediction import Prediction, best_of, first_ids
from winosmith.problem import Problem

NO_LETTER = "none is the letter of an option; write A for the first one, B for the second"

_LETTER = re.compile(r"\s*\(?[A-Za-z][).:]?\s*")
_LABELS = ("letter", "1", "text")
"""The kinds of labels that users write; numbers count from 1."""

_REPLIES = ("letter", "0", "text", "1")
"""The kinds of answers in logs, those preferred first that fit as many targets and keys."""


def option_kind(
    readings: Sequence[Mapping[str, int]], kinds: Sequence[str], keys: Sequence[int | None] = ()
) -> str | None:
    """Return the kind that reads most answers, and of several the one that agrees with most keys.

    Args:
        readings: the option of each answer, or target, by kind.
        kinds: the kinds to choose from, in the order that decides if both numbers are equal.
        keys: the key of each item in the same log, if known.

    >>> option_kind([{"letter": 0, "text": 1}, {"letter": 1}], ("text", "letter"))
    'letter'
    """
    fits, agree = Counter[str](), Counter[str]()
    for at, found in enumerate(readings):
        fits.update(found.keys())
        agree.update(kind for kind, option in found.items() if keys and option == keys[at])
    if not any(fits[kind] for kind in kinds):
        return None
    return max(kinds, key=lambda kind: (fits[kind], agree[kind], -kinds.index(kind)))


def read_option(
    value: Any, readings: Mapping[str, int], kind: str | None, kinds: Sequence[str]
) -> int | None:
    """Return the option that an answer is; None if it is invalid.

    An answer of another kind than the source's is read if it fits one of `kinds`. A letter of a
    source that uses letters is always a letter.
    """
    if kind == "letter" and isinstance(value, str) and _LETTER.fullmatch(value):
        return readings.get("letter")
    return next((readings[one] for one in (kind, *kinds) if one and one in readings), None)


def read_choices(
    labels: Mapping[str, Any], dataset: Dataset, path: Path, lines: Mapping[str, int]
) -> dict[str, int | None]:
    """Return the options of labels that users wrote, by the items' ids; None for an invalid one.

    Empty cells, null and NaN are omitted: the model was not asked. Labels of unknown ids are
    invalid.

    Args:
        labels: letters, numbers from 1 or texts of options, by the items' ids.
        dataset: the items.
        path: the file.
        lines: the 1-based line of each label, if known.

    Raises:
        FormatError: a label counts from 0, or is both a number and the text of another option.
    """
    known = {*dataset.ids}
    given = {
        name: label
        for name, label in labels.items()
        if label is not None and str(label).strip().casefold() not in ("", "nan", "<na>")
    }
    readings = {
        name: formats.readings(label, dataset[dataset.row(name)].options) if name in known else {}
        for name, label in given.items()
    }
    kind = option_kind([*readings.values()], _LABELS)
    for name, fits in readings.items():
        if kind == "text" or "letter" in fits:
            continue
        why = ""
        if "0" in fits and "1" not in fits and "text" not in fits:
            why = "options are counted from 1"
        elif "1" in fits and "text" in fits and fits["1"] != fits["text"]:
            why = f"options are counted from 1, and {given[name]!r} is the text of another"
        if why:
            what = f"{name!r}: {given[name]} is no label: {why}; write A for the first"
            raise FormatError(what, path, lines.get(name))
    return {name: read_option(given[name], fits, kind, _LABELS) for name, fits in readings.items()}


def check_known(
    names: Collection[str], dataset: Dataset, path: Path, what: str, hint: str = ""
) -> None:
    """Raise FormatError if fewer than half of the names are ids of items."""
    known = {*dataset.ids}
    lost = [name for name in names if name not in known]
    if not names or 2 * len(lost) > len(names):
        found = len(names) - len(lost)
        raise FormatError(
            f"compared by their ids, {found:,} of {len(names):,} {what} are of items"
            + (f"; {first_ids(lost)} are not. Is it another data set?" if lost else "")
            + (f" {hint}" if hint else ""),
            path,
        )


def choose(names: Sequence[str], wanted: Collection[str]) -> str | None:
    """Return the wanted one of some names, and if none is wanted the first; None without any."""
    return next((name for name in names if name in wanted), names[0] if names else None)


def check_wanted(names: Sequence[str], wanted: Collection[str], path: Path) -> None:
    """Raise FormatError if a log has filters and none of them, or two, are wanted."""
    found = [name for name in names if name in wanted]
    if wanted and {*names} - {"", "none"} and len(found) != 1:
        what = f"both {' and '.join(map(repr, found))}" if found else "none of the filters wanted"
        raise FormatError(
            f"it has {what}; name one of {', '.join(map(repr, names))} with `filters=`", path
        )


def read_rows(
    rows: Sequence[Row],
    dataset: Dataset,
    path: Path,
    solver: str,
    log: Log,
    *,
    problem_with_rows: str = "",
) -> Answers:
    """Return the answers in a log's rows of one filter and epoch.

    Args:
        rows: in the log's order.
        dataset: the items.
        path: the log.
        solver: the model's name.
        log: the facts that are known without the items.
        problem_with_rows: why rows may not be found, for the message.

    Raises:
        FormatError: fewer than half of the rows are of an item, an item has several rows, or no
            answer can be read.
    """
    of_items = _one_per_item(rows, dataset, path, problem_with_rows)
    kind = _kind([rows[at] for at in of_items.values()], dataset)
    found: list[Prediction] = []
    compared, differ, contradicted = 0, [], []
    for name, at in of_items.items():
        row, problem = rows[at], dataset[dataset.row(name)]
        options = row.options or problem.options
        target = _target(row, options, kind)
        own = None if target is None else formats.option_of_text(options[target], problem.options)
        if own is not None and problem.answer is not None:
            compared += 1
            differ += [name] * (own != problem.answer)
        prediction = _prediction(row, options, kind, problem)
        if prediction is None:
            continue
        found.append(prediction)
        if row.correct is not None and own is not None and len(prediction.chosen) < 2:
            contradicted += [name] * ((prediction.chosen == (own,)) != row.correct)
    if not any(prediction.chosen for prediction in found):
        raise FormatError(
            "no answer can be read: needed are log-likelihoods of all options, or an answer that "
            "is a letter or an option",
            path,
            rows[0].line,
        )
    facts = replace(
        log,
        keys_differ=tuple(differ),
        keys_compared=compared,
        scores_differ=tuple(contradicted),
    )
    return Answers(tuple(found), solver, log=facts)


def _kind(rows: Sequence[Row], dataset: Dataset) -> str | None:
    """Return the kind of a log's keys; if they have none, that of its replies."""
    texts = [row for row in rows if isinstance(row.target, str)]
    usual = dataset[0].options
    keys = [formats.readings(row.target, row.options or usual) for row in texts]
    said = [formats.readings(r.reply, r.options or usual) for r in rows if isinstance(r.reply, str)]
    return option_kind(keys, _REPLIES, [row.key for row in texts]) or option_kind(
        said, ("letter", "text")
    )


def _target(row: Row, options: Sequence[str], kind: str | None) -> int | None:
    """Return the log's key in the order of the row's options; that of its record without one."""
    target = row.target
    if isinstance(target, str):
        target = formats.readings(target, options).get(kind or "")
    target = row.key if target is None else target
    return target if target is not None and target < len(options) else None


def _prediction(
    row: Row, options: Sequence[str], kind: str | None, problem: Problem
) -> Prediction | None:
    """Return the prediction of a row, in the order of the problem's options; None if missing."""
    if (row.reply is None and not row.scores) or len(row.scores) not in (0, len(options)):
        return None
    places = [formats.option_of_text(option, problem.options) for option in options]
    if row.scores:
        if {*places} == {*range(len(problem.options))} and all(map(isfinite, row.scores)):
            scores = tuple(row.scores[places.index(at)] for at in range(len(places)))
            return Prediction(problem.id, best_of(scores)[0], scores)
        finite = [at for at, score in enumerate(row.scores) if isfinite(score)]
        if not finite or any(map(isnan, row.scores)):
            return Prediction(problem.id, None)
        best = [places[finite[at]] for at in best_of([row.scores[at] for at in finite])]
        chosen = sorted(place for place in best if place is not None)
        return Prediction(
            problem.id, chosen[0] if chosen else None, tied=tuple(chosen) if chosen[1:] else ()
        )
    reply = row.reply
    if isinstance(reply, str):
        numbers = (kind,) if kind in ("0", "1") else ()
        fits = formats.readings(reply, options)
        reply = read_option(reply, fits, kind, (*numbers, "text", "letter"))
    return Prediction(problem.id, None if reply is None else places[reply])


def _one_per_item(
    rows: Sequence[Row], dataset: Dataset, path: Path, because: str
) -> dict[str, int]:
    """Return the place of each item's row.

    If as many rows as copies of an item have its words, each is of one copy; a single row is of
    all of them.
    """
    items = Items(dataset)
    of_copies: dict[tuple[str, ...], list[int]] = defaultdict(list)
    lost = []
    for at, row in enumerate(rows):
        if names := tuple(problem.id for problem in items.find(row)):
            of_copies[names].append(at)
        else:
            lost.append(row)
    if 2 * len(lost) > len(rows) or not rows:
        raise FormatError(
            f"compared by their texts, {len(rows) - len(lost):,} of {len(rows):,} rows have the "
            f"question and the options of an item: is it another data set?{because}",
            path,
            lost[0].line if lost else None,
        )
    found: dict[str, int] = {}
    for names, places in of_copies.items():
        if len(places) == 1:
            places = places * len(names)
        if len(places) != len(names) or any(name in found for name in names):
            lines = [f"line {rows[at].line}" for at in places if rows[at].line]
            raise FormatError(
                f"{max(2, len(places) // len(names))} rows per item, without the name of a filter "
                f"or epoch that differs, such as {names[0]!r} ({', '.join(lines[:3]) or 'repeats'})"
                ": write a log of one filter",
                path,
            )
        found |= zip(names, places, strict=True)
    if lost:
        first = f"line {lost[0].line}" if lost[0].line else repr(lost[0].id)
        warnings.warn(
            f"{path}: {len(lost):,} of {len(rows):,} rows are of no item ({first}, …); they are "
            "omitted",
            formats.ReadingNote,
            stacklevel=3,
        )
    return found


def mean_by_name(records: Iterable[Mapping[str, Any]], names: Sequence[str]) -> dict[str, float]:
    """Return the mean of each metric that all records have as a number."""
    columns: dict[str, list[float]] = {name: [] for name in names}
    count = 0
    for record in records:
        count += 1
        for name in names:
            if isinstance(record.get(name), int | float):
                columns[name].append(float(record[name]))
    return {name: sum(own) / count for name, own in columns.items() if count and len(own) == count}
