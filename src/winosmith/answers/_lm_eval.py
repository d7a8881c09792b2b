"""Samples of lm-evaluation-harness: the files `samples_TASK_DATE.jsonl` of `--log_samples`."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from string import ascii_lowercase
from typing import Any

from winosmith import formats
from winosmith.answers._answers import Answers
from winosmith.answers._file import AnswerFile
from winosmith.answers._items import Row, normalise, number_repeats, order_options
from winosmith.answers._rules import choose_filters, read_rows
from winosmith.data import Place, Record
from winosmith.errors import FormatError, InputError
from winosmith.problem import Problem

_METRICS = ("acc", "acc_norm", "acc_mutual_info", "exact_match")
"""The harness's accuracy metrics that have a value for each sample."""


def can_read(file: AnswerFile) -> bool:
    return bool(file.rows.first.keys() & {"resps", "filtered_resps"})


def read(file: AnswerFile) -> list[Answers]:
    """Return the answers of one filter in a file of samples.

    The folder's name is the model's name. If there are scores, the choice is the option with the
    highest log-likelihood, as in `acc`. Otherwise it is the option whose letter or text the filter
    returned.
    """
    by_filter: dict[str, list[tuple[Place, Record]]] = defaultdict(list)
    for place, sample in file.read_records():
        if not isinstance(sample.get("doc"), dict):
            raise place.make_error("this is not a sample: it has no 'doc'")
        if not isinstance(_get_replies(sample), list):
            raise place.make_error("this is not a sample: it has no 'filtered_resps'")
        by_filter[str(sample.get("filter", ""))].append((place, sample))
    (used,), log = choose_filters(file, [*by_filter])
    places, samples = zip(*by_filter[used], strict=True)
    docs = [sample["doc"] for sample in samples]
    items, problem = _read_docs(docs, file.columns)
    added = ("query", "choices", "gold")  # by the task hellaswag: the texts without marks
    if docs[0].keys() >= {*added, "endings"}:
        originals = [{n: one for n, one in doc.items() if n not in added} for doc in docs]
        found, _ = _read_docs(originals, file.columns)
        texts = {option for one in file.dataset for option in one.options}
        items = max(items, found, key=lambda of: sum(one.options[0] in texts for one in of if one))
    by_letter = _are_letters_scored(samples, items)
    rows = [
        _parse_row(place, sample, item, by_letter=by_letter)
        for place, sample, item in zip(places, samples, items, strict=True)
    ]
    means = {
        name: sum(float(one[name]) for one in samples) / len(samples)
        for name in _METRICS
        if all(isinstance(one.get(name), int | float) for one in samples)
    }
    model = Path(file.path).absolute().parent.name
    problem = problem or (
        " The task may have changed the texts: hellaswag and gpqa remove marks such as [x]"
    )
    return [read_rows(rows, file, model, replace(log, reported=means), problem_with_rows=problem)]


def _get_replies(sample: Record) -> Any:
    return sample.get("filtered_resps", sample.get("resps"))


def _read_docs(
    docs: Sequence[Record], columns: formats.Columns | None
) -> tuple[list[Problem | None], str]:
    """Read a task's records as items, and return the reason if some records can't be read."""
    named = None
    if columns and columns.name_questions and {*columns.question} <= docs[0].keys():
        named = replace(columns, id=None)
    found: list[Problem | None] = [None] * len(docs)
    try:
        contents = formats.scan([*docs], columns=named, as_written=True)
    except InputError as error:
        why = error.reason if isinstance(error, FormatError) else str(error)
        return found, f" The 'doc' fields can't be read as items: {why}"
    for number, item in zip(contents.line_numbers, contents.items, strict=True):
        found[number - 1] = item if isinstance(item, Problem) else None
    bad = f" A 'doc' can't be read as an item: {contents.bad[0].reason}" if contents.bad else ""
    return found, bad


def _get_requests(sample: Record) -> list[tuple[Any, Any]]:
    """Return the prompt and the continuation (or the settings) of each request."""
    arguments = sample.get("arguments")
    if isinstance(arguments, Mapping):
        named = [one for one in arguments.values() if isinstance(one, Mapping)]
        return [(one.get("arg_0", ""), one.get("arg_1")) for one in named]
    listed = arguments if isinstance(arguments, list) else []
    return [(*one, None)[:2] for one in listed if isinstance(one, list) and one]


def _get_continuations(sample: Record) -> list[str]:
    return [end for _, end in _get_requests(sample) if isinstance(end, str)]


def _are_letters_scored(samples: Sequence[Record], items: Sequence[Problem | None]) -> bool:
    """Return whether the continuations are letters. If options are letters, the target decides."""
    by_letter = by_text = 0
    for sample, item in zip(samples, items, strict=True):
        if item is not None:
            ends = [normalise(end) for end in _get_continuations(sample)[: len(item.options)]]
            options, target = [*map(normalise, item.options)], str(sample.get("target"))
            letters = formats.locate_letters(ends)
            is_letter = letters is not None
            is_text = {*ends} == {*options}
            if letters and is_text and target.isdecimal() and item.answer is not None:
                is_letter = letters[int(target) : int(target) + 1] == [item.answer]
                is_text = ends[int(target) : int(target) + 1] == [options[item.answer]]
            by_letter += is_letter
            by_text += is_text
    return by_letter > by_text


