"""Samples of lm-evaluation-harness: `samples_TASK_DATE.jsonl`, which `--log_samples` writes."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from string import ascii_lowercase
from typing import Any

from winosmith import formats
from winosmith.answers._answers import Answers, Log
from winosmith.answers._items import Row, tidy
from winosmith.answers._rules import check_wanted, choose, mean_by_name, read_rows
from winosmith.dataset import Dataset
from winosmith.errors import FormatError, InputError
from winosmith.problem import Problem
from winosmith.records import canonical

_METRICS = ("acc", "acc_norm", "acc_mutual_info", "exact_match")
"""The harness's metrics of single samples that are accuracies."""

_IDS = ("id", "qID", "qid", "question_id", "uid", "ind", "idx")
"""The keys of a record's id."""


def read_samples(
    path: Path,
    records: Sequence[tuple[int, Mapping[str, Any]]],
    dataset: Dataset,
    columns: formats.Columns | None,
    filters: Collection[str],
) -> Answers:
    """Return the answers of a file of samples, of one filter. The folder's name is the model's.

    If scores are there, the option with the highest log-likelihood was chosen, as `acc` counts it;
    otherwise the one whose letter or text the filter returned.

    Raises:
        FormatError: a line is not a sample; see also `read_rows`.
    """
    for line, sample in records:
        if not isinstance(sample.get("doc"), dict):
            raise FormatError("this is not a sample: it has no 'doc'", path, line)
        if not isinstance(sample.get("filtered_resps", sample.get("resps")), list):
            raise FormatError("this is not a sample: it has no 'filtered_resps'", path, line)
    by_filter: dict[str, list[tuple[int, Mapping[str, Any]]]] = defaultdict(list)
    for line, sample in records:
        by_filter[str(sample.get("filter", ""))].append((line, sample))
    names = tuple(by_filter)
    check_wanted(names, filters, path)
    used = choose(names, filters) or ""
    samples = by_filter[used]
    items, because = _items([sample["doc"] for _, sample in samples], path, columns)
    by_letter = _scores_letters(
        [(sample, item) for (_, sample), item in zip(samples, items, strict=True)]
    )
    rows = [
        _row(line, sample, item, path, by_letter=by_letter)
        for (line, sample), item in zip(samples, items, strict=True)
    ]
    several = len(names) > 1
    log = Log(
        filter=used if several else None,
        filters=names if several else (),
        reported=mean_by_name((sample for _, sample in samples), _METRICS),
    )
    solver = path.absolute().parent.name
    return read_rows(rows, dataset, path, solver, log, problem_with_rows=because)


def _items(
    docs: Sequence[Mapping[str, Any]], path: Path, columns: formats.Columns | None
) -> tuple[list[Problem | None], str]:
    """Return the item of each record of a task, and why records can't be read as items."""
    raw = "".join(canonical(doc) + "\n" for doc in docs).encode("utf-8", "surrogatepass")
    named = columns if columns and {*columns.question} <= docs[0].keys() else None
    try:
        contents = formats.scan(formats.Source(path, raw), columns=named, as_written=True)
    except InputError as error:
        why = error.reason if isinstance(error, FormatError) else str(error)
        return [None] * len(docs), f" Their 'doc' can't be read as items: {why}"
    found: list[Problem | None] = [None] * len(docs)
    for line, item in zip(contents.lines, contents.items, strict=True):
        found[line - 1] = item if isinstance(item, Problem) else None
    bad = f" A 'doc' can't be read as an item: {contents.bad[0].reason}" if contents.bad else ""
    return found, bad


def _ends(sample: Mapping[str, Any]) -> list[str]:
    """Return the continuations that a sample scores, in order."""
    requests = _requests(sample.get("arguments") or {})
    return [end for one in requests if isinstance(end := one.get("arg_1"), str)]


def _scores_letters(samples: Sequence[tuple[Mapping[str, Any], Problem | None]]) -> bool:
    """Return whether a log scores letters and not the options' texts, which may be letters, too."""
    letters = texts = 0
    for sample, item in samples:
        if item is not None:
            ends = [tidy(end) for end in _ends(sample)[: len(item.options)]]
            letters += {end.strip("(). :") for end in ends} == {*ascii_lowercase[: len(ends)]}
            texts += {*ends} == {*map(tidy, item.options)}
    return letters > texts


