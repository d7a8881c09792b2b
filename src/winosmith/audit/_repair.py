"""Repair a data set: remove items until no cue predicts the answers, and measure the result.

Copies and identical items with different keys are removed first, then the items whose keys models
doubt most (`_wrong_keys`). The options are shuffled if their order has no meaning. Then each unit
gets a probability of staying, learnt from a set of blocks (`Thinning.learn`):

- a conditional logit of the flagged cues, and of a word model if it is significant, gives each
  option a *posterior*: the probability that it is the key, without reading;
- a unit stays with the probability σ(4 − λ·d). For each cue, d contains the selection of the key
  minus the mean over the options; two more entries are for the logarithm of the posterior, and for
  the option with the highest posterior. λ solves Σ σ(4 − λ·d) d = 0: the accuracy of each entry on
  the remaining items is chance. (The mirror filter's objective "chance" holds only for the option
  with the highest posterior: another option may be correct too often, so that the shortest option
  takes the role of the longest.)

No unit is removed with certainty, or because it is beyond a threshold: after a cut, the cue would
be incorrect too often, which is a cue again.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import Field

from winosmith.answers import Answers
from winosmith.audit import _items, _wrong_keys as wrong_keys
from winosmith.audit._audit import FOREIGN, AuditSettings, has_enough_blocks
from winosmith.audit._battery import LEVEL, score_cues
from winosmith.audit._cues import CUES, Cue
from winosmith.audit._items import Bools, Floats, Ints, Items, Step
from winosmith.audit._probes import cross_fit_scores, extract_features, fit_probe
from winosmith.audit._proof import WORDS, Proof, bound_accuracies, require_enough_blocks
from winosmith.audit._review import find_shared_items
from winosmith.blocks import copies, normalize_tokens
from winosmith.dataset import Dataset, Dropped, Filtered
from winosmith.debias import Logit
from winosmith.errors import DataError
from winosmith.options import Fraction, declaration
from winosmith.parallel import use_one_thread
from winosmith.problem import Problem
from winosmith.recast import find_reference, reorder
from winosmith.report import percent
from winosmith.results import HIDDEN, Result, computed

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

_STAYS = 4.0
"""A unit with d = 0 is kept with probability σ(4) = 0.98."""

_FLAGGED, _OTHERS = 0.01, 1.0
"""Factors of the penalty λ² / 2: for flagged cues and the posterior, and for all other cues, whose
deviations in a small data set are mostly random."""

SET_ASIDE = "set aside"
"""Stage that removes items whose keys models doubt, and the other halves of their twins."""

_REPAIRED = ""
"""Name of the repaired split in a mapping with later splits."""


@dataclass(frozen=True, slots=True)
class CueChange:
    """The accuracy of a cue before a repair and on the kept items.

    Attributes:
        rule: name of the cue.
        before, after: accuracy of the cue, 0–1.
    """

    rule: str
    before: float
    after: float


@declaration
class RepairSettings(AuditSettings):
    """Settings of a repair."""

    set_aside: Annotated[int, Field(ge=0, le=10_000)] | None = None
    """Number of items to set aside in each file because models doubt their keys; 0 for none;
    by default all for which models agree strongly on another option, but at most 2 %."""
    least_kept: Fraction = 0.2
    """Minimum fraction of items that a repair must keep; otherwise it is refused. The rate of wrong
    keys can rise by a factor of up to 1 / (the fraction kept)."""


@dataclass(frozen=True)
class RepairPlan:
    """The inputs of a repair, except the items.

    Attributes:
        answers: answers of models, by the items' ids. With answers, items whose keys models doubt
            are set aside before cues are learnt, because thinning keeps wrong keys more often than
            sound keys. This biases the accuracy of these models, and of their relatives, upwards.
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
        """Make a plan from the arguments of `repair`, and validate them."""
        return cls(answers, cues, RepairSettings(**settings), frozenset(checked))

    @property
    def parameters(self) -> dict[str, Any]:
        """All inputs except the answers, as JSON values."""
        checked = {"checked": sorted(self.checked)} if self.checked else {}
        return {**asdict(self.settings), "cues": [cue.name for cue in self.cues], **checked}

    def require_known_ids(self, splits: Iterable[Dataset]) -> None:
        """Raise `DataError` if there are answers, but none to an item in the splits."""
        answers = self.answers
        if answers is not None and not any(
            wrong_keys.select_answers(answers, one) for one in splits
        ):
            raise DataError(FOREIGN)