def _parse_row(place: Place, sample: Record, item: Problem | None, *, by_letter: bool) -> Row:
    results, continuations = _get_replies(sample), _get_continuations(sample)
    prompt = "".join(str(prompt) for prompt, _ in _get_requests(sample)[:1])
    if item and (listed := _list_options(prompt, item)):
        key = None if item.answer is None else listed.index(item.options[item.answer])
        item = replace(item, options=listed, answer=key)
    doc, target = sample["doc"], str(sample.get("target", ""))
    options = [*map(normalise, item.options)] if item else []
    ends = [*map(normalise, continuations[: len(options)])]
    if len(target) < 4 and target.isdecimal() and int(target) < len(ends):
        is_index = target not in options and ends != options  # it counts in the requests' order
        if by_letter and (letters := formats.locate_letters(ends)):
            target = str(letters[int(target)])
        elif not by_letter and is_index and sorted(ends) == sorted(options):
            target = ends[int(target)]
    scores = [_parse_log_likelihood(one, place) for one in results]
    reply: str | None = ""
    ordered: tuple[float, ...] = ()
    if any(score is not None for score in scores):
        reply = None
        known = [math.nan if score is None else score for score in scores]
        ordered = _sort_scores(known, continuations, item, target, by_letter=by_letter)
    elif len(replies := [*_flatten_texts(results)]) > 1:
        what = f"the item has {len(replies)} replies; add a filter that selects one (take_first)"
        raise place.make_error(what)
    elif replies:
        reply = replies[0]
    grade = next((sample[name] for name in ("acc", "exact_match") if name in sample), None)
    return Row(
        place,
        str(doc[name]) if (name := formats.find_name(formats.ID_COLUMNS, doc)) else "",
        item.sentence if item else "",
        item.options if item else (),
        " ".join([*map(str, doc.values()), prompt]),
        reply,
        ordered,
        target if item else _parse_index(target),
        item.answer if item else None,
        bool(grade) if grade in (0, 1) else None,
    )


def _list_options(prompt: str, item: Problem) -> tuple[str, ...]:
    """Return the options in the prompt's order, or () if the prompt lists only those of examples.

    A prompt starts with solved examples, whose options may be the same, such as yes and no.
    """
    prompt = prompt.replace("\\n", "\n").replace('\\"', '"')  # a chat is logged as JSON
    contains_item = normalise(item.sentence) in normalise(prompt)
    return order_options(prompt, item) if contains_item else ()


def _parse_index(target: str) -> int | None:
    if target.isdecimal() and len(target) < 4:
        return int(target)
    return formats.interpret_answer(target, [""] * len(ascii_lowercase)).get("letter")


def _parse_log_likelihood(result: Any, place: Place) -> float | None:
    """Return the log-likelihood of a (log-likelihood, is_greedy) pair, or None for other values."""
    while isinstance(result, list) and len(result) == 1:
        result = result[0]
    if not (isinstance(result, list) and len(result) == 2 and str(result[1]) in ("True", "False")):
        return None
    try:
        return float(result[0])
    except (TypeError, ValueError):
        raise place.make_error(f"{result[0]!r} is not a log-likelihood") from None


def _flatten_texts(replies: Any) -> Iterator[str]:
    for one in replies if isinstance(replies, list) else ():
        yield from (
            _flatten_texts(one) if isinstance(one, list) else ("" if one is None else str(one),)
        )


def _sort_scores(
    scores: Sequence[float],
    continuations: Sequence[str],
    item: Problem | None,
    target: str,
    *,
    by_letter: bool,
) -> tuple[float, ...]:
    """Return the scores in the order of the item's options, or none if the order is unknown."""
    if item is None:
        return tuple(scores)
    count = len(item.options)
    if len(scores) == 2 * count:  # scores with the question, then without it
        scores = scores[:count]
    if len(scores) != count:
        return ()
    scored = continuations[:count]
    order: list[int | None] = [*range(count)]
    if not by_letter and {*map(normalise, scored)} == {*map(normalise, item.options)}:
        options = number_repeats(item.options)
        order = [formats.match_option(end, options) for end in number_repeats(scored)]
    elif letters := formats.locate_letters(scored):
        order = [*letters]
    elif target.isdecimal() and item.answer is not None and _parse_index(target) != item.answer:
        return ()  # the options' order differs from that of a cloze's scores
    by_option = dict(zip(order, scores, strict=True))
    return tuple(by_option[at] for at in range(count)) if {*by_option} == {*range(count)} else ()