def _row(
    line: int, sample: Mapping[str, Any], item: Problem | None, path: Path, *, by_letter: bool
) -> Row:
    given = sample.get("filtered_resps", sample.get("resps"))
    requests = _requests(sample.get("arguments") or {})
    ends = _ends(sample)
    doc, target = sample["doc"], str(sample.get("target", ""))
    scores = [_score(one, path, line) for one in given]
    reply: str | None = ""
    placed: tuple[float, ...] = ()
    if any(score is not None for score in scores):
        reply = None
        known = [math.nan if score is None else score for score in scores]
        placed = _placed(known, ends, item, target, by_letter=by_letter)
    elif len(replies := [*_texts(given)]) > 1:
        what = f"{len(replies)} replies per item: add a filter that takes one, such as take_first"
        raise FormatError(what, path, line)
    elif replies:
        reply = replies[0]
    verdicts = [sample[name] for name in ("acc", "exact_match") if name in sample]
    return Row(
        line,
        next((str(doc[key]) for key in _IDS if key in doc), ""),
        item.sentence if item else "",
        item.options if item else (),
        " ".join([*map(str, doc.values()), *(str(one.get("arg_0", "")) for one in requests[:1])]),
        reply,
        placed,
        target if item else _index(target),
        item.answer if item else None,
        bool(verdicts[0]) if verdicts and verdicts[0] in (0, 1) else None,
    )


def _index(target: str) -> int | None:
    """Return the place that a target is, from 0: a number or a letter; None if it is neither."""
    if target.isdecimal() and len(target) < 4:
        return int(target)
    return formats.readings(target, [""] * len(ascii_lowercase)).get("letter")


def _requests(arguments: Any) -> list[Mapping[str, Any]]:
    """Return the requests to the model for one sample, in order."""
    if isinstance(arguments, Mapping):
        return [one for one in arguments.values() if isinstance(one, Mapping)]
    given = arguments if isinstance(arguments, list) else []
    parts = (one for one in given if isinstance(one, list))
    return [{f"arg_{at}": part for at, part in enumerate(one)} for one in parts]


def _score(given: Any, path: Path, line: int) -> float | None:
    """Return a log-likelihood, which the harness writes before whether it is the greedy one."""
    while isinstance(given, list) and len(given) == 1:
        given = given[0]
    if not (isinstance(given, list) and len(given) == 2 and str(given[1]) in ("True", "False")):
        return None
    try:
        return float(given[0])
    except (TypeError, ValueError):
        raise FormatError(f"{given[0]!r} is not a log-likelihood", path, line) from None


def _texts(given: Any) -> Iterator[str]:
    """Yield the replies, however deep their lists are."""
    for one in given if isinstance(given, list) else ():
        yield from _texts(one) if isinstance(one, list) else (str(one),)


def _placed(
    scores: Sequence[float],
    ends: Sequence[str],
    item: Problem | None,
    target: str,
    *,
    by_letter: bool,
) -> tuple[float, ...]:
    """Return the scores in the order of the item's options: by the texts or letters scored.

    If neither was scored, as in a cloze, the options' order is taken if the target has it too.
    Without a known order no scores are returned.
    """
    if item is None:
        return tuple(scores)
    count = len(item.options)
    if len(scores) == 2 * count:  # the options without the question, after those with it
        scores = scores[:count]
    if len(scores) != count:
        return ()
    scored = ends[:count]
    places: list[int | None] = [*range(count)]
    letters = [formats.readings(end, [""] * count).get("letter") for end in scored]
    if not by_letter and {*map(tidy, scored)} == {*map(tidy, item.options)}:
        places = [formats.option_of_text(end, item.options) for end in scored]
    elif sorted(at for at in letters if at is not None) == list(range(count)):
        places = [*letters]
    elif target.isdecimal() and item.answer is not None and _index(target) != item.answer:
        return ()
    placed = dict(zip(places, scores, strict=True))
    return tuple(placed[at] for at in range(count)) if {*placed} == {*range(count)} else ()