@dataclass(frozen=True)
class Repair(Result):
    """A repaired data set.

    Attributes:
        dataset: the kept items with shuffled options, in the order of the input.
        filtered: the kept items in their original form, and the removed items with reasons.
        set_aside: items whose keys models doubt, with shuffled options, in the order of the input.
        orders: the old position of each option, by id of the items whose options were reordered.
        fixed: number of kept items whose options keep their order, because it has a meaning.
        cues: the cues by which items were thinned, in the order in which they were flagged.
        words: whether items were also thinned by a word model.
        changed: accuracy of every cue before and after the repair.
        chance: accuracy of random guessing before and after the repair, 0–1.
        proof: the evidence from held-out blocks.
        doubts: the items set aside, and their effect on the accuracy of models; None without
            models' answers.
        concentration: the effect of thinning on wrong keys; None if nothing was thinned.
        parameters: all inputs, except the items.
        tried: number of known repairs of these items, including this one.
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
    fixed: int = field(metadata={"key": "orders_fixed"})
    cues: tuple[str, ...] = field(metadata=HIDDEN)
    words: bool = field(metadata=HIDDEN)
    changed: tuple[CueChange, ...] = field(metadata={"key": "cues"})
    chance: tuple[float, float] = field(
        metadata={"json": lambda both: dict(zip(("before", "after"), both, strict=True))}
    )
    proof: Proof
    doubts: wrong_keys.DoubtedKeys | None = field(metadata={"key": "set_aside"})
    concentration: wrong_keys.Concentration | None = field(metadata={"key": "wrong_keys"})
    parameters: Mapping[str, Any]
    tried: int = 1

    @property
    @computed()
    def digest(self) -> str:
        """Digest of the kept items."""
        return self.dataset.digest

    @property
    @computed()
    def thinned_by(self) -> tuple[str, ...]:
        """Names of the rules by which items were thinned: cues, and `WORDS`."""
        return *self.cues, *([WORDS] if self.words else [])

    @property
    @computed(key="orders_dealt")
    def reordered(self) -> int:
        """Number of kept items with a new order of options."""
        return len(self.orders.keys() & {*self.dataset.ids})


@dataclass(frozen=True)
class LearntRules:
    """Rules learnt from some blocks, and the resulting probabilities of all units.

    Attributes:
        cues: names of the flagged cues.
        places: whether a position cue is flagged.
        words: whether the word model is significant.
        posterior: (units,) posterior of each key, 0–1.
        stays: (units,) probability that the unit stays, 0–1.
        stays_at: (units, most options) probability that the unit would stay if its key were at the
            position; 0 beyond the options. None if the rules were read from a file.
    """

    cues: tuple[str, ...]
    places: bool
    words: bool
    posterior: Floats
    stays: Floats
    stays_at: Floats | None = None


Memo = Callable[[str, Callable[[], LearntRules]], LearntRules]
"""A function that returns the rules stored under a name, or learns and stores them."""


def repair(
    data: Dataset,
    *,
    later: Mapping[str, Dataset] | None = None,
    step: Step = lambda _: None,
    memo: Memo = lambda _, made: made(),
    **settings: Any,
) -> Repair:
    """Remove items until no cue predicts the answers, and measure the result on held-out blocks.

    Whether an item is kept depends on its text, but not on its id or row, nor on the order of its
    options unless this order has a meaning. Repairing a repaired data set invalidates the evidence.

    Args:
        data: the items. Items without a key are removed.
        later: other splits, by name; their items, and near-duplicates of these, are removed from
            `data`. Models are compared on the last split, the test set, so it keeps its items.
        step: called with a description of the next step.
        memo: stores the learnt rules, so that an interrupted repair can resume.
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
    plan = RepairPlan.from_settings(**settings)
    plan.require_known_ids([data])
    return thin(PreparedSet.from_dataset(data, later or {}, plan), step, memo)


