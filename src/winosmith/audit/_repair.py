"""The repair of a set: thinned until nothing tells without reading, and proved on unseen blocks.

Copies go first, and identical items with different keys; then the items whose keys models doubt
most (`_wrong_keys`). The order of options is dealt again if it is free. Then each unit gets a
probability to stay, from what a set of blocks teaches (`Thinning.learn`):

- a conditional logit over the cues that are named there, and over a model of words where that
  tells, gives each option a *posterior*: how likely it is to be the key for one who can't read;
- a unit stays with the probability σ(4 − λ·d). d says by how much the key is what each cue picks,
  beyond what any option is on average; two more entries are the posterior's logarithm and the
  option where it is highest. λ solves Σ σ(4 − λ·d) d = 0: along each of these, what stays is right
  as often as guessing. (The mirror filter's aim "chance" holds for the highest option alone: of the
  others one may be right too often, and then the shortest is what the longest was.)

So no unit goes for certain, and none beyond a threshold: a cut leaves a set in which the cue is
wrong too often, which is a cue again.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from winosmith.answers import Answers
from winosmith.audit._audit import learnable
from winosmith.audit._battery import LEVEL, battery
from winosmith.audit._cues import CUES, Cue, in_order
from winosmith.audit._items import SHARES, Bools, Floats, Ints, Items, in_classes, key_text
from winosmith.audit._pace import Step, paced
from winosmith.audit._probes import features, guessed, probe
from winosmith.audit._proof import LIMIT, WORDS, Proof, prove, refuse_few
from winosmith.audit._review import across
from winosmith.audit._wrong_keys import (
    SETS,
    Accuracy,
    Concentration,
    Doubts,
    accuracies,
    answered,
    concentration,
    doubts,
    sampled,
)
from winosmith.blocks import copies, plain
from winosmith.dataset import Dataset, Dropped, Filtered
from winosmith.debias import Logit
from winosmith.errors import DataError
from winosmith.parallel import one_thread
from winosmith.problem import Problem
from winosmith.report import percent

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

_STAYS = 4.0
"""A unit that nothing speaks for or against stays with the probability σ(4) = 0.98."""

_NAMED, _OTHERS = 0.01, 1.0
"""The penalty of λ, times half its square: along cues that are named and the posterior, and along
all others. Those are so little off that in a small set most of it is chance."""

LEAST_KEPT = 0.2
"""A repair that would keep a smaller fraction of the items is refused by default. The rate of wrong
keys can rise to 1 / (the fraction kept): to five times here. With four options it is reached if one
cue picks the key of 85 % of the items; the rest are exceptions to how the set was written."""

SET_ASIDE = "set aside"
"""The stage of items whose keys models doubt, and of the other halves of their twins."""

_THIS = ""
"""The name of what is repaired, among later splits."""


@dataclass(frozen=True, slots=True)
class Changed:
    """What a fixed rule gets right of the set as it came, and of what is kept.

    Attributes:
        rule: the cue's name.
        before, after: the shares, 0–1.
    """

    rule: str
    before: float
    after: float


@dataclass(frozen=True)
class RepairSettings:
    """The settings of a repair.

    Attributes:
        answers: of models, by the items' ids. With them, items whose keys models doubt are set
            aside before cues are learnt, since thinning keeps wrong keys more often than others.
            This biases the accuracy of these models, and of their relatives, upwards.
        set_aside: number of items to set aside, those with the greatest agreement on another
            option; None for those with a strong agreement, at most 2 % (see `Doubts`).
        least_kept: the least fraction of the items that thinning may keep, 0–1; see `LEAST_KEPT`.
        cues: as for `audit`.
        draws: of the null by which cues are named.
        probe_draws: of the null of the model of words; 0 leaves it out.
        seed: of draws, orders and lots.
    """

    answers: Mapping[str, Answers] | None = field(default=None, repr=False)
    set_aside: int | None = None
    least_kept: float = LEAST_KEPT
    cues: Sequence[Cue] = CUES
    draws: int = 1000
    probe_draws: int = 200
    seed: int = 0

    @property
    def parameters(self) -> dict[str, Any]:
        """All but the answers, as JSON can hold it."""
        held = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "answers"}
        return {**held, "cues": [cue.name for cue in self.cues]}

    def refuse_foreign(self, splits: Iterable[Dataset]) -> None:
        """Raise DataError if there are answers and none is for an item of these splits."""
        if self.answers is not None and not any(answered(self.answers, one) for one in splits):
            raise DataError("compared by their ids, no answer is of an item; another data set?")


@dataclass(frozen=True)
class Repair:
    """A set, repaired.

    Attributes:
        dataset: what is kept, with the order of options dealt again; in the order that it came in.
        filtered: what is kept, as it came, and what is omitted and why; together the input.
        set_aside: items whose keys models doubt, as they would be kept, in the order of the input.
        orders: by id, for items kept or set aside whose order changed, the old place of each
            option.
        fixed: how many of the kept have options whose order means something, and stays.
        cues: those that the items were thinned by, in the order in which they were named.
        words: whether they were thinned by a model of words, too.
        changed: every cue, before and after.
        chance: what guessing gets right, before and after.
        proof: from blocks that the repair did not see.
        doubts: how the items set aside were chosen; None without models' answers.
        accuracy: of each model, by name, before and after.
        concentration: the effect of thinning on wrong keys; None if nothing was thinned.
        parameters: what it depends on next to the items.
        tried: how many repairs of these items are known, this one among them.
    """

    dataset: Dataset
    filtered: Filtered
    set_aside: Dataset
    orders: Mapping[str, tuple[int, ...]]
    fixed: int
    cues: tuple[str, ...]
    words: bool
    changed: tuple[Changed, ...]
    chance: tuple[float, float]
    proof: Proof
    doubts: Doubts | None
    accuracy: Mapping[str, Accuracy]
    concentration: Concentration | None
    parameters: Mapping[str, Any]
    tried: int = 1

    def record(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {
            "kept": len(self.dataset),
            "dropped": dict(Counter(entry.stage for entry in self.filtered.dropped)),
            "digest": self.dataset.digest,
            "thinned_by": [*self.cues, *([WORDS] if self.words else [])],
            "orders_dealt": self.moved,
            "orders_fixed": self.fixed,
            "chance": {"before": self.chance[0], "after": self.chance[1]},
            "cues": [asdict(one) for one in self.changed],
            "proof": {
                "shown": self.proof.shown,
                "limit": LIMIT,
                "items": self.proof.items,
                "bounds": [asdict(bound) for bound in self.proof.bounds],
            },
            "set_aside": self.doubts
            and {
                "items": [asdict(one) for one in self.doubts.set_aside],
                "as_strong": self.doubts.as_strong,
                "threshold": self.doubts.threshold,
                "accuracy": {name: asdict(one) for name, one in self.accuracy.items()},
            },
            "wrong_keys": self.concentration and asdict(self.concentration),
            "parameters": dict(self.parameters),
            "tried": self.tried,
        }

    @property
    def moved(self) -> int:
        """How many of the kept items have another order of options than before."""
        return len(self.orders.keys() & {*self.dataset.ids})


@dataclass(frozen=True)
class Learnt:
    """What some blocks teach, and what becomes of all units by it.

    Attributes:
        cues: those that are named.
        places: whether a position is named.
        words: whether a model of words tells.
        posterior: (units,) of each key.
        stays: (units,) the probability to stay.
        stays_at: (units, most options) the same if the key stood at each place; 0 beyond the
            options. None if it was learnt before.
    """

    cues: tuple[str, ...]
    places: bool
    words: bool
    posterior: Floats
    stays: Floats
    stays_at: Floats | None = None


Memo = Callable[[str, Callable[[], Learnt]], Learnt]
"""Returns what has a name, or else makes it and keeps it."""


def repair(
    data: Dataset,
    *,
    later: Mapping[str, Dataset] | None = None,
    step: Step = lambda _: None,
    memo: Memo = lambda _, made: made(),
    **settings: Any,
) -> Repair:
    """Thin a set by what gives its answers away, and prove that on blocks it did not see.

    What becomes of an item depends on its text, not on its id or its row; the order of options does
    not matter where it is free. Repairing a repaired set voids the proof.

    Args:
        data: the items. Those without a key are omitted.
        later: further splits, by name; what they hold of the items, copies or nearly so, is left
            out here. Models are compared on the last split, the test set, so that keeps its items.
        step: is called with what is done next.
        memo: keeps what was learnt, so that an interrupt does not cost it.
        settings: `answers`, `set_aside`, `least_kept`, `cues`, `draws`, `probe_draws` and `seed`,
            the attributes of `RepairSettings`.

    Raises:
        DataError: there are too few blocks, fewer than `least_kept` of the items would be kept, or
            there are no models' answers to set items aside by.

    >>> from winosmith import Problem
    >>> rows = np.random.default_rng(0).random((400, 2))
    >>> data = Dataset(Problem(f"{at}", f"Which of {at}?", (f"a{at}", f"b{at}, as is said"),
    ...                int(rare < 0.8), blank=None) for at, (rare, _) in enumerate(rows))
    >>> found = repair(data, draws=99, probe_draws=0)
    >>> found.cues[0], found.filtered.input() == data, len(found.dataset) < 300
    ('the longest, in characters', True, True)
    """
    how = RepairSettings(**settings)
    how.refuse_foreign([data])
    return thinned(Cleared.of(data, later or {}, how), step, memo)


@dataclass(frozen=True)
class Cleared:
    """A set of which nothing has been learnt yet: copies are out, the order of options is dealt.

    Attributes:
        data: the set as it came.
        gone: by row, in which stage an item went, and why.
        aside: by row, items set aside, with their options in the order that was dealt.
        dealt: by row, all other items, in the same way.
        fixed: the rows of those whose order means something, and stays.
        items: the others.
        answers: of the models that answered any of the set.
        doubts: how the items set aside were chosen; None without answers.
        settings: of the repair.
    """

    data: Dataset
    gone: Mapping[int, tuple[str, str]]
    aside: Mapping[int, Problem]
    dealt: Mapping[int, Problem]
    fixed: frozenset[int]
    items: Items
    answers: Mapping[str, Answers]
    doubts: Doubts | None
    settings: RepairSettings

    @classmethod
    def of(cls, data: Dataset, later: Mapping[str, Dataset], settings: RepairSettings) -> Cleared:
        """Clear a set; see `repair`.

        Raises:
            DataError: too few blocks are left to learn from, or there are no answers to set items
                aside by.
        """
        answers, number, seed = settings.answers, settings.set_aside, settings.seed
        if number and answers is None:
            raise DataError(f"there are no models' answers to set {number} items aside by")
        gone = _elsewhere(data, later)
        if gone and len(gone) == len(data):
            raise DataError(f"nothing is left to repair: {data[0].id} is {gone[0][1]}, and so on")
        gone |= _repeated(data, gone)
        rows = [row for row in range(len(data)) if row not in gone]
        free = {
            row: not (is_class or in_order(data[row].sentence, data[row].options))
            for row, is_class in zip(rows, in_classes(data.select(rows)), strict=True)
        }
        dealt = {row: _dealt(data[row], seed) if free[row] else data[row] for row in rows}
        own = answered(answers, data) if answers else {}
        found = doubts(Items.of(data.select(rows)), own, number, seed) if own else None
        reasons = _doubted(data, found, rows) if found else {}
        aside = {row: dealt.pop(row) for row in rows if row in reasons}
        gone |= reasons
        rows = [*dealt]
        items = Items.of(Dataset(dealt.values(), data.name))
        stages = Counter(stage for stage, _ in gone.values())
        out = ", ".join(f"{stage}: {count:,}" for stage, count in stages.items())
        left = f" in the {len(rows):,} items that are left of {len(data):,} ({out})" if gone else ""
        refuse_few(items.blocks, left)
        fixed = frozenset(row for row in rows if not free[row])
        return cls(data, gone, aside, dealt, fixed, items, own, found, settings)


def thinned(cleared: Cleared, step: Step, memo: Memo) -> Repair:
    """Thin what was cleared; see `repair`.

    Raises:
        DataError: fewer than `least_kept` of the items would be kept.
    """
    data, dealt, items, settings = cleared.data, cleared.dealt, cleared.items, cleared.settings
    gone, rows = dict(cleared.gone), [*dealt]
    fixed = np.array([row in cleared.fixed for row in rows])[items.rows]
    thinning = Thinning(items, fixed, settings)

    def taught(by: str, rows: Bools) -> Learnt:
        def made() -> Learnt:
            step(f"repair: what {by} of the items teach")
            return thinning.learn(rows)

        return memo(by.replace(" ", "-"), made)

    learnt = taught("all", np.ones(len(items), np.bool_))
    leaves = _lots(items, settings.seed) >= learnt.stays
    for unit in np.flatnonzero(leaves).tolist():
        reason = (
            f"thinned: who does not read gives its key {percent(learnt.posterior[unit], 0)}, where "
            f"{percent(1 / items.unit_counts[unit], 0)} is guessing; it was to stay with a "
            f"probability of {percent(learnt.stays[unit], 0)}"
        )
        for row in items.rows[items.unit == unit].tolist():
            gone[rows[row]] = ("thinned", reason)
    kept = [row for row in rows if row not in gone]
    thinning.refuse_little(learnt, len(kept), len(rows))
    step(
        f"repair: {len(kept):,} of {len(rows):,} items will be kept "
        f"({percent(len(kept) / len(rows))})"
    )

    def thin(half: Bools) -> Floats:
        return taught("one half" if half[0] else "the other half", half).stays

    result = Dataset((dealt[row] for row in kept), data.name)
    proof = prove(items, thin, settings.cues, dealt=~thinning.fixed, seed=settings.seed)
    ordered = {**dealt, **cleared.aside}
    return Repair(
        dataset=result,
        filtered=Filtered(
            data.select(kept),
            tuple(Dropped(data[row], *gone[row], row) for row in sorted(gone)),
        ),
        set_aside=Dataset(cleared.aside.values(), data.name),
        orders={
            data[row].id: tuple(map(data[row].options.index, ordered[row].options))
            for row in sorted([*kept, *cleared.aside])
            if ordered[row].options != data[row].options
        },
        fixed=len(cleared.fixed - gone.keys()),
        cues=learnt.cues,
        words=learnt.words,
        changed=_changed(data, result, settings.cues),
        chance=(Items.of(data).chance, Items.of(result).chance),
        proof=proof,
        doubts=cleared.doubts,
        accuracy=accuracies(data, cleared.answers, [p.id for p in cleared.aside.values()],
                            result.ids),
        concentration=thinning.concentration(learnt, step),
        parameters={"models": [*cleared.answers], **settings.parameters},
    )  # fmt: skip


def _doubted(data: Dataset, found: Doubts, rows: Sequence[int]) -> dict[int, tuple[str, str]]:
    """Return why items are set aside, by row: suspects, and the other halves of their twins."""
    reasons = {}
    for one in found.set_aside:
        problem = data[row := data.row(one.id)]
        reason = (
            f"{one.models} models choose “{problem.options[one.other]}”, its key is "
            f"“{key_text(problem)}” (agreement {percent(one.agreement, 0)})"
        )
        reasons[row] = (SET_ASIDE, reason)
    twins = {twin: data[row].id for row in reasons if (twin := data[row].twin_id)}
    for row in rows:
        twin = data[row].twin_id
        if twin in twins and row not in reasons:
            reasons[row] = (SET_ASIDE, f"the other half of {twins[twin]}, whose key models doubt")
    return reasons


def _elsewhere(data: Dataset, later: Mapping[str, Dataset]) -> dict[int, tuple[str, str]]:
    """Return the rows that later splits hold, with the other half of each twin."""
    gone: dict[int, tuple[str, str]] = {}
    for (own, name), pairs in across({_THIS: data, **later}).items() if later else ():
        for one, other in pairs if own == _THIS else ():
            told = ("in a later split", f"the same as {other} in {name}, or nearly so")
            gone.setdefault(data.row(one), told)
    twins = {twin: data[row].id for row in gone if (twin := data[row].twin_id)}
    for row, problem in enumerate(data):
        if problem.twin_id in twins and row not in gone:
            half = f"the other half of {twins[problem.twin_id]}, which a later split has"
            gone[row] = ("in a later split", half)
    return gone


def _repeated(data: Dataset, already: Mapping[int, tuple[str, str]]) -> dict[int, tuple[str, str]]:
    """Return the rows that go before anything is learnt: without a key, copies, contradictions.

    Those that have gone already are no copies of others.
    """
    gone = {
        row: ("no key", "it has no key")
        for row, key in enumerate(data.answers)
        if key is None and row not in already
    }
    for group in copies(data):
        left = (row for row in group if row not in gone and row not in already)
        # The first of some copies is found so that halves of one twin stay together.
        rows = sorted(left, key=lambda row: (data[row].twin_id or "", data[row].id))
        keys = {
            plain(p.options[p.answer]) for p in map(data.__getitem__, rows) if p.answer is not None
        }
        for row in rows if len(keys) > 1 else rows[1:]:
            if len(keys) > 1:
                other = next(one for one in rows if one != row)
                reason = ("contradiction", f"the same as {data[other].id}, with different keys")
            else:
                reason = ("copy", f"a copy of {data[rows[0]].id}")
            gone[row] = reason
    return gone


def _told(problem: Problem) -> str:
    """Return what tells an item apart, whatever its id, its row and the order of its options."""
    return "\n".join((problem.twin_id or plain(problem.sentence), *sorted(problem.options)))


def _number(*parts: object) -> int:
    told = "\n".join(map(str, parts)).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(told, digest_size=8).digest(), "big")


def _dealt(problem: Problem, seed: int) -> Problem:
    """Return an item with its options in an order that its text and the seed decide."""
    order = order_of(problem, seed)
    key = None if problem.answer is None else order.index(problem.answer)
    return replace(problem, options=tuple(problem.options[at] for at in order), answer=key)


def order_of(problem: Problem, seed: int) -> list[int]:
    """Return the options of an item in an order that its text and the seed decide, by number."""
    told = _told(problem)
    drawn = [_number("order", seed, told, option) for option in problem.options]
    return sorted(range(len(drawn)), key=drawn.__getitem__)


def _lots(items: Items, seed: int) -> Floats:
    """Return a number in [0, 1) for each unit, (units,), that its text and the seed decide."""
    leads = (_told(items.problems[lead]) for lead in items.leads)
    return np.array([(_number("lot", seed, told) >> 11) / 2**53 for told in leads])


@dataclass(frozen=True)
class Thinning:
    """Items, and how they are thinned.

    Attributes:
        items: copies omitted, orders dealt.
        fixed: (n,) whose order of options means something.
        settings: of the repair.
    """

    items: Items
    fixed: Bools
    settings: RepairSettings

    @cached_property
    def of_cues(self) -> dict[str, Floats]:
        """What each cue of content picks, by name, (options,)."""
        read = self.items.readable([cue for cue in self.settings.cues if cue.about == "content"])
        shares = SHARES[self.items.picked(read)]
        return {cue.name: shares[:, at] for at, cue in enumerate(read)}

    @cached_property
    def of_places(self) -> list[Floats]:
        """For each place, 1 for options that stand there where the order is fixed, (options,)."""
        if not self.fixed.any():
            return []
        at = np.concatenate([np.arange(count) for count in self.items.counts])
        fixed = np.repeat(self.fixed, self.items.counts)
        return [
            ((at == place) & fixed).astype(float) for place in range(int(self.items.counts.max()))
        ]

    @cached_property
    def of_words(self) -> csr_matrix:
        """The words of each option, (options, features)."""
        return features(self.items, "options")[1]

    def learn(self, learnt: Bools) -> Learnt:
        """Return what some of the items, in whole blocks, teach of all."""
        part = self.items if learnt.all() else self.items.part(learnt)
        how = self.settings
        named = battery(part, how.cues, draws=how.draws, seed=how.seed).named
        cues = tuple(found.cue for found in named if found.cue in self.of_cues)
        places = any(found.about == "position" for found in named)
        words = how.probe_draws > 0 and learnable(part)
        words = words and probe(part, "options", draws=how.probe_draws, seed=how.seed).p <= LEVEL
        return self.fit(learnt, cues, places, bool(words))

    def fit(self, learnt: Bools, cues: tuple[str, ...], places: bool, words: bool) -> Learnt:
        """Return what some of the items, in whole blocks, teach of all by the cues given."""
        items = self.items
        columns = [self.of_cues[cue] for cue in cues]
        if places:
            columns += self.of_places
        chance = 1 / items.unit_counts
        if not (columns or words):
            there = np.arange(int(items.unit_counts.max())) < items.unit_counts[:, None]
            return Learnt((), places, False, chance, np.ones(len(chance)), there.astype(float))
        with one_thread():
            if words:
                columns.append(
                    guessed(items, self.of_words, learnt.astype(float), self.settings.seed)
                )
            units = learnt[items.leads]
            options = _Units.of(items)
            log_posterior = options.log_posterior(options.means(np.column_stack(columns)), units)
            balanced = [*self.of_cues.values(), *self.of_places]
            told = np.column_stack(
                [
                    options.means(np.column_stack(balanced)),
                    options.highest(log_posterior),
                    log_posterior,
                ]
            )
            named_ones = [name in cues for name in self.of_cues] + [True] * len(self.of_places)
            penalty = np.where([*named_ones, True, True], _NAMED, _OTHERS)
            stays = _balanced(options.beyond(told), options.keys[units], penalty)
        at = np.zeros(options.there.shape)
        at[options.there] = stays
        posterior = np.exp(log_posterior[options.keys])
        return Learnt(cues, places, words, posterior, stays[options.keys], at)

    def concentration(self, learnt: Learnt, step: Step) -> Concentration | None:
        """Return what thinning by the cues that were found does to wrong keys; None if nothing."""
        if not (learnt.cues or learnt.words or (learnt.places and self.of_places)):
            return None
        some = sampled(self.items, self.settings.seed)
        part = self
        if not some.all():
            part = replace(self, items=self.items.part(some), fixed=self.fixed[some])
        what = f"repair: the effect on wrong keys, in {SETS} sets of {len(part.items):,} items"
        step(what)
        everything = np.ones(len(part.items), np.bool_)
        known = {"of_cues": part.of_cues, "of_places": part.of_places}
        if learnt.words:
            known["of_words"] = part.of_words

        def refit(items: Items) -> Floats:
            planted = replace(part, items=items)
            vars(planted).update(known)  # keys have no part in them
            return planted.fit(everything, learnt.cues, learnt.places, learnt.words).stays

        tell = paced(step, what, SETS, "sets")
        return concentration(part.items, refit, len(self.items), self.settings.seed, tell)

    def refuse_little(self, learnt: Learnt, kept: int, of: int) -> None:
        """Raise DataError if too few items would be kept, with what to do instead."""
        least = self.settings.least_kept
        if kept and kept > least * of - 1e-6:
            return
        own = self.items.keyed(self.items.unit_key)
        right = {cue: float(self.of_cues[cue][own].mean()) for cue in learnt.cues}
        cue = max(right, key=lambda name: right[name], default=None)
        if cue is None:
            by = "the words of the options reveal nearly every key"
            rewrite = "rewrite options so that keys and others have the same words"
        else:
            many = round((right[cue] - self.items.chance) * of)
            by = f"“{cue}” picks the key of {percent(right[cue])} of the items"
            rewrite = f"rewrite options so that “{cue}” picks another one in about {many:,} items"
        lower = int(100 * kept / of) / 100
        accept = f"; or accept so few with `least_kept={lower}`" if lower else ""
        few = f"only {kept:,} of {of:,} items ({percent(kept / of)})" if kept else "no item"
        raise DataError(
            f"{few} would be kept, and at least {percent(least, 0)} must be: {by}. Instead of "
            f"leaving items out, {rewrite}{accept}"
        )


@dataclass(frozen=True)
class _Units:
    """Units with a row for each place at which their key can stand.

    Attributes:
        items: whose units they are.
        there: (units, most options) which places there are.
        starts: (units,) the first row of each.
        keys: (units,) the row of the place at which the key stands.
    """

    items: Items
    there: Bools
    starts: Ints
    keys: Ints

    @classmethod
    def of(cls, items: Items) -> _Units:
        counts = items.unit_counts
        starts = np.cumsum(counts) - counts
        there = np.arange(int(counts.max())) < counts[:, None]
        return cls(items, there, starts, starts + items.unit_key)

    def means(self, columns: Floats) -> Floats:
        """Return what a unit's items earn on average where the key is at each place."""
        sizes = np.bincount(self.items.unit)[:, None, None]
        return np.asarray((self.items.gathered(columns) / sizes)[self.there])

    def log_posterior(self, rows: Floats, learnt: Bools) -> Floats:
        """Return the logarithm of each place's probability by a conditional logit of some units."""
        counts = self.items.unit_counts
        turns = np.zeros((len(rows), 1), np.float32)
        turns[self.keys] = 1
        logit = Logit(rows.astype(np.float32), C=1.0, starts=self.starts)
        z = rows @ logit.fit(learnt[:, None].astype(np.float32), turns)[:, 0]
        z -= np.repeat(np.maximum.reduceat(z, self.starts), counts)
        total = np.log(np.add.reduceat(np.exp(z), self.starts))
        found: Floats = z - np.repeat(total, counts)
        return found

    def highest(self, score: Floats) -> Floats:
        """Return each place's fraction of the highest score of its unit."""
        counts = self.items.unit_counts
        best = score >= np.repeat(np.maximum.reduceat(score, self.starts), counts) - 1e-9
        shares: Floats = best / np.repeat(np.add.reduceat(best.astype(float), self.starts), counts)
        return shares

    def beyond(self, rows: Floats) -> Floats:
        """Return what each row holds beyond the mean of its unit's, (rows, columns)."""
        counts = self.items.unit_counts
        means = np.add.reduceat(rows, self.starts, axis=0) / counts[:, None]
        found: Floats = rows - np.repeat(means, counts, axis=0)
        return found


