"""A repair as it is told and written: verdict, page, folder, and the folders of several splits."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from winosmith import formats, report
from winosmith.audit._items import key_text
from winosmith.audit._pace import Step
from winosmith.audit._proof import LIMIT, WORDS, Bound
from winosmith.audit._repair import Cleared, Learnt, Memo, Repair, RepairSettings, repair, thinned
from winosmith.audit._triage import Suspect
from winosmith.audit._wrong_keys import AT_MOST, answered
from winosmith.dataset import Dataset
from winosmith.errors import DataError
from winosmith.outputs import OutputFolder, write_aside
from winosmith.records import canonical, parse_json, problem_record

DRAWN = 14
"""How many cues are drawn."""

_TRIED = "tried.json"
"""Which repairs were tried, by the digest of what was to be repaired; outlives `--force`."""

_LISTED = 100
"""How many items set aside are listed on the page."""

_MENDED = 10
"""So many rules of a repair a terminal shows."""


def repair_page(repaired: Repair) -> str:
    """Return a repair as one HTML page that needs nothing else."""
    counted = {name: repaired.parameters[name] for name in ("seed", "draws", "probe_draws")}
    return report.page(
        f"Repair of {repaired.filtered.kept.name or 'the set'}",
        repair_sections(repaired),
        signature=report.sign(repaired.filtered.input(), **counted),
    )


def repair_verdict(repaired: Repair) -> str:
    """Return the first sentence of a repair: what is kept, and what is known of it."""
    came = len(repaired.dataset) + len(repaired.filtered.dropped)
    name = repaired.filtered.kept.name or "the set"
    kept = f"Of {came:,} items of {name} {len(repaired.dataset):,} are kept. "
    proof, limit = repaired.proof, f"{report.fixed(100 * LIMIT, '.0f')} points"
    if not proof.bounds:
        return kept + "Not shown: too few are left to measure anything on."
    rules = f"{len(proof.bounds)} rules"
    if proof.shown:
        return kept + (
            f"Shown: on blocks that the repair did not see, each of {rules} is right within "
            f"{limit} of guessing (one bound of 95 % for all of them)."
        )
    worst = proof.bounds[0]
    more = proof.needed
    need = f" About {more:,} items would have to be left for that." if more else ""
    return kept + (
        f"Not shown that {rules} are right within {limit} of guessing on blocks that the repair "
        f"did not see: {len(proof.wide)} may be farther off, most of all “{worst.rule}” "
        f"({report.points_span((worst.low, worst.high))} points).{need}"
    )


def repair_sections(repaired: Repair, of_several: bool = False) -> list[report.Section]:
    """Return what a repair did, and what is known of it; a terminal prints it.

    Args:
        repaired: the repair.
        of_several: whether the section's title names the split.
    """
    bounds = {bound.rule: bound for bound in repaired.proof.bounds}
    rows: list[list[report.Value]] = [
        [
            one.rule,
            one.before,
            one.after,
            report.points(one.after - repaired.chance[1]),
            *_bound(bounds.get(one.rule)),
        ]
        for one in repaired.changed
    ]
    rows.insert(_MENDED - 1, [WORDS, None, None, None, *_bound(bounds.get(WORDS))])
    before, after = (report.shown(share, ".1%") for share in repaired.chance)
    table = report.Table(
        "Before and after",
        ["rule", report.Column("before", ".1%"), report.Column("after", ".1%"),
         report.Column("off guessing", numeric=True), report.Column("unseen: bound", numeric=True),
         "within 3"],
        rows,
        note=f"Guessing gets {before} before and {after} after. What a rule gets right of the kept "
        "items is a fact of them, which the repair brought about, and no proof. The bound is of "
        "what it earns beyond guessing, in points, on blocks that the repair did not see; all "
        "bounds are meant to hold at once in 95 of 100 sets. Where positions are dealt by lot, "
        "what they are off guessing is chance; a bound there is of items whose order is fixed.",
        most=_MENDED,
        beyond="{:,} more rules are in the report (`out=`) and in the JSON.",
    )  # fmt: skip
    chance = repaired.chance[1]
    low, high = chance - LIMIT, chance + LIMIT
    dots = [
        report.Measured(one.rule, one.after, low, high, abs(one.after - chance) > LIMIT, chance)
        for one in repaired.changed[:DRAWN]
    ]
    return [
        report.Section(
            f"Repair of {repaired.filtered.kept.name}: before and after"
            if of_several
            else "Repair: before and after",
            [
                report.Text([repair_verdict(repaired)]),
                report.Text(list(_done(repaired)), "list"),
                *_of_models(repaired),
                report.Drawing(
                    "What each cue gets right of the kept items; the grey bars are 3 points each "
                    "way of guessing, and diamonds lie beyond. Where the order of options is free, "
                    "positions are dealt by lot: what they are off there is chance.",
                    lambda: [report.dots(dots, title="Cues after the repair")],
                    table,
                ),
            ],
        )
    ]


def _bound(bound: Bound | None) -> tuple[str | None, str | None]:
    if bound is None:
        return None, "not shown"
    if bound.by_lot:  # what it is off is chance, and a fact: it stands next to
        return "dealt by lot", None
    return report.points_span((bound.low, bound.high)), "shown" if bound.shown else "not shown"


def _done(repaired: Repair) -> Iterator[str]:
    """Yield what was done, a sentence each."""
    by = [*(f"“{cue}”" for cue in repaired.cues), *([WORDS] if repaired.words else [])]
    stages = Counter(entry.stage for entry in repaired.filtered.dropped)
    if by:
        yield f"Thinned by {', '.join(by)}: {stages['thinned']:,} items are left out."
    else:
        yield (
            "Nothing to thin: no cue of what options say is named, and no model of words guesses "
            "better than its null."
        )
    yield from _concentration(repaired)
    told = {
        "in a later split": "Items that a later split has",
        "copy": "Copies of other items",
        "contradiction": "Identical items with different keys",
        "no key": "Items without a key",
    }
    for stage, what in told.items():
        if stages[stage]:
            first = next(entry for entry in repaired.filtered.dropped if entry.stage == stage)
            yield f"{what}, left out: {stages[stage]:,}, as {first.problem.id}."
    yield from _set_aside(repaired)
    moved = f"The order of options was dealt anew by lot: in {repaired.moved:,} items it "
    moved += "is another one now"
    fixed = f"; in {repaired.fixed:,} it means something and stays" if repaired.fixed else ""
    yield f"{moved}{fixed}."
    yield (
        f"Repairs of these items that were tried: {repaired.tried:,}, as far as their folder and "
        "those beside it tell. Of many, one looks well by chance."
    )


def _concentration(repaired: Repair) -> Iterator[str]:
    """Yield the effect of thinning on wrong keys."""
    found = repaired.concentration
    if found is None:
        return
    some = f", drawn from {found.of:,}" if found.items < found.of else ""
    low, high = (report.fixed(end, ".2f") for end in (found.low, found.high))
    yield (
        f"Thinning multiplies the rate of wrong keys by {report.fixed(found.factor, '.2f')} "
        f"(95 % interval {low} to {high}): the mean of {found.sets} synthetic sets, which are "
        f"these items ({found.items:,}{some}) with {found.planted:,} wrong keys planted at random. "
        "Cues seldom pick a wrong key, so thinning keeps such items more often."
        + ("" if repaired.doubts else " Models' answers (`answers=`) reveal some of them.")
    )


def _set_aside(repaired: Repair) -> Iterator[str]:
    """Yield how many items were set aside, and the bias that follows."""
    found = repaired.doubts
    if found is None:
        return
    aside, count = found.set_aside, len(repaired.set_aside)
    asked = repaired.parameters["set_aside"]
    if not aside:
        none = asked is None and found.threshold is None
        few = "If no number is given, at least three models must have answered. " if none else ""
        yield (
            f"Set aside because models doubt their keys: 0 items. {few}Thinning keeps wrong keys "
            "more often than others."
        )
        return
    halves = f", {count - len(aside):,} of them other halves of twins" if count > len(aside) else ""
    all_there = f" Models doubt no more than {len(aside):,}." if (asked or 0) > len(aside) else ""
    yield (
        f"Set aside because models agree on another option: {count:,} item{'s' * (count > 1)}"
        f"{halves}, as {aside[0].id}.{all_there} Most may be sound items that models miss. They "
        "are in set_aside.jsonl: have people check them, and move sound ones to kept.jsonl."
    )
    yield (
        "The accuracy and the ranking of these models and their relatives on the kept items are "
        "biased upwards, since items that they miss were set aside."
    )
    more = found.as_strong - len(aside)
    if more and found.threshold is not None:
        yield (
            f"On {more:,} more items models agree as strongly (from "
            f"{report.percent(found.threshold, 0)}). They were not set aside, as at most "
            f"{report.percent(AT_MOST, 0)} of the items are by default; "
            f"`set_aside={found.as_strong}` sets them aside too."
        )


def _of_models(repaired: Repair) -> Iterator[report.Table]:
    """Yield each model's accuracy before and after, and the items set aside."""
    if repaired.accuracy:
        yield report.Table(
            "Models' accuracy before and after the repair",
            ["model", report.Column("before", ".1%"),
             report.Column("without those set aside", ".1%"), report.Column("kept", ".1%")],
            [[name, one.before, one.without, one.after] for name, one in repaired.accuracy.items()],
            note="Each is a fraction of the items with a key that the model answered. The second "
            "number differs from the first only by the items set aside; as far as those are sound, "
            "that is bias.",
            most=8,
        )  # fmt: skip
    aside = repaired.doubts.set_aside if repaired.doubts else ()
    if aside:
        came = repaired.filtered.input()

        def row(one: Suspect) -> list[report.Value]:
            problem = came[came.row(one.id)]
            agreed = report.percent(one.agreement, 0)
            return [one.id, agreed, one.models, problem.options[one.other], key_text(problem)]

        yield report.Table(
            "Items set aside",
            ["item", report.Column("agreement", numeric=True), "models", "their option", "key"],
            [row(one) for one in aside[:_LISTED]],
            note="Agreement is the weight of the models that chose this option, of all that "
            "answered; a model is weighted by its accuracy above chance.",
            most=8,
        )