@dataclass(frozen=True)
class PreparedSet:
    """A data set that is prepared for thinning: without copies, and with shuffled options.

    Attributes:
        data: the original data set.
        gone: the stage and reason of each removed item, by row.
        aside: the items set aside, with shuffled options, by row.
        dealt: the remaining items, with shuffled options, by row.
        fixed: rows of items whose options keep their order, because it has a meaning.
        items: the items of `dealt`.
        answers: answers of the models that answered any item.
        doubts: the items set aside; None if there are no answers.
        plan: the inputs of the repair.
    """

    data: Dataset
    gone: Mapping[int, tuple[str, str]]
    aside: Mapping[int, Problem]
    dealt: Mapping[int, Problem]
    fixed: frozenset[int]
    items: Items
    answers: Mapping[str, Answers]
    doubts: wrong_keys.DoubtedKeys | None
    plan: RepairPlan

    @classmethod
    def from_dataset(
        cls, data: Dataset, later: Mapping[str, Dataset], plan: RepairPlan
    ) -> PreparedSet:
        """Remove copies and doubted items from a data set, and shuffle options; see `repair`.

        Raises:
            DataError: too few blocks are left, or `set_aside` is given without answers.
        """
        answers, number, seed = plan.answers, plan.settings.set_aside, plan.settings.seed
        if number and answers is None:
            raise DataError(f"{number} items can't be set aside without models' answers")
        gone = _find_in_later_splits(data, later)
        if gone and len(gone) == len(data):
            raise DataError(f"nothing is left to repair: for example, {data[0].id} is {gone[0][1]}")
        gone |= _find_unusable_rows(data, gone)
        rows = [row for row in range(len(data)) if row not in gone]
        free = {
            row: not (is_class or find_reference(data[row].sentence, data[row].options))
            for row, is_class in zip(rows, _items.detect_classes(data.select(rows)), strict=True)
        }
        dealt = {
            row: reorder(data[row], draw_order(data[row], seed)) if free[row] else data[row]
            for row in rows
        }
        own = wrong_keys.select_answers(answers, data) if answers else {}
        found = None
        if own:
            items = Items.from_dataset(data.select(rows))
            found = wrong_keys.choose_items_to_set_aside(items, own, number, seed, plan.checked)
        reasons = _explain_doubts(data, found, rows) if found else {}
        aside = {row: dealt.pop(row) for row in rows if row in reasons}
        gone |= reasons
        rows = [*dealt]
        items = Items.from_dataset(Dataset(dealt.values(), data.name))
        stages = Counter(stage for stage, _ in gone.values())
        out = ", ".join(f"{stage}: {count:,}" for stage, count in stages.items())
        left = f" ({len(rows):,} remain; {out})" if gone else ""
        require_enough_blocks(items.block_count, f"the {len(data):,} items of {data.name}{left}")
        fixed = frozenset(row for row in rows if not free[row])
        return cls(data, gone, aside, dealt, fixed, items, own, found, plan)


def thin(prepared: PreparedSet, step: Step, memo: Memo) -> Repair:
    """Thin a prepared data set; see `repair`.

    Raises:
        DataError: less than the fraction `least_kept` of the items would be kept.
    """
    data, dealt, items = prepared.data, prepared.dealt, prepared.items
    seed = prepared.plan.settings.seed
    gone, rows = dict(prepared.gone), [*dealt]
    fixed = np.array([row in prepared.fixed for row in rows])[items.rows]
    thinning = Thinning(items, fixed, prepared.plan)

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
            gone[rows[row]] = ("thinned", reason)
    kept = [row for row in rows if row not in gone]
    thinning.require_enough_kept(learnt, len(kept), len(rows))
    step(
        f"repair: {len(kept):,} of {len(rows):,} items will be kept "
        f"({percent(len(kept) / len(rows))})"
    )

    def compute_stays(half: Bools) -> Floats:
        return learn("one half" if half[0] else "the other half", half).stays

    result = Dataset((dealt[row] for row in kept), data.name)
    cues, doubts = prepared.plan.cues, prepared.doubts
    if doubts:
        aside = [problem.id for problem in prepared.aside.values()]
        doubts = replace(
            doubts,
            accuracy=wrong_keys.compare_accuracies(data, prepared.answers, aside, result.ids),
        )
    ordered = {**dealt, **prepared.aside}
    return Repair(
        dataset=result,
        filtered=Filtered(
            data.select(kept),
            tuple(Dropped(data[row], *gone[row], row) for row in sorted(gone)),
        ),
        set_aside=Dataset(prepared.aside.values(), data.name),
        orders={
            data[row].id: tuple(draw_order(data[row], seed))
            for row in sorted([*kept, *prepared.aside])
            if ordered[row].options != data[row].options
        },
        fixed=len(prepared.fixed - gone.keys()),
        cues=learnt.cues,
        words=learnt.words,
        changed=_compare_cues(data, result, cues),
        chance=(Items.from_dataset(data).chance, Items.from_dataset(result).chance),
        proof=bound_accuracies(items, compute_stays, cues, shuffled=~thinning.fixed, seed=seed),
        doubts=doubts,
        concentration=thinning.measure_concentration(learnt, step),
        parameters={"models": [*prepared.answers], **prepared.plan.parameters},
    )


