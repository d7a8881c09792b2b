"""Structural validation: what WinoGrande asked of its authors, checked on halves and twins.

A rule's check returns "" where the rule holds, the fault in words where it is broken, and None
where it can't be checked because its input is missing: so it is for what counts words in text that
has no spaces between them, and for what knows English words in another script
(`winosmith.text.writing`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, get_args

from winosmith import text
from winosmith.dataset import Dataset, Filtered
from winosmith.errors import RecipeError
from winosmith.lineage import check_lineages
from winosmith.problem import Problem
from winosmith.validate._examined import Applied, Examined, Outcome, RuleSet, applied, gather


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
    names += [_TWIN_ID] * any(len(rows) > 2 for rows in dataset.groups)
    names += ["lineage"] * any(problem.lineage for problem in dataset)
    found = gather(dataset, "structure", _outcomes(dataset, rules, using), names)
    return replace(found, applied=using)


def _is_on(rule: Rule, rules: StructureRules) -> bool:
    setting = getattr(rules, rule.setting)
    off = rules.rules == "none" and rule.setting != "complete"
    return setting is not None and setting is not False and not off


_TWIN_ID = "twin id"
"""The rule that two problems share a twin id, and no third; told where it is broken."""


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
    yield from _of_twin_ids(dataset)
    yield from _of_lineages(dataset)


def _of_twin_ids(dataset: Dataset) -> Iterator[Outcome]:
    if not any(len(rows) > 2 for rows in dataset.groups):
        return
    for rows in dataset.groups:
        if (twin := dataset[rows[0]].twin_id) is not None:
            fault = f"{len(rows)} problems share the twin id {twin!r}; 2 make a twin"
            yield Outcome(_TWIN_ID, rows, fault if len(rows) > 2 else "")


def _of_lineages(dataset: Dataset) -> Iterator[Outcome]:
    if not any(problem.lineage for problem in dataset):
        return
    ids = set(dataset.ids)
    faults, contradictions = check_lineages(dataset), check_lineages(dataset, complete=False)
    for row, problem in enumerate(dataset):
        if problem.lineage:
            here = {problem.lineage.parent, problem.lineage.root} <= ids
            detail = faults.get(row, "") if here else contradictions.get(row)
            yield Outcome("lineage", (row,), detail)


class Rule(NamedTuple):
    """A rule by its name, the field of `StructureRules` that sets it, and its check.

    A half's check takes the problem, all problems of its twin id, and the setting; a twin's takes
    both halves and the setting.
    """

    name: str
    setting: str
    check: Callable[[Any, Any, Any], str | None]


def _length(problem: Problem, group: Sequence[Problem], limits: tuple[int, int]) -> str | None:
    if text.writing(problem.sentence) == "unspaced":
        return None
    low, high = limits
    count = len(text.words(problem.sentence))
    return "" if low <= count <= high else f"{count} words; {low} to {high} are asked for"


def _options(problem: Problem, group: Sequence[Problem], _: bool) -> str:
    sentence = problem.sentence.casefold()
    return _missing([option for option in problem.options if _plain(option) not in sentence])


def _anchor(problem: Problem, group: Sequence[Problem], _: bool) -> str | None:
    anchors = {half.origin.anchor for half in group if half.origin and half.origin.anchor}
    if any(text.writing(one) != "latin" for one in (problem.sentence, *anchors)):
        return None
    wanted = {word for anchor in anchors for word in text.content_words(anchor)}
    if not wanted:
        return None
    return _missing(sorted(wanted.difference(map(str.lower, text.tokens(problem.sentence)))))


def _content_anchor(problem: Problem, group: Sequence[Problem], _: bool) -> str | None:
    anchor = problem.origin.anchor if problem.origin else None
    if not anchor or not anchor.strip() or text.writing(anchor) != "latin":
        return None
    return "" if text.content_words(anchor) else f"{anchor!r} holds only function words"


def _complete(problem: Problem, group: Sequence[Problem], _: bool) -> str:
    return "the other half is missing" if len(group) == 1 else ""


def _same_options(first: Problem, second: Problem, _: bool) -> str:
    if set(map(_plain, first.options)) == set(map(_plain, second.options)):
        return ""
    return f"{_listed(first.options)} in one half, {_listed(second.options)} in the other"


def _flipped(first: Problem, second: Problem, _: bool) -> str | None:
    if first.answer is None or second.answer is None:
        return None
    answer = first.options[first.answer]
    if _plain(answer) != _plain(second.options[second.answer]):
        return ""
    return f"both halves say {answer!r}"


def _overlap(first: Problem, second: Problem, least: float) -> str | None:
    if _has_no_words(first, second):
        return None
    share = text.overlap(text.words(first.sentence), text.words(second.sentence))
    if share >= least:
        return ""
    return f"the halves share {share * 100:.1f} % of their words; {least * 100:.0f} % are asked for"


def _edit(first: Problem, second: Problem, most: float) -> str | None:
    mine, theirs = text.tokens(first.sentence), text.tokens(second.sentence)
    distance, longer = text.edit_distance(mine, theirs), max(len(mine), len(theirs))
    if distance == 0:
        return "the halves are the same sentence"
    if _has_no_words(first, second):
        return None
    if distance <= most * longer:
        return ""
    return f"the halves differ in {distance} of {longer} tokens; at most {most * 100:.0f} % may"


def _has_no_words(*halves: Problem) -> bool:
    return any(text.writing(half.sentence) == "unspaced" for half in halves)


def _plain(option: str) -> str:
    return option.strip().casefold()


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names))


def _missing(names: Sequence[str]) -> str:
    return f"{_listed(names)} not in the sentence" if names else ""


OF_A_HALF = (
    Rule("length", "length", _length),
    Rule("options", "options_in_sentence", _options),
    Rule("anchor", "anchor", _anchor),
    Rule("function word", "content_anchor", _content_anchor),
    Rule("other half", "complete", _complete),
)
OF_A_TWIN = (
    Rule("same options", "same_options", _same_options),
    Rule("flipped answers", "flipped", _flipped),
    Rule("overlap", "overlap", _overlap),
    Rule("edit distance", "edit", _edit),
)
