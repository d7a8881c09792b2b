"""Repair a data set: remove items until no cue predicts the answers, and measure the result.

Copies and identical items with different keys are removed first, then the items whose keys models
doubt most (`_triage`). The options are shuffled if their order has no meaning. The remaining
items are thinned (`_thinning`).
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from winosmith import formats
from winosmith.answers import Answers
from winosmith.audit import _thinning, _triage
from winosmith.audit._cues import CUES, Cue, detect_classes
from winosmith.audit._edits import find_numbered_fields, may_refer_to_options
from winosmith.audit._items import TIE_SHARES, Bools, Floats, Items, Step
from winosmith.audit._review import find_shared_items
from winosmith.audit._thinning import LearntRules, RepairSettings, Thinning, require_enough_blocks
from winosmith.blocks import find_copies, normalize_tokens
from winosmith.dataset import Dataset, Dropped, Filtered
from winosmith.errors import DataError
from winosmith.problem import Problem
from winosmith.recast import find_order_reference, reorder_options
from winosmith.report import percent
from winosmith.results import HIDDEN, Result, computed

SET_ASIDE = "set aside"
"""Stage that removes items whose keys models doubt, and the other halves of their twins."""

_LATER_SPLIT = "in a later split"
"""Stage that removes items that a later split contains, and the other halves of their twins."""

_REPAIRED_SPLIT = ""
"""Name of the repaired split in a mapping with later splits."""


@dataclass(frozen=True, slots=True)
class CueChange:
    """The accuracy of a cue before a repair and, on the kept items, after it.

    Attributes:
        rule: name of the cue.
        before, after: accuracy of the cue, 0–1.
    """

    rule: str
    before: float
    after: float


@dataclass(frozen=True)
class RepairPlan:
    """The inputs of a repair, except the items.

    Attributes:
        answers: answers of models, by the models' names. With answers, items whose keys models
            doubt are set aside before cues are learnt, because thinning keeps wrong keys more often
            than sound keys. This biases the accuracy of these models, and of their relatives,
            upwards.
        cues: see `audit`.
        settings: settings of the repair.
        checked: ids of items whose keys people have checked, and corrected if necessary; these
            items are never set aside.
    """

    answers: Mapping[str, Answers] | None
    cues: Sequence[Cue]
    settings: RepairSettings
    checked: frozenset[str] = frozenset()

    @classmethod
    def from_settings(
        cls,
        answers: Mapping[str, Answers] | None = None,
        cues: Sequence[Cue] = CUES,
        checked: Iterable[str] = (),
        **settings: Any,
    ) -> RepairPlan:
        return cls(answers, cues, RepairSettings(**settings), frozenset(checked))

    @property
    def parameters(self) -> dict[str, Any]:
        """All inputs except the answers, as JSON values."""
        checked = {"checked": sorted(self.checked)} if self.checked else {}
        return {**asdict(self.settings), "cues": [cue.name for cue in self.cues], **checked}

    def require_known_ids(self, splits: Iterable[Dataset]) -> None:
        answers = self.answers
        if answers is not None and not any(_triage.select_answers(answers, one) for one in splits):
            raise DataError(_triage.FOREIGN_ANSWERS)


@dataclass(frozen=True)
class Repair(Result):
    """A repaired data set.

    Attributes:
        dataset: the kept items with shuffled options, in the order of the input.
        filtered: the kept items in their original form, and the removed items with reasons.
        set_aside: items whose keys models doubt, with shuffled options, in the order of the input.
        orders: the old position of each option, by id of the items whose options were reordered.
        fixed_order_count: number of kept items whose options keep their order, because it has a
            meaning or a field of `extra` may refer to it.
        cues: the cues by which items were thinned, in the order in which they were flagged.
        has_word_model: whether items were also thinned by a word model.
        cue_changes: accuracy of every cue before and after the repair.
        chance: accuracy of random guessing before and after the repair, 0–1.
        proof: the evidence from held-out blocks.
        doubts: the items set aside, and their effect on the accuracy of models; None without
            models' answers.
        concentration: the effect of thinning on wrong keys; None if nothing was thinned.
        parameters: all inputs, except the items.
        repair_count: number of known repairs of these items, including this one.
    """

    dataset: Dataset = field(metadata={"key": "kept", "json": len})
    filtered: Filtered = field(
        metadata={
            "key": "dropped",
            "json": lambda found: dict(Counter(entry.stage for entry in found.dropped)),
        }
    )
    set_aside: Dataset = field(metadata=HIDDEN)
    orders: Mapping[str, tuple[int, ...]] = field(metadata=HIDDEN)
    fixed_order_count: int = field(metadata={"key": "orders_fixed"})
    cues: tuple[str, ...] = field(metadata=HIDDEN)
    has_word_model: bool = field(metadata=HIDDEN)
    cue_changes: tuple[CueChange, ...] = field(metadata={"key": "cues"})
    chance: tuple[float, float] = field(
        metadata={"json": lambda both: dict(zip(("before", "after"), both, strict=True))}
    )
    proof: _thinning.Proof
    doubts: _triage.DoubtedKeys | None = field(metadata={"key": "set_aside"})
    concentration: _thinning.Concentration | None = field(metadata={"key": "wrong_keys"})
    parameters: Mapping[str, Any]
    repair_count: int = field(default=1, metadata={"key": "tried"})

    @property
    @computed()
    def digest(self) -> str:
        """Digest of the kept items."""
        return self.dataset.digest

    @property
    @computed()
    def thinned_by(self) -> tuple[str, ...]:
        """Names of the rules that thinned the items: cues and, if used, `WORDS`."""
        return *self.cues, *([_thinning.WORDS] if self.has_word_model else [])

    @property
    @computed(key="orders_dealt")
    def reordered_count(self) -> int:
        """Number of kept items whose options have a new order."""
        return len(self.orders.keys() & {*self.dataset.ids})


Memo = Callable[[str, Callable[[], LearntRules]], LearntRules]
"""A function that returns the rules stored under a name, or learns and stores them."""


def repair(
    data: Dataset | formats.Readable,
    *,
    later: Mapping[str, Dataset] | None = None,
    step: Step = lambda _: None,
    **settings: Any,
) -> Repair:
    """Remove items until no cue predicts the answers, and measure the result on held-out blocks.

    Whether an item is kept depends on its text, but not on its id or row, nor on the order of its
    options unless this order has a meaning. Repairing a repaired data set invalidates the evidence.

    Args:
        data: the items, or any input of `formats.read`. Items without a key are removed.
        later: other splits, by name. Their items and near-duplicates of these items are removed
            from `data`. Models are compared on the last split, the test set, so it keeps its items.
        step: called with a description of the next step.
        settings: `answers`, `cues` and `checked` of `RepairPlan`, and the attributes of
            `RepairSettings`.

    Raises:
        DataError: there are too few blocks, less than the fraction `least_kept` of the items would
            be kept, or `set_aside` is given without models' answers.
        RecipeError: a setting is unknown or out of range.

    >>> from winosmith import Problem
    >>> rows = np.random.default_rng(0).random((400, 2))
    >>> data = Dataset(Problem(f"{at}", f"Which of {at}?", (f"a{at}", f"b{at}, as is said"),
    ...                int(rare < 0.8), blank=None) for at, (rare, _) in enumerate(rows))
    >>> found = repair(data, draws=99, probe_draws=0)
    >>> found.cues[0], found.filtered.input() == data, len(found.dataset) < 300
    ('the longest, in characters', True, True)
    """
    data = formats.as_dataset(data)
    plan = RepairPlan.from_settings(**settings)
    plan.require_known_ids([data])
    return thin(PreparedSet.from_dataset(data, later or {}, plan), step)


@dataclass(frozen=True)
class PreparedSet:
    """A data set that is prepared for thinning: without copies, and with shuffled options.

    Attributes:
        removals: the stage and reason of each removed item, by row.
        set_aside: the items set aside, with shuffled options, by row.
        shuffled: the remaining items, with shuffled options, by row.
        answers: answers of the models that answered any item.
        doubts: the items set aside; None if there are no answers.
    """

    data: Dataset
    removals: Mapping[int, tuple[str, str]]
    set_aside: Mapping[int, Problem]
    shuffled: Mapping[int, Problem]
    plan: RepairPlan
    thinning: Thinning
    answers: Mapping[str, Answers]
    doubts: _triage.DoubtedKeys | None

    @classmethod
    def from_dataset(
        cls, data: Dataset, later: Mapping[str, Dataset], plan: RepairPlan
    ) -> PreparedSet:
        """Remove copies and suspect items, and shuffle the options; see `repair`."""
        answers, number, seed = plan.answers, plan.settings.set_aside, plan.settings.seed
        if number and answers is None:
            raise DataError(f"setting aside {number} items requires models' answers")
        removals = _find_in_later_splits(data, later)
        if removals and len(removals) == len(data):
            raise DataError(
                f"the repair would remove all items; for example, {data[0].id} is {removals[0][1]}"
            )
        removals |= _find_copies_and_keyless_rows(data, removals)
        rows = [row for row in range(len(data)) if row not in removals]
        numbered = find_numbered_fields((n, v, p) for p in data for n, v in p.extra.items())
        free = {
            row: not (
                is_class
                or find_order_reference(data[row].sentence, data[row].options)
                or may_refer_to_options(data[row], numbered)
            )
            for row, is_class in zip(rows, detect_classes(data.select(rows)), strict=True)
        }
        shuffled = {
            row: reorder_options(data[row], draw_order(data[row], seed)) if free[row] else data[row]
            for row in rows
        }
        own = _triage.select_answers(answers, data) if answers else {}
        found, reasons = None, dict[int, tuple[str, str]]()
        if own:
            items = Items.from_dataset(data.select(rows))
            found = _triage.choose_items_to_set_aside(items, own, number, seed, plan.checked)
            for one in found.set_aside:
                reason = (
                    f"{one.models} models choose “{one.proposed}”, but its key is “{one.key}” "
                    f"(agreement {percent(one.agreement, 0)})"
                )
                reasons[data.row(one.id)] = (SET_ASIDE, reason)
            reasons |= _find_other_halves(data, rows, reasons, SET_ASIDE, "whose key models doubt")
        aside = {row: shuffled.pop(row) for row in rows if row in reasons}
        removals |= reasons
        rows = [*shuffled]
        items = Items.from_dataset(Dataset(shuffled.values(), data.name))
        stages = Counter(stage for stage, _ in removals.values())
        out = ", ".join(f"{stage}: {count:,}" for stage, count in stages.items())
        left = f" ({len(rows):,} remain; {out})" if removals else ""
        require_enough_blocks(items.block_count, f"the {len(data):,} items of {data.name}{left}")
        fixed = np.array([not free[row] for row in rows])[items.rows]
        thinning = Thinning(items, fixed, plan.cues, plan.settings)
        return cls(data, removals, aside, shuffled, plan, thinning, own, found)


def thin(prepared: PreparedSet, step: Step, memo: Memo = lambda _, learn: learn()) -> Repair:
    """Thin a prepared data set; `memo` stores the learnt rules, so that a repair can resume."""
    data, shuffled, thinning = prepared.data, prepared.shuffled, prepared.thinning
    items, cues, seed = thinning.items, thinning.cues, thinning.settings.seed
    removals, rows = dict(prepared.removals), [*shuffled]

    def learn(source: str, rows: Bools) -> LearntRules:
        def learn_now() -> LearntRules:
            step(f"repair: learning from {source} of the items")
            return thinning.learn(rows)

        return memo(source.replace(" ", "-"), learn_now)

    learnt = learn("all", np.ones(len(items), np.bool_))
    leaves = _draw_numbers(items, seed) >= learnt.stays
    for unit in np.flatnonzero(leaves).tolist():
        reason = (
            f"thinned: a model that doesn't see the question gives its key a probability of "
            f"{percent(learnt.posterior[unit], 0)} (chance: "
            f"{percent(1 / items.unit_counts[unit], 0)}), so the item was kept with a probability "
            f"of {percent(learnt.stays[unit], 0)}"
        )
        for row in items.rows[items.unit == unit].tolist():
            removals[rows[row]] = ("thinned", reason)
    kept = [row for row in rows if row not in removals]
    thinning.require_enough_kept(learnt, len(kept), len(rows))
    step(
        f"repair: {len(kept):,} of {len(rows):,} items will be kept "
        f"({percent(len(kept) / len(rows))})"
    )
    result = Dataset((shuffled[row] for row in kept), data.name)
    if doubts := prepared.doubts:
        aside = [problem.id for problem in prepared.set_aside.values()]
        accuracy = _triage.compare_accuracies(data, prepared.answers, aside, result.ids)
        doubts = replace(doubts, accuracy=accuracy)
    ordered = {**shuffled, **prepared.set_aside}
    before, after = Items.from_dataset(data), Items.from_dataset(result)
    return Repair(
        dataset=result,
        filtered=Filtered(
            data.select(kept),
            tuple(Dropped(data[row], *removals[row], row) for row in sorted(removals)),
        ),
        set_aside=Dataset(prepared.set_aside.values(), data.name),
        orders={
            data[row].id: tuple(draw_order(data[row], seed))
            for row in sorted([*kept, *prepared.set_aside])
            if ordered[row].options != data[row].options
        },
        fixed_order_count=sum(rows[row] not in removals for row in items.rows[thinning.fixed]),
        cues=learnt.cues,
        has_word_model=learnt.has_word_model,
        cue_changes=_compare_cues(before, after, cues),
        chance=(before.chance, after.chance),
        proof=_thinning.bound_accuracies(
            items,
            lambda half: learn("one half" if half[0] else "the other half", half).stays,
            cues,
            shuffled=~thinning.fixed,
            seed=seed,
        ),
        doubts=doubts,
        concentration=thinning.measure_concentration(learnt, step),
        parameters={"models": [*prepared.answers], **prepared.plan.parameters},
    )


def _find_in_later_splits(
    data: Dataset, later: Mapping[str, Dataset]
) -> dict[int, tuple[str, str]]:
    removals: dict[int, tuple[str, str]] = {}
    shared = find_shared_items({_REPAIRED_SPLIT: data, **later}) if later else {}
    for (own, name), pairs in shared.items():
        for one, other in pairs if own == _REPAIRED_SPLIT else ():
            reason = (_LATER_SPLIT, f"identical or nearly identical to {other} in {name}")
            removals.setdefault(data.row(one), reason)
    return removals | _find_other_halves(
        data, range(len(data)), removals, _LATER_SPLIT, "which a later split contains"
    )


def _find_other_halves(
    data: Dataset, rows: Iterable[int], removals: Iterable[int], stage: str, reason: str
) -> dict[int, tuple[str, str]]:
    twins = {twin: data[row].id for row in removals if (twin := data[row].twin_id)}
    return {
        row: (stage, f"the other half of {twins[twin]}, {reason}")
        for row in rows
        if row not in removals and (twin := data[row].twin_id) in twins
    }


def _find_copies_and_keyless_rows(
    data: Dataset, removed: Mapping[int, tuple[str, str]]
) -> dict[int, tuple[str, str]]:
    """Map the row of each copy, contradiction and item without a key to a stage and a reason."""
    removals = {
        row: ("no key", "it has no key")
        for row, key in enumerate(data.answers)
        if key is None and row not in removed
    }
    for group in find_copies(data):
        left = (row for row in group if row not in removals and row not in removed)
        # In this order, the remaining copies are halves of the same twin.
        rows = sorted(left, key=lambda row: (data[row].twin_id or "", data[row].id))
        keys = {
            normalize_tokens(p.options[p.answer])
            for p in map(data.__getitem__, rows)
            if p.answer is not None
        }
        for row in rows if len(keys) > 1 else rows[1:]:
            if len(keys) > 1:
                other = next(one for one in rows if one != row)
                reason = ("contradiction", f"the same as {data[other].id}, with different keys")
            else:
                reason = ("copy", f"a copy of {data[rows[0]].id}")
            removals[row] = reason
    return removals


def _make_identity_text(problem: Problem) -> str:
    """Make a text that identifies an item regardless of its id, row and order of options."""
    return "\n".join(
        (problem.twin_id or normalize_tokens(problem.sentence), *sorted(problem.options))
    )


def _hash_parts(*parts: object) -> int:
    text = "\n".join(map(str, parts)).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big")


def draw_order(problem: Problem, seed: int) -> list[int]:
    """Draw an order of an item's options that depends only on its text and the seed."""
    identity = _make_identity_text(problem)
    drawn = [_hash_parts("order", seed, identity, option) for option in problem.options]
    return sorted(range(len(drawn)), key=drawn.__getitem__)


def _draw_numbers(items: Items, seed: int) -> Floats:
    """For each unit, draw a number in [0, 1) that depends only on the unit's text and the seed."""
    leads = (_make_identity_text(items.problems[lead]) for lead in items.unit_starts)
    return np.array([(_hash_parts("lot", seed, identity) >> 11) / 2**53 for identity in leads])


def _compare_cues(before: Items, after: Items, cues: Sequence[Cue]) -> tuple[CueChange, ...]:
    def measure_accuracies(items: Items) -> dict[str, float]:
        own = items.find_correct_options(items.unit_key)
        read = items.select_readable_cues(cues)
        picked = items.count_ties(read)
        selects = (picked == 0).any(axis=0)  # other cues make no difference between any options
        return {
            cue.name: float(TIE_SHARES[picked[own, at]].mean())
            for at, cue in enumerate(read)
            if selects[at]
        }

    old, new = measure_accuracies(before), measure_accuracies(after)
    found = [CueChange(name, old[name], new[name]) for name in old if name in new]
    return tuple(sorted(found, key=lambda one: -abs(one.before - before.chance)))