def _explain_doubts(
    data: Dataset, doubts: wrong_keys.DoubtedKeys, rows: Sequence[int]
) -> dict[int, tuple[str, str]]:
    reasons = {}
    for one in doubts.set_aside:
        other, key = one.get_key_texts(data[row := data.row(one.id)])
        reason = (
            f"{one.models} models choose “{other}”, but its key is “{key}” "
            f"(agreement {percent(one.agreement, 0)})"
        )
        reasons[row] = (SET_ASIDE, reason)
    twins = {twin: data[row].id for row in reasons if (twin := data[row].twin_id)}
    for row in rows:
        twin = data[row].twin_id
        if twin in twins and row not in reasons:
            reasons[row] = (SET_ASIDE, f"the other half of {twins[twin]}, whose key models doubt")
    return reasons


def _find_in_later_splits(
    data: Dataset, later: Mapping[str, Dataset]
) -> dict[int, tuple[str, str]]:
    gone: dict[int, tuple[str, str]] = {}
    shared = find_shared_items({_REPAIRED: data, **later}) if later else {}
    for (own, name), pairs in shared.items():
        for one, other in pairs if own == _REPAIRED else ():
            reason = ("in a later split", f"identical or nearly identical to {other} in {name}")
            gone.setdefault(data.row(one), reason)
    twins = {twin: data[row].id for row in gone if (twin := data[row].twin_id)}
    for row, problem in enumerate(data):
        if problem.twin_id in twins and row not in gone:
            half = f"the other half of {twins[problem.twin_id]}, which a later split contains"
            gone[row] = ("in a later split", half)
    return gone


def _find_unusable_rows(
    data: Dataset, removed: Mapping[int, tuple[str, str]]
) -> dict[int, tuple[str, str]]:
    """Map the rows of items without a key, copies and contradictions to a stage and reason."""
    gone = {
        row: ("no key", "it has no key")
        for row, key in enumerate(data.answers)
        if key is None and row not in removed
    }
    for group in copies(data):
        left = (row for row in group if row not in gone and row not in removed)
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
            gone[row] = reason
    return gone


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
    """Draw a number in [0, 1) for each unit that depends only on its text and the seed."""
    leads = (_make_identity_text(items.problems[lead]) for lead in items.unit_firsts)
    return np.array([(_hash_parts("lot", seed, identity) >> 11) / 2**53 for identity in leads])