def repair_to_folder(
    data: Dataset,
    out: str | Path,
    *,
    force: bool = False,
    step: Step = lambda _: None,
    **settings: Any,
) -> Repair:
    """Repair a set into a folder: `kept.jsonl`, `dropped.jsonl`, `orders.jsonl`, `report.json`.

    The page is `report.html`. Items whose keys models doubt are also in `set_aside.jsonl`, as they
    would be kept: move a line to `kept.jsonl` to put an item back. The same command resumes an
    interrupted repair. Nothing is written if too few items would be kept.

    Every repair of the same items is counted, with those of the folders next to it: a proof that
    holds after many repairs proves nothing.

    Args:
        data: the items. Those without a key are omitted.
        out: the folder; see `winosmith.outputs` for which folders are taken.
        force: replace another repair there; it stays counted.
        step: is called with what is done next.
        settings: see `repair`.

    Raises:
        DataError: see `repair`.
        OutputError: the folder can't be taken or written.
    """
    recipe = _recipe(data, RepairSettings(**settings))
    with _taken(Path(out), recipe, force=force) as (folder, memo):
        found = repair(data, step=step, memo=memo, **settings)
    return _written(folder, found)


def repair_splits(
    splits: Mapping[str, Dataset],
    out: str | Path,
    *,
    force: bool = False,
    step: Step = lambda _: None,
    **settings: Any,
) -> dict[str, Repair]:
    """Repair each split into a folder of its name; each is proved by itself.

    An item that several hold stays in the last of them: give the training set first and the test
    set last. Nothing that one split teaches thins another, so each proof is of its own blocks.
    Where one can't be repaired, none is: one too small is refused before anything is learnt.

    Args:
        splits: by names that can be those of folders.
        out: the folder of these folders.
        force: see `repair_to_folder`.
        step: see `repair`.
        settings: see `repair`. Of answers, the ids of all splits are one name space; splits that no
            model answered are repaired without them. `set_aside` is a number for each split.

    Raises:
        DataError: see `repair`; the message names the split.
        OutputError: see `repair_to_folder`.
    """
    how = RepairSettings(**settings)
    how.refuse_foreign(splits.values())
    names = list(splits)
    later = {name: {n: splits[n] for n in names[at + 1 :]} for at, name in enumerate(names)}
    cleared = {}
    for name, split in splits.items():
        with _named(name):
            cleared[name] = Cleared.of(split, later[name], how)
    found = {}
    with ExitStack() as stack:
        taken = {}
        for name, split in splits.items():
            recipe = _recipe(split, how, later[name])
            taken[name] = stack.enter_context(_taken(Path(out) / name, recipe, force=force))
        for name in names:

            def tell_of(told: str, name: str = name) -> None:
                step(f"{name}: {told}")

            with _named(name):
                found[name] = thinned(cleared.pop(name), tell_of, taken[name][1])
    return {name: _written(taken[name][0], one) for name, one in found.items()}