def _balanced(beyond: Floats, learnt: Ints, penalty: Floats) -> Floats:
    """Return the probabilities to stay, (rows,), that leave nothing in any column of those learnt.

    They are σ(4 − λ·d), with the λ at which the sum of log(1 + e^(4 − λ·d)) is least, up to the
    penalty: its derivative is −Σ σ d, so there the columns of what stays sum to nothing.
    """
    from scipy.optimize import minimize
    from scipy.special import expit

    seen = beyond[learnt]

    def loss(weights: Floats) -> tuple[float, Floats]:
        z = _STAYS - seen @ weights
        value = np.logaddexp(0, z).sum() + penalty @ weights**2 / 2
        return float(value) / len(seen), (penalty * weights - expit(z) @ seen) / len(seen)

    found = minimize(loss, np.zeros(seen.shape[1]), jac=True, method="L-BFGS-B",
                     options={"maxiter": 1000, "gtol": 1e-7, "ftol": 1e-12})  # fmt: skip
    stays: Floats = expit(_STAYS - beyond @ found.x).round(9)
    return stays


def _changed(data: Dataset, result: Dataset, cues: Sequence[Cue]) -> tuple[Changed, ...]:
    """Return what every cue gets right before and after, that which told most first."""
    right = []
    for items in (Items.of(data), Items.of(result)):
        own = items.keyed(items.unit_key)
        read = items.readable(cues)
        picked = items.picked(read)
        tells = (picked == 0).any(axis=0)  # no other cue is told: no item carries what it looks for
        right.append({cue.name: float(SHARES[ties].mean())
                      for cue, ties, any_one in zip(read, picked[own].T, tells, strict=True)
                      if any_one})  # fmt: skip
    before, after = right
    chance = Items.of(data).chance
    found = [Changed(name, before[name], after[name]) for name in before if name in after]
    return tuple(sorted(found, key=lambda one: -abs(one.before - chance)))