@dataclass(frozen=True)
class Thinning:
    """The thinning of prepared items.

    Attributes:
        items: the prepared items.
        fixed: (n,) whether the order of an item's options has a meaning.
        plan: the inputs of the repair.
    """

    items: Items
    fixed: Bools
    plan: RepairPlan

    @cached_property
    def cue_scores(self) -> dict[str, Floats]:
        """Scores of each content cue by name, (options,), 0–1."""
        read = self.items.find_readable([cue for cue in self.plan.cues if cue.about == "content"])
        shares = _items.SHARES[self.items.count_ties(read)]
        return {cue.name: shares[:, at] for at, cue in enumerate(read)}

    @cached_property
    def position_scores(self) -> list[Floats]:
        """For each position, whether each option is there in a fixed item, (options,)."""
        if not self.fixed.any():
            return []
        at = np.concatenate([np.arange(count) for count in self.items.counts])
        fixed = np.repeat(self.fixed, self.items.counts)
        return [
            ((at == place) & fixed).astype(float) for place in range(int(self.items.counts.max()))
        ]

    @cached_property
    def word_features(self) -> csr_matrix:
        """Word features of each option, (options, features)."""
        return extract_features(self.items, "options")[1]

    def learn(self, training: Bools) -> LearntRules:
        """Learn the rules from some of the items, in whole blocks."""
        part = self.items if training.all() else self.items.subset(training)
        how = self.plan.settings
        flagged = score_cues(part, self.plan.cues, draws=how.draws, seed=how.seed).flagged
        cues = tuple(found.cue for found in flagged if found.cue in self.cue_scores)
        places = any(found.about == "position" for found in flagged)
        words = False
        if how.probe_draws and has_enough_blocks(part):
            probe = fit_probe(part, "options", draws=how.probe_draws, seed=how.seed)
            words = probe.p <= LEVEL
        return self.fit(training, cues, places, words)

    def fit(self, rows: Bools, cues: tuple[str, ...], positions: bool, words: bool) -> LearntRules:
        """Fit the posterior of the given rules to some of the items, in whole blocks."""
        items = self.items
        columns = [self.cue_scores[cue] for cue in cues]
        if positions:
            columns += self.position_scores
        chance = 1 / items.unit_counts
        if not (columns or words):
            there = np.arange(int(items.unit_counts.max())) < items.unit_counts[:, None]
            return LearntRules(
                (), positions, False, chance, np.ones(len(chance)), there.astype(float)
            )
        with use_one_thread():
            if words:
                columns.append(
                    cross_fit_scores(
                        items, self.word_features, rows.astype(float), self.plan.settings.seed
                    )
                )
            units = rows[items.unit_firsts]
            options = _Units(items)
            log_posterior = options.compute_log_posterior(
                options.compute_mean_scores(columns), units
            )
            balanced = [*self.cue_scores.values(), *self.position_scores]
            top = _items.split_ties(log_posterior, options.starts, items.unit_counts, 1e-9)
            entries = np.column_stack([options.compute_mean_scores(balanced), top, log_posterior])
            is_flagged = [name in cues for name in self.cue_scores]
            is_flagged += [True] * (len(self.position_scores) + 2)
            penalty = np.where(is_flagged, _FLAGGED, _OTHERS)
            stays = _fit_probabilities(
                options.subtract_means(entries), options.keys[units], penalty
            )
        at = np.zeros(options.exists.shape)
        at[options.exists] = stays
        posterior = np.exp(log_posterior[options.keys])
        return LearntRules(cues, positions, words, posterior, stays[options.keys], at)

    def measure_concentration(
        self, rules: LearntRules, step: Step
    ) -> wrong_keys.Concentration | None:
        """Measure the effect of thinning on wrong keys; return None if nothing is thinned."""
        if not (rules.cues or rules.words or (rules.places and self.position_scores)):
            return None
        seed = self.plan.settings.seed
        some = wrong_keys.draw_items(self.items, seed)
        part = self
        if not some.all():
            part = replace(self, items=self.items.subset(some), fixed=self.fixed[some])
        sets, count = wrong_keys.SETS, len(part.items)
        what = f"repair: measuring the effect on wrong keys in {sets} sets of {count:,} items"
        step(what)
        everything = np.ones(count, np.bool_)
        known = {"cue_scores": part.cue_scores, "position_scores": part.position_scores}
        if rules.words:
            known["word_features"] = part.word_features

        def refit(items: Items) -> Floats:
            planted = replace(part, items=items)
            vars(planted).update(known)  # they don't depend on keys
            return planted.fit(everything, rules.cues, rules.places, rules.words).stays

        report_done = _items.make_reporter(step, what, sets, "sets")
        return wrong_keys.measure_concentration(
            part.items, refit, len(self.items), seed, report_done
        )

    def require_enough_kept(self, rules: LearntRules, kept: int, total: int) -> None:
        """Raise `DataError` with a suggestion if too few items would be kept."""
        least = self.plan.settings.least_kept
        if kept and kept > least * total - 1e-6:
            return
        own = self.items.find_correct_options(self.items.unit_key)
        right = {cue: float(self.cue_scores[cue][own].mean()) for cue in rules.cues}
        cue = max(right, key=lambda name: right[name], default=None)
        if cue is None:
            by = "the words of the options reveal nearly every key"
            rewrite = "rewrite incorrect options so that they have the same words as keys"
        else:
            many = round((right[cue] - self.items.chance) * total)
            by = f"“{cue}” is correct for {percent(right[cue])} of the items"
            rewrite = f"rewrite options so that “{cue}” is incorrect for about {many:,} more items"
        lower = int(100 * kept / total) / 100
        accept = f", or accept the loss with `least_kept={lower}`" if lower else ""
        few = f"only {kept:,} of {total:,} items ({percent(kept / total)})" if kept else "no item"
        raise DataError(
            f"{few} would be kept, but at least {percent(least, 0)} must be: {by}. Instead of "
            f"removing items, {rewrite}{accept}"
        )


