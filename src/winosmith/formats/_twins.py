"""Detect twins in files that do not mark them.

The first of the following methods that applies to a file is used:

- Ids: the ids of both halves differ only at the end, such as "-1" and "-2", or by another mark in
  most of the file (`pair_by_ids`).
- A column that the user names (`pair_by`): problems are twins if they have the same value in the
  column, if their values differ only at the end ("7/0" and "7/1"), or if the value is the other
  half's id. A column that seems to mark twins but is not named is refused (`refuse_unread_pairs`).
- Texts: in published files that mark twins by their order, neighbours with the same two options and
  different answers (`pair_neighbours`); in general formats, very similar problems anywhere in the
  file that resemble no third problem (`pair_lookalikes`).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from string import digits

from winosmith.data import format_cell, parse_whole_number
from winosmith.dataset import group_rows
from winosmith.errors import FormatError
from winosmith.formats._base import Entry, find_extra_key, get_problems, replace_items, tidy
from winosmith.formats._names import collect_names, join_names
from winosmith.problem import BLANK, Problem, Scalar
from winosmith.text import (
    compute_overlap,
    detect_script,
    number_words,
    split_pieces,
    split_words,
    tokenize,
)

_MIN_OVERLAP, _MIN_OVERLAP_CHANGED = 0.3, 0.7
"""Minimum fraction of shared words for neighbours with equal options (DPR's twins share at least
0.32), and with one different option (WinoGrande's rule, section 2)."""

_MIN_OVERLAP_FAR = 0.7
"""Minimum fraction of shared words if the problems' order is arbitrary. In WinoGrande's dev,
train_debiased and train_xl, with shuffled lines and without ids, this finds 284 of 284, 1,999 of
2,011 and 19,993 of 20,199 twins, and no false pairs."""

_MIN_ALIKE, _MIN_COVERAGE = 0.9, 0.5
"""For a column that may mark twins: the minimum fraction of its pairs that look like twins, and of
problems that are in pairs. The second is low because validation removes one half of many twins."""

_LONGEST_PRONOUN = 4
"""Maximum number of letters in a pronoun of a text without spaces, such as "彼女たち"."""

TASK_ID = re.compile(r"(.+)-[12]")
"""Pattern of WinoGrande's ids: the crowd task's id, then the number of the twin's half."""

_HALF_ID = re.compile(r"(.+)[-_./: ][0-2abAB]|(.*\d)[abAB]")
"""Pattern of the ids of twin halves in files other than WinoGrande's: "q7_2", "7/0", "q7b"."""

_HALF_LABELS = (r"(.+)[-_./:# ][^-_./:# ]+", r"[^-_./:# ]+[-_./:# ](.+)",
           r"\D*+(?>0*+(?=[1-9])|0*(?=0))?(\d++)\D*+")  # fmt: skip
"""Patterns of half labels, used only if they pair most of a file: "7_pos", "left-7", "7"."""

_MIN_PAIRS = 8
"""Minimum number of pairs that such labels must form, with known answers and with options that the
sentences contain, because pairs of true/false questions may have different answers by chance."""

Pair = tuple[int, int]

ByRow = Mapping[int, Problem]
"""Problems by the 0-based positions of their records."""


def pair_neighbours(entries: Iterable[Entry]) -> list[Entry]:
    """Give both halves of a twin the same `twin_id` in a file that marks twins only by order.

    Neighbours are a twin if they have the same options (ignoring case and order), different answers
    and 30 % of their words in common. If one option differs, as in four schemas of the WSC, the
    common option must be correct in exactly one half, and the halves must share 70 % of their
    words. Two pronouns of the same text, as in the PDPs, are not a twin.
    """
    found = list(entries)
    problems = get_problems(found)
    pairs: list[Pair] = []
    for row in problems:
        is_free = row + 1 in problems and not (pairs and pairs[-1][1] == row)
        if is_free and _are_neighbouring_twins(problems[row], problems[row + 1]):
            pairs.append((row, row + 1))
    return replace_items(found, _mark_pairs(problems, pairs))


def pair_lookalikes(problems: ByRow) -> ByRow:
    """Return the problems that are halves of a twin, with a `twin_id`, wherever they are.

    Two problems form a twin if they have the same options, different answers and 70 % of their
    words in common, and neither matches a third problem in this way. Problems with a changed option
    are not paired, because WinoGrande's train_debiased contains such problems that are not twins.
    Duplicates of a sentence are not twins, even if their answers differ. The result does not depend
    on the order of the rows.
    """
    keyed = {row: one for row, one in problems.items() if one.answer is not None}
    return _mark_pairs(problems, _find_mutual_pairs(keyed))


def would_be_paired(problems: Sequence[Problem]) -> bool:
    """Return whether reading these problems from a file would pair some of them or fail."""
    by_row = dict(enumerate(problems))
    is_paired = bool(pair_by_ids(by_row) or pair_lookalikes(by_row))
    return is_paired or _find_unread_pairs(problems, [""] * len(problems)) is not None


def refuse_unread_pairs(
    problems: Sequence[Problem], files: Sequence[Hashable], path: str | Path
) -> None:
    """Raise FormatError if an unused column seems to mark twins.

    Such a column puts at least half of the problems that have a value into pairs. At least 90 % of
    these pairs have different texts, a common option and, if known, different answers. Some of the
    pairs are not yet twins.
    """
    if unread := _find_unread_pairs(problems, files):
        column, rows = unread
        raise FormatError.advise(
            f"the column {column!r} puts {rows:,} of {len(problems):,} problems into pairs "
            "that look like twins, but the column is not used for pairing",
            "pair_by",
            f". If it marks twins, name it with `pair_by={column!r}`, or give both halves the "
            "same 'twin_id'; if not, use `pair_by=''`",
            path,
        )


def _find_unread_pairs(
    problems: Sequence[Problem], files: Sequence[Hashable]
) -> tuple[str, int] | None:
    """Return an unused column that seems to mark twins, and the number of problems it pairs."""
    extras, places = [problem.extra for problem in problems], [*group_rows(files).values()]
    for key in collect_names(extras):
        values = [extra.get(key) for extra in extras]
        filled = len(values) - values.count(None)  # single problems may have no value
        min_paired = _MIN_COVERAGE * min(len(problems), max(filled, 2 * _MIN_PAIRS / _MIN_COVERAGE))
        distinct = values if len(places) == 1 else zip(values, files, strict=True)
        if 2 * len({*distinct}) < min_paired:  # a pair shares a value
            continue
        labels = _derive_labels_in_files(problems, values, places)
        if _count_paired(labels) < min_paired:
            continue
        pairs = _find_pairs(problems, labels)
        if len(pairs) > 1 and any(
            a.root != b.root and (a.twin_id or a.id) != b.twin_id
            for a, b in ((problems[one], problems[other]) for one, other in pairs)
        ):
            return key.partition(".")[2], 2 * len(pairs)
    return None


def _find_pairs(problems: Sequence[Problem], labels: Sequence[str | None]) -> list[Pair]:
    pairs = _group_in_pairs(labels)
    halves = sum(_may_be_halves(problems[one], problems[other]) for one, other in pairs)
    return pairs if halves >= _MIN_ALIKE * len(pairs) else []


def _group_in_pairs(labels: Iterable[str | None]) -> list[Pair]:
    pairs = ((label, two) for label, two in group_rows(labels).items() if len(two) == 2)
    return [(two[0], two[1]) for label, two in pairs if label is not None]


def _derive_labels(problems: Sequence[Problem], values: Sequence[Scalar]) -> list[str | None]:
    """Return the twin label of each problem, derived from a column's values.

    Four interpretations are tried, and the one with the most pairs is used. The value may be the
    twin's label, the other half's id, the number of the other half's row (from 0, from 1 or with
    the header), or the twin's label followed by the half's, such as "7/0".
    """
    places = {problem.id: at for at, problem in enumerate(problems)}
    texts = [format_cell(value).strip() or None for value in values]
    plain = [  # without quotations from the sentence
        None if text and " " in text and text in problem.sentence else text
        for problem, text in zip(problems, texts, strict=True)
    ]
    if 2 * _count_paired(plain) >= len(problems):
        return plain
    candidates = [plain]
    if not places.keys().isdisjoint(texts):
        candidates.append(_label_by_partner_id(problems, texts, places))
    whole_numbers = [parse_whole_number(text or "") for text in texts]
    if any(whole_numbers):
        numbers = [int(one) if one.isdecimal() else None for one in whole_numbers]
        candidates += (_label_by_partner_row(numbers, first) for first in (0, 1, 2))
    candidates.append(_extract_labels(plain, _HALF_ID))
    labels = max(candidates, key=_count_paired)
    paired = _count_paired(labels)
    if _count_paired(plain) or paired == len(problems) or len(problems) < 2 * _MIN_PAIRS:
        return labels
    best = _get_best_labels(plain)
    is_better = _count_paired(best) > paired and len(_group_in_pairs(best)) >= _MIN_PAIRS
    return best if is_better else labels


def _label_by_partner_id(
    problems: Sequence[Problem], texts: Sequence[str | None], places: Mapping[str, int]
) -> list[str | None]:
    """Return twin labels where a text is the other half's id, or else None for each problem."""
    labels: list[str | None] = [None] * len(problems)
    for problem, text in zip(problems, texts, strict=True):
        partner_text = texts[places[text]] if text and text in places else None
        # Values that number the rows form chains instead of pairs.
        is_chain = partner_text in places and partner_text not in (text, problem.id)
        if text and text in places and text != problem.id and not is_chain:
            label = f"twin-{min(problem.id, text)}"
            for one in (problem.id, text):
                labels[places[one]] = labels[places[one]] or label
    return labels


def _derive_labels_in_files(
    problems: Sequence[Problem], values: Sequence[Scalar], files: Sequence[Sequence[int]]
) -> list[str | None]:
    """Return twin labels, within each file (its rows) if this gives more pairs."""
    labels = _derive_labels(problems, values)
    if len(files) < 2:
        return labels
    by_file: list[str | None] = [None] * len(problems)
    for number, own in enumerate(files):
        inside = _derive_labels([problems[at] for at in own], [values[at] for at in own])
        for at, label in zip(own, inside, strict=True):
            by_file[at] = None if label is None else f"{number}-{label}"
    return max(by_file, labels, key=_count_paired)


def separate_twins_of_files(problems: ByRow, files: Sequence[Hashable]) -> dict[int, Problem]:
    """Return the problems with new twin ids if each file numbers its own twins, or else none.

    This is the case if more pairs are formed by twin ids that are unique to each file, and problems
    with the same twin id in different files have different options.
    """
    numbers = {file: number for number, file in enumerate(dict.fromkeys(files))}
    ids = {row: one.twin_id for row, one in problems.items() if one.twin_id is not None}
    by_file = {row: f"{numbers[files[row]]}-{twin_id}" for row, twin_id in ids.items()}
    if _count_paired([*by_file.values()]) <= _count_paired([*ids.values()]):
        return {}
    groups: defaultdict[tuple[str, ...], set[str]] = defaultdict(set)
    for row, twin_id in ids.items():
        groups[twin_id, *sorted(_normalise_options(problems[row]))].add(by_file[row])
    are_related = 10 * sum(len(own) > 1 for own in groups.values()) > len(groups)
    return {} if are_related else {**_set_twin_ids(problems, by_file)}


def _label_by_partner_row(numbers: Sequence[int | None], first: int) -> list[str | None]:
    """Return twin labels if each number is the other half's row, or else None for each row."""
    rows = [None if one is None else one - first for one in numbers]
    labels: list[str | None] = [None] * len(rows)
    for row, other in enumerate(rows):
        if other is None:
            continue
        if not 0 <= other < len(rows) or other == row or rows[other] not in (row, None):
            return [None] * len(rows)
        labels[row] = labels[other] = f"twin-{min(row, other)}"
    return labels


def _get_best_labels(texts: Sequence[str | None]) -> list[str | None]:
    return max((_extract_labels(texts, pattern) for pattern in _HALF_LABELS), key=_count_paired)


def _extract_labels(
    texts: Iterable[str | None], pattern: str | re.Pattern[str]
) -> list[str | None]:
    matches = (re.fullmatch(pattern, text) if text else None for text in texts)
    return [match and match[match.lastindex or 0] for match in matches]


def _count_paired(labels: Sequence[str | None]) -> int:
    counts = Counter(labels)
    counts.pop(None, None)
    return 2 * [*counts.values()].count(2)


def clear_list_ids(problems: ByRow) -> ByRow:
    """Return the problems whose ids are only the numbers of a list, without their twin ids."""
    rows, listed = [*problems], [*problems.values()]
    pairs = _find_list_items(listed, _group_in_pairs(one.twin_id for one in listed))
    return _set_twin_ids(problems, {rows[at]: None for pair in pairs for at in pair})


def _find_list_items(problems: Sequence[Problem], pairs: Iterable[Pair]) -> list[Pair]:
    """Return the pairs whose ids are list numbers: a third id is similar, and the texts differ."""
    times = Counter(one.id.rstrip(digits) for one in problems)
    return [
        (a, b)
        for a, b in pairs
        if times[problems[a].id.rstrip(digits)] > 2
        and not _have_similar_texts(problems[a], problems[b], _MIN_OVERLAP_FAR)
    ]


def describe_paired_neighbours(problems: Sequence[Problem]) -> list[str]:
    """Return a note if most problems seem to form an unmarked twin with a neighbour."""
    options = [{*_normalise_options(problem)} for problem in problems]
    same = [one == other for one, other in pairwise(options)]
    starts = list[int]()
    for at in range(len(same)):
        if same[at] and at - 1 not in starts[-1:] and _may_be_halves(*problems[at : at + 2]):
            starts.append(at)
    is_order = len(starts) >= max(_MIN_PAIRS, _MIN_ALIKE * len(problems) / 2)
    # With the same options everywhere, any two neighbours may look like a twin.
    if sum(same) > 1.5 * len(starts) or not is_order or all(problems[at].twin_id for at in starts):
        return []
    return [
        f"{2 * len(starts):,} of {len(problems):,} problems have the options of a neighbour and "
        "another answer: if such neighbours are twins, give both the same 'twin_id'"
    ]


def pair_by_ids(problems: ByRow) -> ByRow:
    """Return the problems whose ids differ only at the end ("-1", "-2"), with the same `twin_id`.

    Their texts and answers must differ, they must have a common option, and the ids must not number
    a list. If no ids are of this kind, other ids are used ("7_pos", "left-7") if they put most of
    the problems into such pairs. For "left-7", halves must also be at least as similar as
    mismatched halves.
    """
    singles = {row: p for row, p in problems.items() if not p.twin_id and p.blank is not None}
    rows, listed = [*singles], [*singles.values()]
    ids = [problem.id for problem in listed]
    labels = _extract_labels(ids, _HALF_ID)
    pairs = [(a, b) for a, b in _group_in_pairs(labels) if _may_be_halves(listed[a], listed[b])]
    list_items = {*_find_list_items(listed, pairs)}
    pairs = [pair for pair in pairs if pair not in list_items]
    if not pairs:
        labels = _get_best_labels(ids)
        pairs = _find_pairs(listed, labels)
        halves = [listed[at] for pair in pairs for at in pair]
        are_sure = all(
            one.answer is not None and one.options[0].casefold() in one.sentence.casefold()
            for one in halves
        )
        if not are_sure or len(pairs) < max(_MIN_PAIRS, _MIN_COVERAGE * len(listed) / 2):
            return {}
        if labels != _extract_labels(ids, _HALF_LABELS[0]) and not _are_closest(listed, pairs):
            return {}
    return _set_twin_ids(problems, {rows[at]: labels[at] for pair in pairs for at in pair})


def _are_closest(problems: Sequence[Problem], pairs: Sequence[Pair]) -> bool:
    """Return whether 90 % of pairs are at least as similar as mismatched halves.

    Each first half is compared with its own second half and with those of two other pairs. If the
    ids number two lists ("left-1", "right-1"), the paired problems are more similar to other
    problems.
    """
    texts = [split_pieces(" ".join((one.sentence, *one.options))) for one in problems]
    overlaps = [
        [compute_overlap(texts[one], texts[pairs[at + by - len(pairs)][1]]) for by in range(3)]
        for at, (one, _) in enumerate(pairs)
    ]
    return sum(own[0] == max(own) for own in overlaps) >= _MIN_ALIKE * len(pairs)


def _may_be_halves(first: Problem, second: Problem) -> bool:
    """Return whether two problems differ in text and answer, and have an option in common."""
    mine, its = _normalise_options(first), _normalise_options(second)
    if set(mine).isdisjoint(its):
        return False
    if split_words(first.sentence.casefold()) == split_words(second.sentence.casefold()):
        return False
    return first.answer is None or second.answer is None or mine[first.answer] != its[second.answer]


def pair_by_column(problems: ByRow, files: Sequence[Hashable], column: str) -> ByRow:
    """Return all problems, with a `twin_id` only if a column marks them as twins.

    The column is an additional one, a key of `extra`, or `twin_id`. `files` contains the file of
    each row.

    Raises:
        FormatError: there is no such column, or it forms no pairs.
    """
    listed = [*problems.values()]
    keys = [find_extra_key(problem.extra, column) for problem in listed]
    values = [key and problem.extra[key] for key, problem in zip(keys, listed, strict=True)]
    if column == "twin_id" and not any(keys):
        values = [problem.twin_id for problem in listed]
    if all(value is None for value in values):
        columns = {key.partition(".")[2] for problem in listed for key in problem.extra}
        known = join_names(sorted(columns)) or "none"
        raise FormatError(f"there is no column {column!r} to pair by; available columns: {known}")
    places = group_rows(files[row] for row in problems)
    labels = _derive_labels_in_files(listed, values, [*places.values()])
    counts = Counter(label for label in labels if label is not None)
    if max(counts.values(), default=0) < 2:
        raise FormatError(f"no two problems share a value of {column!r}, so it can't mark twins")
    pairs = _group_in_pairs(labels)
    copies = [pair for pair in pairs if listed[pair[0]].sentence == listed[pair[1]].sentence]
    if 2 * len(copies) > len(pairs):
        first, other = (listed[at].id for at in copies[0])
        raise FormatError(
            f"most pairs by {column!r} are copies, such as {first!r} and {other!r}: remove the "
            "copies first"
        )
    ids = (label if label is not None and counts[label] > 1 else None for label in labels)
    return _set_twin_ids(problems, dict(zip(problems, ids, strict=True)))


def pair_files(
    problems: Sequence[Problem],
    files: Sequence[Hashable],
    pair_by: str | None = "",
    path: str | Path = "",
    *,
    has_own_numbers: bool = True,
) -> list[Problem]:
    """Pair the halves of twins in several files, and return all problems.

    Args:
        problems: the problems from all files.
        files: the file of each problem.
        pair_by: the column that marks twins. If "", single problems in two files are paired by
            their ids. If None, an unused column that seems to mark twins is also refused.
        path: the path to name in errors.
        has_own_numbers: whether each file may number its own twins, so that the same number in two
            files marks different twins; see `separate_twins_of_files`.

    Raises:
        FormatError: see `pair_by_column` and `refuse_unread_pairs`.
    """
    by_row = dict(enumerate(problems))
    if pair_by:
        return [*pair_by_column(by_row, files, pair_by).values()]
    if has_own_numbers:
        by_row |= separate_twins_of_files(by_row, files)
        problems = [*by_row.values()]
    paired = [*{**by_row, **pair_by_ids(by_row)}.values()]
    files_of_twin: defaultdict[str | None, set[Hashable]] = defaultdict(set)
    for one, file in zip(paired, files, strict=True):
        files_of_twin[one.twin_id].add(file)
    paired = [
        new if len(files_of_twin[new.twin_id]) > 1 else old  # singles are paired only across files
        for old, new in zip(problems, paired, strict=True)
    ]
    if pair_by is None:
        refuse_unread_pairs(paired, files, path)
    return paired


def find_unmarked_pairs(problems: Sequence[Problem]) -> list[Pair]:
    """Return the rows of each unmarked pair that looks like a twin.

    Problems with a twin id or a lineage are ignored. The rules are those of `pair_lookalikes`.
    Rules that need a withheld answer are skipped.
    """
    return _find_mutual_pairs({row: p for row, p in enumerate(problems) if not p.lineage})


def _set_twin_ids(problems: ByRow, ids: Mapping[int, str | None]) -> ByRow:
    return {row: replace(problems[row], twin_id=twin_id) for row, twin_id in ids.items()}


def _mark_pairs(problems: ByRow, pairs: Iterable[Pair]) -> ByRow:
    ids = {row: f"twin-{problems[pair[0]].id}" for pair in pairs for row in pair}
    return _set_twin_ids(problems, ids)


def _find_mutual_pairs(problems: ByRow) -> list[Pair]:
    """Return the pairs of problems that look like twins of each other and of no third problem."""
    import numpy as np

    from winosmith.lookalikes import PartnerCollector, find_pairs, make_longer_set_threshold

    groups: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for row, problem in problems.items():
        if not problem.twin_id:
            groups[tuple(sorted(_normalise_options(problem)))].append(row)
    pairs = list[Pair]()
    for rows in filter(lambda rows: len(rows) > 1, groups.values()):
        group = [problems[row] for row in rows]
        numbers: dict[str | int, int] = {}  # of answers; a withheld answer differs from all others
        answers = [
            numbers.setdefault(
                at if one.answer is None else _normalise_options(one)[one.answer], len(numbers)
            )
            for at, one in enumerate(group)
        ]
        if len(numbers) == 1:
            continue
        halves = PartnerCollector(np.full(len(rows), 2), fits=partial(_look_like_halves, group))
        words = [number_words(split_pieces(problem.sentence)) for problem in group]
        find_pairs(words, make_longer_set_threshold(_MIN_OVERLAP_FAR), halves, np.array(answers))
        times = Counter(at for pair in halves.pairs for at in pair)
        pairs += [(rows[a], rows[b]) for a, b in halves.pairs if times[a] == times[b] == 1]
    return sorted(pairs)


def _look_like_halves(group: Sequence[Problem], one: int, other: int) -> bool:
    two = group[one], group[other]
    return _may_be_halves(*two) and _have_similar_texts(*two, _MIN_OVERLAP_FAR)


def _normalise_options(problem: Problem) -> list[str]:
    return [tidy(option).casefold() for option in problem.options]


def _are_neighbouring_twins(first: Problem, second: Problem) -> bool:
    if first.answer is None or second.answer is None:
        return False
    one, other = _normalise_options(first), _normalise_options(second)
    shared = set(one) & set(other)
    key, other_key = one[first.answer], other[second.answer]
    if len(shared) == len(one):
        return key != other_key and _have_similar_texts(first, second, _MIN_OVERLAP)
    # With a changed option, the common option is correct in exactly one half.
    flipped = (key in shared) != (other_key in shared)
    return flipped and _have_similar_texts(first, second, _MIN_OVERLAP_CHANGED)


def _have_similar_texts(first: Problem, second: Problem, min_overlap: float) -> bool:
    if compute_overlap(split_pieces(first.sentence), split_pieces(second.sentence)) < min_overlap:
        return False
    if detect_script(first.sentence) == "unspaced":
        return not _differ_only_in_pronoun(first.sentence, second.sentence, _LONGEST_PRONOUN)
    one, other = (
        " ".join(token for token in tokens if token[0].isalnum() or token == BLANK)
        for tokens in map(tokenize, (first.sentence, second.sentence))
    )
    return not _differ_only_in_pronoun(one, other, max(len(one), len(other)))


def _differ_only_in_pronoun(first_text: str, second_text: str, max_length: int) -> bool:
    """Return whether two sentences differ only in which of their pronouns is the blank.

    For example, "a _ m her z" and "a him m _ z". A pronoun has at most `max_length` letters.
    """
    if first_text.count(BLANK) != 1 or second_text.count(BLANK) != 1:
        return False
    start, rest, longer, end = *first_text.split(BLANK), *second_text.split(BLANK)
    if len(start) > len(longer):
        start, rest, longer, end = longer, end, start, rest
    if not longer.startswith(start) or not rest.endswith(end):
        return False
    seen, hidden = longer[len(start) :], rest[: len(rest) - len(end)]
    first, last = len(seen.partition(" ")[0]), len(hidden.rpartition(" ")[2])
    return any(
        hidden.startswith(seen[n:]) and 1 <= len(hidden) - len(seen[n:]) <= min(last, max_length)
        for n in range(1, min(first, max_length) + 1)
    )
