"""Structural validation: what WinoGrande asked of its authors, checked on halves and twins."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import get_args

from winosmith.dataset import Dataset, Filtered
from winosmith.errors import RecipeError
from winosmith.lineage import check_lineages
from winosmith.validate._authored import Applied, RuleSet, applied
from winosmith.validate._checks import OF_A_HALF, OF_A_TWIN, Rule
from winosmith.validate._examined import Examined, Outcome, gather

__all__ = ["StructureRules", "examine_structure", "structure"]


@dataclass(frozen=True, slots=True)
class StructureRules:
    """The rules for halves and twins; None or False switches one off.

    They are for twins as authors write them; `rules` says for which problems they are used.

    The numbers are WinoGrande's (section 2) where it states them. Of the released train_debiased
    and dev, 99.7 % of the problems and 99.96 % of the twins keep the first two, which is how we
    know that words between white space are counted.

    Attributes:
        rules: "auto": for all problems but those that were perturbed, their roots, and those of
            published sets that are known by their sentences (WSC, PDP, DPR, KnowRef, COPA,
            Winogender, SuperGLUE-WSC); "winogrande": for all; "none": for none.
        length: least and greatest number of words in a half, the blank included.
        overlap: least share of words that the halves have in common, of the longer half; 0–1.
        edit: greatest token edit distance between the halves, as a share of the tokens of the
            longer half, 0–1. The paper asks for "non-zero but small"; the figure is ours: of the
            2,295 twins in train_debiased and dev, 1 exceeds it. A distance of 0 always fails.
        anchor: each half holds the words of each anchor that either half names.
        content_anchor: an anchor is not made of function words alone ("the, it, he, of").
        options_in_sentence: each option occurs in the sentence, in any case. Ours: it is true of
            all of WinoGrande; switch it off for COPA, whose options are clauses.
        same_options: the halves have the same options, in any order and case.
        flipped: the halves have different answers.
        complete: the other half is there. Off, because validation is by the question and leaves
            singles, which WinoGrande keeps.

    Always refused are three problems or more of one twin id, since nothing says which two of them
    are the twin; and lineages that can't be true (`winosmith.lineage.check_lineages`), which are
    not checked where the parent or the root is gone.

    Raises:
        RecipeError: a number out of its range.
    """

    rules: RuleSet = "auto"
    length: tuple[int, int] | None = (15, 30)
    overlap: float | None = 0.7
    edit: float | None = 0.3
    anchor: bool = True
    content_anchor: bool = True
    options_in_sentence: bool = True
    same_options: bool = True
    flipped: bool = True
    complete: bool = False

    def __post_init__(self) -> None:
        if self.rules not in get_args(RuleSet):
            raise RecipeError(f"rules must be auto, winogrande or none, not {self.rules!r}")
        limits = self.length
        if limits is not None and not (len(limits) == 2 and 1 <= limits[0] <= limits[1]):
            raise RecipeError(f"the length must be a range such as (15, 30) words, not {limits}")
        for name in ("overlap", "edit"):
            share = getattr(self, name)
            if share is not None and not 0 <= share <= 1:
                raise RecipeError(f"{name} must be a share from 0 to 1, not {share}")


WINOGRANDE = StructureRules()

_CROWDED = "twin id"
"""The rule that two problems share a twin id, and no third; told where it is broken."""


def structure(dataset: Dataset, rules: StructureRules = WINOGRANDE) -> Filtered:
    """Drop the problems that break a rule; breaking a rule for twins drops both halves.

    >>> from winosmith import Problem
    >>> text = "The trophy does not fit into the suitcase because the _ is too "
    >>> twin = [
    ...     Problem("a", text + "large.", ("trophy", "suitcase"), 0, twin_id="t"),
    ...     Problem("b", text + "small indeed.", ("trophy", "suitcase"), 0, twin_id="t"),
    ... ]
    >>> for entry in structure(Dataset(twin)).dropped:
    ...     print(entry.problem.id, entry.reason)
    a length: 14 words; 15 to 30 are asked for | flipped answers: both halves say 'trophy'
    b flipped answers: both halves say 'trophy'
    """
    return examine_structure(dataset, rules).filtered()


def examine_structure(dataset: Dataset, rules: StructureRules = WINOGRANDE) -> Examined:
    """Check each rule on each problem and twin, and return what was found."""
    using = applied(dataset, rules.rules)
    names = [rule.name for rule in (*OF_A_HALF, *OF_A_TWIN) if _is_on(rule, rules)]
    names += [_CROWDED] * any(len(rows) > 2 for rows in dataset.groups)
    names += ["lineage"] * any(problem.lineage for problem in dataset)
    found = gather(dataset, "structure", _outcomes(dataset, rules, using), names)
    return replace(found, applied=using)


def _is_on(rule: Rule, rules: StructureRules) -> bool:
    setting = getattr(rules, rule.setting)
    off = rules.rules == "none" and rule.setting != "complete"
    return setting is not None and setting is not False and not off


def _outcomes(dataset: Dataset, rules: StructureRules, using: Applied) -> Iterator[Outcome]:
    of_a_half = [(rule, getattr(rules, rule.setting)) for rule in OF_A_HALF if _is_on(rule, rules)]
    of_a_twin = [(rule, getattr(rules, rule.setting)) for rule in OF_A_TWIN if _is_on(rule, rules)]
    for rows in dataset.groups:
        group = [dataset[row] for row in rows]
        for row, problem in zip(rows, group, strict=True):
            for rule, value in of_a_half:
                is_meant = row not in using.exempt or rule.setting == "complete"
                detail = rule.check(problem, group, value) if is_meant else None
                yield Outcome(rule.name, (row,), detail)
        if len(group) == 2:
            for rule, value in of_a_twin:
                is_meant = rows[0] not in using.exempt  # as the other half
                detail = rule.check(group[0], group[1], value) if is_meant else None
                yield Outcome(rule.name, rows, detail)
    yield from _crowded(dataset)
    yield from _lineages(dataset)


def _crowded(dataset: Dataset) -> Iterator[Outcome]:
    if not any(len(rows) > 2 for rows in dataset.groups):
        return
    for rows in dataset.groups:
        if (twin := dataset[rows[0]].twin_id) is not None:
            fault = f"{len(rows)} problems share the twin id {twin!r}; 2 make a twin"
            yield Outcome(_CROWDED, rows, fault if len(rows) > 2 else "")


def _lineages(dataset: Dataset) -> Iterator[Outcome]:
    if not any(problem.lineage for problem in dataset):
        return
    ids = set(dataset.ids)
    faults, contradictions = check_lineages(dataset), check_lineages(dataset, complete=False)
    for row, problem in enumerate(dataset):
        if problem.lineage:
            here = {problem.lineage.parent, problem.lineage.root} <= ids
            detail = faults.get(row, "") if here else contradictions.get(row)
            yield Outcome("lineage", (row,), detail)