class _Units:
    """Units with a row for each possible position of their key.

    Attributes:
        exists: (units, most options) whether a position exists.
        starts: (units,) the first row of each unit.
        keys: (units,) the row of each unit's key.
    """

    def __init__(self, items: Items):
        self._items, counts = items, items.unit_counts
        self.exists = np.arange(int(counts.max())) < counts[:, None]
        self.starts = np.cumsum(counts) - counts
        self.keys = self.starts + items.unit_key

    def compute_mean_scores(self, columns: Sequence[Floats]) -> Floats:
        """Return the mean score of a unit's items for each position of the key, (rows, columns)."""
        sizes = np.bincount(self._items.unit)[:, None, None]
        scores = self._items.compute_unit_scores(np.column_stack(columns))
        return np.asarray((scores / sizes)[self.exists])

    def compute_log_posterior(self, rows: Floats, training: Bools) -> Floats:
        """Return each row's log probability under a conditional logit of the training units."""
        counts = self._items.unit_counts
        turns = np.zeros((len(rows), 1), np.float32)
        turns[self.keys] = 1
        logit = Logit(rows.astype(np.float32), C=1.0, starts=self.starts)
        z = rows @ logit.fit(training[:, None].astype(np.float32), turns)[:, 0]
        z -= np.repeat(np.maximum.reduceat(z, self.starts), counts)
        total = np.log(np.add.reduceat(np.exp(z), self.starts))
        return np.asarray(z - np.repeat(total, counts))

    def subtract_means(self, rows: Floats) -> Floats:
        """Subtract the mean of a unit's rows from each of its rows, (rows, columns)."""
        counts = self._items.unit_counts
        means = np.add.reduceat(rows, self.starts, axis=0) / counts[:, None]
        return np.asarray(rows - np.repeat(means, counts, axis=0))


def _fit_probabilities(deviations: Floats, training: Ints, penalty: Floats) -> Floats:
    """Fit probabilities of staying, (rows,), so that the weighted training rows sum to 0.

    The probabilities are σ(4 − λ·d), with the λ that minimises the sum of log(1 + e^(4 − λ·d)),
    apart from the penalty: the derivative is −Σ σ d, so the columns of the remaining rows sum to 0.
    """
    from scipy.optimize import minimize
    from scipy.special import expit

    seen = deviations[training]

    def loss(weights: Floats) -> tuple[float, Floats]:
        z = _STAYS - seen @ weights
        value = np.logaddexp(0, z).sum() + penalty @ weights**2 / 2
        return float(value) / len(seen), (penalty * weights - expit(z) @ seen) / len(seen)

    found = minimize(loss, np.zeros(seen.shape[1]), jac=True, method="L-BFGS-B",
                     options={"maxiter": 1000, "gtol": 1e-7, "ftol": 1e-12})  # fmt: skip
    return np.asarray(expit(_STAYS - deviations @ found.x).round(9))


def _compare_cues(data: Dataset, result: Dataset, cues: Sequence[Cue]) -> tuple[CueChange, ...]:
    right = []
    for items in (Items.from_dataset(data), Items.from_dataset(result)):
        own = items.find_correct_options(items.unit_key)
        read = items.find_readable(cues)
        picked = items.count_ties(read)
        selects = (picked == 0).any(axis=0)  # other cues make no difference between any options
        right.append({cue.name: float(_items.SHARES[ties].mean())
                      for cue, ties, any_one in zip(read, picked[own].T, selects, strict=True)
                      if any_one})  # fmt: skip
    before, after = right
    chance = Items.from_dataset(data).chance
    found = [CueChange(name, before[name], after[name]) for name in before if name in after]
    return tuple(sorted(found, key=lambda one: -abs(one.before - chance)))
