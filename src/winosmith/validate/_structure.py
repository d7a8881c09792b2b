"""Check WinoGrande's rules for authors on problems and twins.

A check returns "" if the rule is met, a description of the fault if the rule is broken, and None if
required input is missing. Rules that count words are not checked in text without spaces, and rules
about English words are checked only in Latin script (`winosmith.text.detect_script`).

The rules are for twins that people write (WinoGrande, section 2). They do not suit perturbed
problems, which may be shorter or share fewer words, or other published data: 126 of the 273
Winograd schemas break a rule.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import AfterValidator, Field

from winosmith import published, text
from winosmith.dataset import Dataset, Filtered
from winosmith.lineage import check_lineages
from winosmith.options import Numbers, OrFalse, declaration
from winosmith.problem import Problem
from winosmith.report import percent
from winosmith.text import detect_script
from winosmith.validate._gender import explain_gender_mismatch


@dataclass(frozen=True, slots=True)
class Finding:
    """A violation of a rule.

    Attributes:
        rule: name of the rule ("length").
        rows: the row of the problem, or the rows of both halves of a twin.
        detail: a description of the fault ("12 words; 15 to 30 are required").
    """

    rule: str
    rows: tuple[int, ...]
    detail: str


@dataclass(frozen=True)
class Examination:
    """The result of examining a data set.

    Attributes:
        dataset: the examined data set.
        stage: name of the examination ("structure", "votes").
        findings: the broken rules, sorted by problem, then by rule.
        checked: number of problems that were checked against each active rule. A rule is skipped if
            its input is missing (the anchor, votes, the answer, the other half).
        applied_rules: the problems to which the rules were applied, and the reason; None for votes.
    """

    dataset: Dataset
    stage: str
    findings: tuple[Finding, ...] = field(repr=False)
    checked: Mapping[str, int]
    applied_rules: AppliedRules | None = None

    def find_failed_rows(self, rule: str) -> tuple[int, ...]:
        """Return the rows that break a rule, in ascending order."""
        rows = {row for found in self.findings if found.rule == rule for row in found.rows}
        return tuple(sorted(rows))

    def drop_failed(self) -> Filtered:
        """Drop the problems with findings, and keep the other problems.

        The reason lists all broken rules in order ("length: 12 words; 15 to 30 are required |
        overlap: …"). The funnel groups reasons by the text before the first colon.
        """
        reasons: dict[int, list[str]] = {}
        for rule in self.checked:
            for found in self.findings:
                if found.rule == rule:
                    for row in found.rows:
                        reasons.setdefault(row, []).append(f"{rule}: {found.detail}")
        return self.dataset.drop(
            {row: " | ".join(details) for row, details in reasons.items()}, self.stage
        )


Outcome = tuple[str, tuple[int, ...], str | None]
"""A rule's result for a problem or twin: the rule's name, the rows, and the fault ("" if there is
none, None if the rule can't be checked)."""


def collect_outcomes(
    dataset: Dataset, stage: str, outcomes: Iterable[Outcome], rules: Iterable[str]
) -> Examination:
    """Collect outcomes in an examination; `rules` lists all active rules, in order."""
    checked = dict.fromkeys(rules, 0)
    place = {rule: number for number, rule in enumerate(checked)}
    findings = []
    for rule, rows, detail in outcomes:
        if detail is not None:
            checked[rule] += len(rows)
        if detail:
            findings.append(Finding(rule, rows, detail))
    findings.sort(key=lambda found: (found.rows[0], place[found.rule]))
    return Examination(dataset, stage, tuple(findings), checked)


RuleSet = Literal["auto", "winogrande", "none"]
"""The problems to which WinoGrande's rules apply: all, none, or ("auto") all except perturbed
problems, their roots, and problems of known published data sets."""

PERTURBED = "perturbed or their roots"
"""The reason for exempting a family with lineages from the rules."""

COVERED_DATASETS = frozenset({"WinoGrande"})
"""The published data sets to which the rules apply."""


@dataclass(frozen=True)
class AppliedRules:
    """The problems to which WinoGrande's rules were applied, and the exempt problems.

    Attributes:
        rules: the `rules` setting.
        exempt: the rows to which the rules were not applied, with the reason for each; all rows if
            `rules` is "none", or if no rule could be checked on any row.
        n: number of problems.
        unspaced: number of problems in a script without spaces (`winosmith.text.detect_script`).
        spaced: number of problems in a script with spaces, other than Latin.
    """

    rules: RuleSet
    exempt: Mapping[int, str]
    n: int
    unspaced: int = 0
    spaced: int = 0

    def __str__(self) -> str:
        """Return the summary at the start of a report.

        >>> str(AppliedRules("auto", {2: "of WSC"}, 3))
        "WinoGrande's rules for authors were applied to 2 of 3 problems; not to 1 (of WSC)"
        """
        were = "WinoGrande's rules for authors were"
        if self.rules == "none":
            return f"{were} not applied, as configured"
        if self.rules == "winogrande" and not self.exempt:
            return f"{were} applied to all {self.n:,} problems, as configured"
        if not self.exempt:
            return f"{were} applied to all problems"
        why = Counter(self.exempt.values()).most_common()
        reasons = ", ".join(f"{count:,} ({reason})" for reason, count in why)
        left = self.n - len(self.exempt)
        if not left:
            return f"{were} not applied to {reasons}"
        return f"{were} applied to {left:,} of {self.n:,} problems; not to {reasons}"

    @property
    def lines(self) -> tuple[str, ...]:
        """The summary, and a note on each kind of script for which some rules are not checked.

        >>> AppliedRules("auto", {}, 2, unspaced=1).lines[1]
        '1 in a script without spaces between words: rules about words are not checked'
        """
        other = (
            (self.unspaced, "in a script without spaces between words: rules about words"),
            (self.spaced, "in a script other than Latin: rules about English words"),
        )
        notes = (f"{count:,} {what} are not checked" for count, what in other if count)
        return str(self), *notes

    def record(self) -> dict[str, Any]:
        """Return the JSON record."""
        return {
            "rules": self.rules,
            "applied_to": self.n - len(self.exempt),
            "not_applied": dict(Counter(self.exempt.values()).most_common()),
            "without_spaces": self.unspaced,
            "in_another_script": self.spaced,
            "words": list(self.lines),
        }


def find_applied_rules(dataset: Dataset, rules: RuleSet) -> AppliedRules:
    """Return the problems to which WinoGrande's rules apply; a twin's halves are treated alike.

    >>> from winosmith import Problem
    >>> wsc = Problem("0", "The trophy doesn't fit into the brown suitcase because the _ is too "
    ...               "large.", ("trophy", "suitcase"))
    >>> find_applied_rules(Dataset([wsc]), "auto").exempt
    {0: 'of WSC, published'}
    """
    exempt: dict[int, str] = {}
    if rules == "none":
        exempt = dict.fromkeys(range(len(dataset)), "as set")
    elif rules == "auto":
        for rows in dataset.families.values():
            if any(dataset[row].lineage for row in rows):
                exempt |= dict.fromkeys(rows, PERTURBED)
        whole = published.recognise_dataset(dataset)
        for row, problem in enumerate(dataset):
            name = published.find_source_name(problem.sentence) or whole
            if name is not None and name not in COVERED_DATASETS:
                exempt.setdefault(row, f"of {name}, published")
        for rows in dataset.groups:
            why = next((exempt[row] for row in rows if row in exempt), None)
            if why is not None:
                for row in rows:
                    exempt.setdefault(row, why)
        exempt = dict(sorted(exempt.items()))
    written = Counter(detect_script(problem.sentence) for problem in dataset)
    return AppliedRules(rules, exempt, len(dataset), written["unspaced"], written["spaced"])


def _validate_length(length: tuple[int, int]) -> tuple[int, int]:
    if not 1 <= length[0] <= length[1]:
        raise ValueError("it must be a range of word counts such as [15, 30]")
    return length


@declaration
class StructureRules:
    """`[structure]`: the rules for problems and twins; false disables a rule.

    `rules` selects the problems to which the rules apply.

    Default thresholds are those that WinoGrande states (section 2). In the released train_debiased
    and dev, 99.7 % of the problems meet `length` and 99.96 % of the twins meet `overlap`, if words
    are split at white space.

    Two checks are always active: no more than two problems may share a twin id, and lineages must
    be consistent (`winosmith.lineage.check_lineages`), unless the parent or root is missing.
    """

    rules: RuleSet = "auto"
    """The problems to which the rules apply. "auto": all problems except perturbed ones, their
    roots, and those whose sentences are from known published data sets (WSC, PDP, DPR, KnowRef,
    COPA, Winogender, SuperGLUE-WSC); "winogrande": all; "none": none."""
    length: OrFalse[Annotated[Numbers, AfterValidator(_validate_length)]] = (15, 30)
    """Minimum and maximum number of words in a sentence, including the blank."""
    overlap: OrFalse[Annotated[float, Field(ge=0, le=1)]] = 0.7
    """Minimum number of words that the halves share, as a fraction of the longer half."""
    edit: OrFalse[Annotated[float, Field(ge=0, le=1)]] = 1.0
    """Maximum token edit distance between the halves, as a fraction of the tokens of the longer
    half; 1 sets no limit. The paper requires "non-zero but small", without a number, so by default
    only a distance of 0 fails. A limit of 0.3 would refuse twins that share exactly 70 % of their
    words."""
    anchor: bool = True
    """Each half contains the words of both halves' anchors."""
    content_anchor: bool = True
    """An anchor contains a word that is not a function word ("the, it, he, of")."""
    options_in_sentence: bool = True
    """Each option occurs in the sentence, ignoring case. The paper does not state this rule, but
    all of WinoGrande meets it. Disable it for COPA, whose options are clauses."""
    same_options: bool = True
    """The halves have the same options, ignoring order and case."""
    flipped: bool = True
    """The halves have different answers."""
    domain: bool = True
    """The domain, if there is one, is "social" or "physical", as in the paper."""
    same_gender: bool = True
    """The two people of a "social" problem have the same gender. Checked only if their names, or
    the pronouns that the blanks replaced, show the gender."""
    complete: bool = False
    """Refuse problems without their other half. Off by default, because validation can drop one
    half, and WinoGrande then keeps the other half."""


WINOGRANDE = StructureRules()


def filter_by_structure(dataset: Dataset, rules: StructureRules = WINOGRANDE) -> Filtered:
    """Drop the problems that break a rule, and both halves of twins that break a rule on twins.

    >>> from winosmith import Problem
    >>> text = "The trophy does not fit into the suitcase because the _ is too "
    >>> twin = [
    ...     Problem("a", text + "large.", ("trophy", "suitcase"), 0, twin_id="t"),
    ...     Problem("b", text + "small indeed.", ("trophy", "suitcase"), 0, twin_id="t"),
    ... ]
    >>> for entry in filter_by_structure(Dataset(twin)).dropped:
    ...     print(entry.problem.id, entry.reason)
    a length: 14 words; 15 to 30 are required | flipped answers: both halves have 'trophy'
    b flipped answers: both halves have 'trophy'
    """
    return examine_structure(dataset, rules).drop_failed()


def examine_structure(dataset: Dataset, rules: StructureRules = WINOGRANDE) -> Examination:
    """Apply each rule to each problem and twin, and return the findings."""
    applied = find_applied_rules(dataset, rules.rules)
    names = [rule.name for rule in (*PROBLEM_RULES, *TWIN_RULES) if _is_active(rule, rules)]
    names += [_TWIN_ID] * any(len(rows) > 2 for rows in dataset.groups)
    names += ["lineage"] * any(problem.lineage for problem in dataset)
    found = collect_outcomes(dataset, "structure", _run_rules(dataset, rules, applied), names)
    if not any(found.checked.values()):
        unchecked = dict.fromkeys(range(len(dataset)), "no rule can be checked")
        applied = replace(applied, exempt=unchecked | dict(applied.exempt))
    return replace(found, applied_rules=applied)


def _is_active(rule: Rule, rules: StructureRules) -> bool:
    setting = getattr(rules, rule.setting)
    off = rules.rules == "none" and rule.setting != "complete"
    return setting is not None and setting is not False and not off


_TWIN_ID = "twin id"
"""Name of the rule that at most two problems share a twin id; listed only if it is violated."""


def _run_rules(dataset: Dataset, rules: StructureRules, applied: AppliedRules) -> Iterator[Outcome]:
    of_a_half, of_a_twin = (
        [(rule, getattr(rules, rule.setting)) for rule in kind if _is_active(rule, rules)]
        for kind in (PROBLEM_RULES, TWIN_RULES)
    )
    for rows in dataset.groups:
        group = [dataset[row] for row in rows]
        for row, problem in zip(rows, group, strict=True):
            for rule, value in of_a_half:
                applies = row not in applied.exempt or rule.setting == "complete"
                detail = rule.check(problem, group, value) if applies else None
                yield rule.name, (row,), detail
        if len(group) == 2:
            for rule, value in of_a_twin:
                applies = rows[0] not in applied.exempt  # the other half is exempt, too
                detail = rule.check(group[0], group[1], value) if applies else None
                yield rule.name, rows, detail
    if any(len(rows) > 2 for rows in dataset.groups):
        for rows in dataset.groups:
            if (twin := dataset[rows[0]].twin_id) is not None:
                fault = f"{len(rows)} problems share the twin id {twin!r}; 2 make a twin"
                yield _TWIN_ID, rows, fault if len(rows) > 2 else ""
    ids = set(dataset.ids)
    faults, contradictions = check_lineages(dataset), check_lineages(dataset, complete=False)
    for row, problem in enumerate(dataset):
        if problem.lineage:
            here = {problem.lineage.parent, problem.lineage.root} <= ids
            yield "lineage", (row,), faults.get(row, "") if here else contradictions.get(row)


class Rule(NamedTuple):
    """A rule's name, its field in `StructureRules`, and its check.

    A check of a problem is called with the problem, all problems with the same twin id, and the
    setting. A check of a twin is called with both halves and the setting.
    """

    name: str
    setting: str
    check: Callable[[Any, Any, Any], str | None]


def _check_word_count(
    problem: Problem, group: Sequence[Problem], limits: tuple[int, int]
) -> str | None:
    if problem.blank is None or text.detect_script(problem.sentence) == "unspaced":
        return None
    low, high = limits
    count = len(text.split_words(problem.sentence))
    return "" if low <= count <= high else f"{count} words; {low} to {high} are required"


def _check_options_in_sentence(problem: Problem, group: Sequence[Problem], _: bool) -> str | None:
    if problem.blank is None:
        return None
    sentence = problem.sentence.casefold()
    return _format_missing(
        [option for option in problem.options if _normalize_option(option) not in sentence]
    )


def _check_anchor(problem: Problem, group: Sequence[Problem], _: bool) -> str | None:
    anchors = {half.origin.anchor for half in group if half.origin and half.origin.anchor}
    if any(text.detect_script(one) != "latin" for one in (problem.sentence, *anchors)):
        return None
    wanted = {word for anchor in anchors for word in text.find_content_words(anchor)}
    if not wanted:
        return None
    return _format_missing(
        sorted(wanted.difference(map(str.lower, text.tokenize(problem.sentence))))
    )


def _check_content_anchor(problem: Problem, group: Sequence[Problem], _: bool) -> str | None:
    anchor = problem.origin.anchor if problem.origin else None
    if not anchor or not anchor.strip() or text.detect_script(anchor) != "latin":
        return None
    return "" if text.find_content_words(anchor) else f"{anchor!r} has only function words"


DOMAINS = ("social", "physical")
"""The domains of WinoGrande's twins (section 2)."""


def _get_domain(problem: Problem) -> str:
    return ((problem.origin and problem.origin.domain) or "").strip()


def _check_domain(problem: Problem, group: Sequence[Problem], _: bool) -> str | None:
    domain = _get_domain(problem)
    if not domain:
        return None
    return "" if domain.lower() in DOMAINS else f"{domain!r}; {' or '.join(DOMAINS)} is required"


def _check_gender(problem: Problem, group: Sequence[Problem], _: bool) -> str | None:
    is_social = _get_domain(problem).lower() == "social"
    return explain_gender_mismatch(problem, group) if is_social else None


def _check_same_options(first: Problem, second: Problem, _: bool) -> str:
    if set(map(_normalize_option, first.options)) == set(map(_normalize_option, second.options)):
        return ""
    return f"{_format_list(first.options)} in one half, {_format_list(second.options)} in the other"


def _check_answers_differ(first: Problem, second: Problem, _: bool) -> str | None:
    if first.answer is None or second.answer is None:
        return None
    answer = first.options[first.answer]
    if _normalize_option(answer) != _normalize_option(second.options[second.answer]):
        return ""
    return f"both halves have {answer!r}"


def _check_overlap(first: Problem, second: Problem, min_overlap: float) -> str | None:
    if _are_unspaced(first, second):
        return None
    share = text.compute_overlap(
        text.split_words(first.sentence), text.split_words(second.sentence)
    )
    if share >= min_overlap:
        return ""
    return (
        f"the halves share {percent(share)} of their words; {percent(min_overlap, 0)} are required"
    )


def _check_edit_distance(first: Problem, second: Problem, limit: float) -> str | None:
    left, right = text.tokenize(first.sentence), text.tokenize(second.sentence)
    distance, longer = text.compute_edit_distance(left, right), max(len(left), len(right))
    if distance == 0:
        return "the halves are the same sentence"
    if _are_unspaced(first, second):
        return None
    if distance <= limit * longer:
        return ""
    return f"the halves differ in {distance} of {longer} tokens; {percent(limit, 0)} are allowed"


def _are_unspaced(*halves: Problem) -> bool:
    return any(text.detect_script(half.sentence) == "unspaced" for half in halves)


def _normalize_option(option: str) -> str:
    return option.strip().casefold()


def _format_list(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names))


def _format_missing(names: Sequence[str]) -> str:
    return f"{_format_list(names)} not in the sentence" if names else ""


PROBLEM_RULES = (
    Rule("length", "length", _check_word_count),
    Rule("options", "options_in_sentence", _check_options_in_sentence),
    Rule("anchor", "anchor", _check_anchor),
    Rule("function word", "content_anchor", _check_content_anchor),
    Rule("domain", "domain", _check_domain),
    Rule("same gender", "same_gender", _check_gender),
    Rule(
        "other half",
        "complete",
        lambda problem, group, _: "the other half is missing" if len(group) == 1 else "",
    ),
)
TWIN_RULES = (
    Rule("same options", "same_options", _check_same_options),
    Rule("flipped answers", "flipped", _check_answers_differ),
    Rule("overlap", "overlap", _check_overlap),
    Rule("edit distance", "edit", _check_edit_distance),
)