def _recipe(
    data: Dataset, settings: RepairSettings, later: Mapping[str, Dataset] | None = None
) -> dict[str, Any]:
    """Return what determines a repair."""
    recipe: dict[str, Any] = {"repair": data.digest, **settings.parameters}
    if settings.answers is not None:
        chosen = {
            model: {name: list(one.chosen) for name, one in own.by_id.items()}
            for model, own in answered(settings.answers, data).items()
        }
        own = canonical(chosen).encode("utf-8", "surrogatepass")
        recipe["answers"] = hashlib.sha256(own).hexdigest()
    if later is not None:
        recipe["later"] = {name: split.digest for name, split in later.items()}
    return recipe


@contextmanager
def _taken(
    path: Path, recipe: Mapping[str, Any], *, force: bool
) -> Iterator[tuple[OutputFolder, Memo]]:
    """Take a folder, and lend it what an interrupted repair learnt; leave none after a refusal."""
    folder = OutputFolder.open(path, recipe, force=force)
    with folder.discard_on_error(), ExitStack() as stack:
        paths = {
            name: stack.enter_context(folder.scratch(f"{name}.json"))
            for name in ("all", "one-half", "the-other-half")
        }
        yield folder, lambda name, made: _kept(paths[name], made)


def _written(folder: OutputFolder, found: Repair) -> Repair:
    """Write a repair, and return it with how many of these items are known."""
    found = replace(found, tried=_tried(folder, found.filtered.input()))
    with folder.write("kept.jsonl") as file:
        file.writelines(formats.lines(found.dataset))
    with folder.write("dropped.jsonl") as file:
        for entry in found.filtered.dropped:
            record = {**problem_record(entry.problem), "stage": entry.stage, "reason": entry.reason}
            file.write(canonical(record) + "\n")
    if len(found.set_aside):
        with folder.write("set_aside.jsonl") as file:
            file.writelines(formats.lines(found.set_aside))
    with folder.write("orders.jsonl") as file:
        for name, order in found.orders.items():
            file.write(canonical({"id": name, "order": list(order)}) + "\n")
    with folder.write("report.json") as file:
        json.dump(found.record(), file, indent=1, ensure_ascii=False, allow_nan=False)
        file.write("\n")
    with folder.write("report.html") as file:
        file.write(repair_page(found))
    return found


