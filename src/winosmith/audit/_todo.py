"""List incorrect options to lengthen, so that the longest option is the key only by chance."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import IO

from winosmith.audit._cues import detect_classes
from winosmith.dataset import Dataset
from winosmith.escape import escape_csv, escape_markdown
from winosmith.problem import Problem
from winosmith.recast import refers_to_others


@dataclass(frozen=True)
class Rewrite:
    """An option to lengthen.

    Attributes:
        id: id of the item, or its location if ids are locations.
        option: 0-based number of the longest incorrect option.
        text: text of the option.
        missing: number of characters to add, so that the option is longer than the key.
    """

    id: str
    option: int
    text: str
    missing: int


def list_rewrites(problems: Iterable[Problem]) -> list[Rewrite]:
    """List the fewest options to lengthen so that the longest is the key only by chance.

    The number of options is the number of items whose key is the longest option in characters,
    minus the expected number. Options with the fewest missing characters come first. The expected
    number is the sum over the items of 1 / (number of options); a tie of the key with n - 1 other
    options counts 1 / n.

    Args:
        problems: the items. Items without a key, with options of equal length, or with classes
            (yes and no) as options are ignored.

    Returns:
        The options in the order in which to lengthen them; empty if the number is not above chance.

    >>> items = [Problem(f"{n}", "Which?", ("a long one", "b", "cc"), 0, blank=None)
    ...          for n in range(3)]
    >>> [(one.id, one.text, one.missing) for one in list_rewrites(items)]
    [('0', 'cc', 9), ('1', 'cc', 9)]
    """
    problems = [*problems]
    classes = detect_classes(Dataset(problems))
    surplus = 0.0
    found: list[Rewrite] = []
    for problem, is_class in zip(problems, classes, strict=True):
        lengths = [len(option.strip()) for option in problem.options]  # as the cue measures them
        key = problem.answer
        if key is None or is_class or len({*lengths}) == 1:
            continue
        longest = lengths.count(max(lengths))
        surplus += (lengths[key] == max(lengths)) / longest - 1 / len(lengths)
        if lengths[key] == max(lengths) and longest == 1:
            others = [
                at
                for at, option in enumerate(problem.options)
                if at != key and not refers_to_others(option, len(lengths))
            ]
            if not others:
                continue
            at = max(others, key=lengths.__getitem__)
            missing = lengths[key] - lengths[at] + 1
            found.append(Rewrite(problem.id, at, problem.options[at], missing))
    found.sort(key=lambda one: one.missing)
    return found[: max(0, ceil(surplus - 1e-9))]


def write_rewrites(rewrites: Sequence[Rewrite], file: IO[str], *, as_csv: bool) -> None:
    """Write rewrites as CSV, or as a Markdown worklist with a check box for each option."""
    if as_csv:
        table = csv.writer(file, lineterminator="\r\n")
        table.writerow(["item", "option", "text", "characters_to_add"])
        table.writerows(
            [escape_csv(r.id), r.option + 1, escape_csv(r.text), r.missing] for r in rewrites
        )
        return
    file.write(f"# Options to lengthen: {len(rewrites):,}\n\n")
    for one in rewrites:
        file.write(
            f"- [ ] {escape_markdown(one.id)}: option {one.option + 1}, "
            f"“{escape_markdown(one.text)}”: add {one.missing} characters or more\n"
        )