@contextmanager
def _named(split: str) -> Iterator[None]:
    """Name the split in a refusal, and what to do."""
    try:
        yield
    except DataError as error:
        raise DataError(
            f"{split}: {error}. Nothing was written; leave {split} out, and the others are repaired"
        ) from None


def _kept(path: Path, made: Callable[[], Learnt]) -> Learnt:
    """Return what was learnt before, or learn it and write it down."""
    if path.is_file():
        held = parse_json(path.read_text("utf-8"))
        arrays = {name: np.array(held[name]) for name in ("posterior", "stays")}
        return Learnt(**{**held, "cues": tuple(held["cues"]), **arrays})
    learnt = made()
    with write_aside(path) as file:
        json.dump(vars(replace(learnt, stays_at=None)), file, default=np.ndarray.tolist)
    return learnt


def _tried(folder: OutputFolder, data: Dataset) -> int:
    """Note this repair, and return how many of the same items the folders around it know.

    These are the folder's siblings and the folders in them, where splits lie; for a split's own
    folder those next to the folder of all splits.
    """
    lines = sorted(canonical(problem_record(problem)) for problem in data)
    digest = hashlib.sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()
    recipe = {name: value for name, value in folder.recipe.items() if name != "repair"}
    this = hashlib.sha256(canonical(recipe).encode()).hexdigest()
    own = _noted(folder.path / _TRIED)
    own[digest] = sorted({*own.get(digest, ()), this})
    with write_aside(folder.path / _TRIED) as file:
        json.dump(own, file, indent=1)
        file.write("\n")
    parent = folder.path.resolve().parent
    if "later" in folder.recipe:
        parent = parent.parent
    beside = chain(parent.glob(f"*/{_TRIED}"), parent.glob(f"*/*/{_TRIED}"))
    return len({one for path in beside for one in _noted(path).get(digest, ())} | {this})


def _noted(path: Path) -> dict[str, list[str]]:
    """Return which repairs a file notes; none if it can't be read."""
    try:
        held = parse_json(path.read_text("utf-8"))
        return {str(digest): [*map(str, tried)] for digest, tried in held.items()}
    except (OSError, ValueError, AttributeError, TypeError):
        return {}
