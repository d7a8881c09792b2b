"""Report a repair, and write it to a folder."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from winosmith import formats, report
from winosmith.audit._battery import CHART_CUES
from winosmith.audit._items import Step
from winosmith.audit._repair import Memo, PreparedSet, Repair, RepairPlan, thin
from winosmith.audit._thinning import LIMIT, WORDS, Bound, LearntRules
from winosmith.audit._triage import MAX_SET_ASIDE, select_answers
from winosmith.dataset import Dataset
from winosmith.errors import DataError
from winosmith.outputs import OutputFolder, atomic_write
from winosmith.records import dump_json, make_problem_record, parse_json
from winosmith.results import make_table

_REPAIRS_FILE = "tried.json"
"""File that lists the known repairs by input digest; `--force` does not delete it."""

_MAX_LISTED = 100
"""Maximum number of items set aside that the page lists."""

_MAX_TERMINAL_RULES = 10
"""Maximum number of rules that a terminal shows."""


def render_repair(repaired: Repair) -> str:
    """Render the report of a repair as a self-contained HTML page."""
    counted = {name: repaired.parameters[name] for name in ("seed", "draws", "probe_draws")}
    return report.render_page(
        f"Repair of {repaired.filtered.kept.name or 'the set'}",
        [make_repair_section(repaired)],
        signature=report.signature_of(repaired.filtered.input(), **counted),
    )


def explain_repair(repaired: Repair) -> str:
    """Explain the result of a repair: the number of kept items and the evidence."""
    came = len(repaired.dataset) + len(repaired.filtered.dropped)
    name = repaired.filtered.kept.name or "the set"
    kept = f"The repair keeps {len(repaired.dataset):,} of {came:,} items of {name}. "
    proof = repaired.proof
    if not proof.bounds:
        return kept + "The result could not be measured, because too few items are left."
    limit, rules = f"{report.to_fixed(100 * LIMIT, '.0f')} points of chance", len(proof.bounds)
    if proof.is_within_limit:
        return kept + (
            f"On held-out items, the accuracy of each of {rules} rules is shown to be within "
            f"{limit} (simultaneous 95 % bounds)."
        )
    worst, wide = proof.bounds[0], len(proof.wide_bounds)
    need = ""
    if proof.items_needed:
        number = format_estimate(proof.items_needed)
        need = f" To show it, about {number} items would have to remain."
    at_chance = sum(bound.low <= 0 <= bound.high for bound in proof.wide_bounds)
    others = f"; those of {wide - at_chance} exclude chance" if wide > at_chance else ""
    return kept + (
        f"On held-out items, the accuracy of {rules - wide} of {rules} rules is shown to be within "
        f"{limit}. This is not shown for {wide}: the bounds of {at_chance} include chance, but "
        f"also larger differences{others}. The bound of “{worst.rule}” extends farthest "
        f"({report.points_span((worst.low, worst.high))} points).{need}"
    )


def format_estimate(number: float) -> str:
    return f"{float(f'{number:.2g}'):,.0f}"


def make_repair_section(
    repaired: Repair, name_split: bool = False, label: Callable[[str], str] = str
) -> report.Section:
    bounds = {bound.rule: bound for bound in repaired.proof.bounds}
    chance = repaired.chance[1]
    rows: list[list[report.Value]] = [
        [one.rule, one.before, one.after, *_format_bound(bounds.get(one.rule))]
        for one in repaired.cue_changes
    ]
    rows.insert(_MAX_TERMINAL_RULES - 1, [WORDS, "—", "—", *_format_bound(bounds.get(WORDS))])
    before, after = (report.format_value(share, ".1%") for share in repaired.chance)
    figures = report.Table(
        "Accuracy of each rule before and after the repair",
        ["rule", report.Column("before", ".1%"), report.Column("after", ".1%"),
         report.Column("held-out bound", numeric=True), "within 3 points"],
        rows,
        note=f"Chance: {before} before and {after} after. The accuracy after the repair is a "
        "result of the repair, not evidence. Held-out bound: bound of the accuracy minus chance in "
        "points, on blocks that the repair did not see. All bounds are intended to hold "
        "simultaneously in 95 of 100 data sets. If options were shuffled, the accuracy of "
        "position cues differs from chance only at random; their bounds are measured on the items "
        "whose options were not shuffled.",
        most=_MAX_TERMINAL_RULES,
        beyond="More rules in the report (`out=`) and in the JSON: {:,}.",
    )  # fmt: skip
    low, high = chance - LIMIT, chance + LIMIT
    dots = []
    for one in repaired.cue_changes[:CHART_CUES]:
        is_far = abs(one.after - chance) > LIMIT
        dots.append(report.FractionWithInterval(one.rule, one.after, low, high, is_far, chance))
    return report.Section(
        f"Repair of {repaired.filtered.kept.name}: before and after"
        if name_split
        else "Repair: before and after",
        [
            report.Text([explain_repair(repaired)]),
            report.Text(list(_describe_steps(repaired, label)), "list"),
            *_make_model_tables(repaired, label),
            report.Drawing(
                "Accuracy of each cue on the kept items. Grey bars extend 3 points below and "
                "above chance; diamonds are outside this range. Shuffled positions differ from "
                "chance only at random.",
                lambda: [report.draw_dots_over_chance(dots, title="Cues after the repair")],
                figures,
            ),
        ],
    )


def _format_bound(bound: Bound | None) -> tuple[str | None, str | None]:
    if bound is None:
        return None, "not shown"
    if bound.is_shuffled:
        return "shuffled", "—"
    verdict = "shown" if bound.is_within_limit else "not shown"
    return report.points_span((bound.low, bound.high)), verdict


def _describe_steps(repaired: Repair, label: Callable[[str], str]) -> Iterator[str]:
    by = [*(f"“{cue}”" for cue in repaired.cues), *([WORDS] if repaired.has_word_model else [])]
    stages = Counter(entry.stage for entry in repaired.filtered.dropped)
    if by:
        yield (
            f"Thinning removed {stages['thinned']:,} items because of "
            f"{report.join_names(by, len(by))}. If several cues select nearly the same options, "
            "only one is named."
        )
    else:
        yield (
            "No items were thinned, because no content cue is flagged and no word model is better "
            "than chance."
        )
    yield from _describe_concentration(repaired)
    for stage, what in {
        "in a later split": "items that occur in a later split",
        "copy": "copies of other items",
        "contradiction": "identical items with different keys",
        "no key": "items without a key",
    }.items():
        if stages[stage]:
            first = next(entry for entry in repaired.filtered.dropped if entry.stage == stage)
            yield f"Removed {what}: {stages[stage]:,}, such as {label(first.problem.id)}."
    yield from _describe_set_aside(repaired, label)
    if checked := repaired.parameters.get("checked"):
        yield (
            f"Items whose keys people checked: {len(checked):,}. None of them is set aside because "
            "of models' answers."
        )
    fixed = ""
    if repaired.fixed_order_count:
        fixed = f"; in {repaired.fixed_order_count:,} other items, the order was kept"
    yield (
        "The options were shuffled, which changed their order in "
        f"{repaired.reordered_count:,} items{fixed}."
    )
    where = "in this folder and its sibling folders"
    yield (
        f"This is the only known repair of these items {where}."
        if repaired.repair_count == 1
        else f"This is one of {repaired.repair_count:,} known repairs of these items {where}. If "
        "there are many repairs, one of them may look good by chance."
    )


def _describe_concentration(repaired: Repair) -> Iterator[str]:
    found = repaired.concentration
    if found is None:
        return
    some = f", drawn from {found.total_items:,}" if found.items < found.total_items else ""
    low, high = (report.to_fixed(end, ".2f") for end in (found.low, found.high))
    yield (
        f"Thinning multiplies the rate of wrong keys by {report.to_fixed(found.factor, '.2f')} "
        f"(95 % interval {low} to {high}), because cues seldom select a wrong key. This is the "
        f"mean of {found.sets} synthetic sets: these items ({found.items:,}{some}) with "
        f"{found.planted:,} randomly planted wrong keys."
        + ("" if repaired.doubts else " A repair with models' answers sets some of them aside.")
    )


def _describe_set_aside(repaired: Repair, label: Callable[[str], str]) -> Iterator[str]:
    found = repaired.doubts
    if found is None:
        return
    aside, count = found.set_aside, len(repaired.set_aside)
    asked = repaired.parameters["set_aside"]
    if not aside:
        few = ""
        if asked is None and found.threshold is None:
            few = "By default, setting items aside requires the answers of at least three models. "
        yield (
            f"No items are set aside for doubtful keys. {few}Thinning keeps wrong keys more often "
            "than sound keys."
        )
        return
    halves = f", {count - len(aside):,} of them other halves of twins" if count > len(aside) else ""
    all_there = f" Models doubt only {len(aside):,} keys." if (asked or 0) > len(aside) else ""
    yield (
        f"Set aside because models agree on another option: {count:,} item{'s' * (count > 1)}"
        f"{halves}, such as {label(aside[0].id)}.{all_there} Most of them may be sound items that "
        "models get wrong. They are in set_aside.jsonl: have people check them, and move sound "
        "items to kept.jsonl."
    )
    yield (
        "On the kept items, the accuracy and ranking of these models and their relatives are "
        "biased upwards, because items that they get wrong were set aside."
    )
    more = found.strong_count - len(aside)
    if more and found.threshold is not None:
        yield (
            f"Models agree as strongly (at least {report.percent(found.threshold, 0)}) on {more:,} "
            f"other items. These items stay, because at most {report.percent(MAX_SET_ASIDE, 0)} "
            "of the items are set aside by default; "
            f"`set_aside={found.strong_count}` includes them."
        )


def _make_model_tables(repaired: Repair, label: Callable[[str], str]) -> Iterator[report.Table]:
    found = repaired.doubts
    if found is None:
        return
    yield make_table(
        "Models' accuracy before and after the repair",
        found.accuracy,
        head="model",
        note="Accuracy is measured on the items with a key that the model answered. The first and "
        "the second number differ only because of the items set aside; if these are sound, the "
        "difference is bias.",
        most=8,
    )
    if not found.set_aside:
        return
    yield make_table(
        "Items set aside",
        [replace(one, id=label(one.id)) for one in found.set_aside[:_MAX_LISTED]],
        ["id", "agreement", "models", "proposed", "key"],
        note="Agreement: the weight of the models that chose this option, as a fraction of the "
        "weight of all that answered. A model's weight is its accuracy above chance.",
        most=8,
    )


def repair_to_folder(data: Dataset | formats.Readable, out: str | Path, **how: Any) -> Repair:
    """Repair a data set, and write the result to a folder.

    The folder contains `kept.jsonl`, `dropped.jsonl`, `orders.jsonl`, `report.json` and
    `report.html`. Items whose keys models doubt are written to `set_aside.jsonl` with shuffled
    options; move a line to `kept.jsonl` to restore an item. The same call resumes an interrupted
    repair. Nothing is written if too few items would be kept.

    All repairs of the same items are counted, including those in neighbouring folders, because one
    of many repairs looks good by chance.

    Args:
        data: the items, or any input of `formats.read`. Items without a key are removed.
        out: path of the folder; see `winosmith.outputs` for the accepted folders.
        how: `force` and `step`, see `repair_splits`, and the settings of `repair`.

    Raises:
        DataError: see `repair`.
        OutputError: the folder can't be used or written.
    """
    data = formats.as_dataset(data)
    return repair_splits({data.name: data}, out, **how)[data.name]


def repair_splits(
    splits: Mapping[str, Dataset | formats.Readable],
    out: str | Path,
    *,
    force: bool = False,
    step: Step = lambda _: None,
    **settings: Any,
) -> dict[str, Repair]:
    """Repair each split separately, and write it to a folder named after the split.

    A single split is written to the parent folder itself; see `repair_to_folder`. An item in
    several splits stays in the last of them, so the training set must be first and the test set
    last. No split influences the thinning of another. If one split can't be repaired, none
    is repaired. Splits that are too small are refused before anything is learnt.

    Args:
        splits: splits (see `repair_to_folder`) by names that are valid folder names.
        out: path of the parent folder.
        force: whether to overwrite another repair in a folder, which is still counted.
        step: called with a description of the next step.
        settings: see `repair`. For `answers`, ids must be unique across the splits; splits that no
            model answered are repaired without answers. `set_aside` is a number for each split.

    Raises:
        DataError: see `repair`; the message contains the name of the split.
        OutputError: see `repair_to_folder`.
    """
    splits = formats.as_splits(splits)
    plan = RepairPlan.from_settings(**settings)
    plan.require_known_ids(splits.values())
    names, several = list(splits), len(splits) > 1
    name_in_errors = _name_split_in_errors if several else nullcontext
    later = {name: {n: splits[n] for n in names[at + 1 :]} for at, name in enumerate(names)}
    cleared = {}
    for name, split in splits.items():
        with name_in_errors(name):
            cleared[name] = PreparedSet.from_dataset(split, later[name], plan)
    found = {}
    with ExitStack() as stack:
        folders = {}
        for name, split in splits.items():
            recipe = _make_recipe(split, plan, later[name] if several else None)
            path = Path(out, name if several else "")
            folders[name] = stack.enter_context(_open_folder(path, recipe, force=force))
        for name in names:

            def report_step(what: str, name: str = name) -> None:
                step(f"{name}: {what}" if several else what)

            with name_in_errors(name):
                found[name] = thin(cleared.pop(name), report_step, folders[name][1])
    return {name: _write_repair(folders[name][0], one) for name, one in found.items()}


def _make_recipe(
    data: Dataset, plan: RepairPlan, later: Mapping[str, Dataset] | None = None
) -> dict[str, Any]:
    recipe: dict[str, Any] = {"repair": data.digest, **plan.parameters}
    if plan.answers is not None:
        chosen = {
            model: {name: list(one.chosen) for name, one in own.by_id.items()}
            for model, own in select_answers(plan.answers, data).items()
        }
        own = dump_json(chosen).encode("utf-8", "surrogatepass")
        recipe["answers"] = hashlib.sha256(own).hexdigest()
    if later is not None:
        recipe["later"] = {name: split.digest for name, split in later.items()}
    return recipe


@contextmanager
def _open_folder(
    path: Path, recipe: Mapping[str, Any], *, force: bool
) -> Iterator[tuple[OutputFolder, Memo]]:
    """Open an output folder and its cache of learnt rules; remove the folder after an error."""
    folder = OutputFolder.open(path, recipe, force=force)
    with folder.discard_on_error(), ExitStack() as stack:
        paths = {
            name: stack.enter_context(folder.scratch(f"{name}.json"))
            for name in ("all", "one-half", "the-other-half")
        }

        def load_or_learn(name: str, learn: Callable[[], LearntRules]) -> LearntRules:
            if paths[name].is_file():
                record = parse_json(paths[name].read_text("utf-8"))
                arrays = {name: np.array(record[name]) for name in ("posterior", "stays")}
                return LearntRules(**{**record, "cues": tuple(record["cues"]), **arrays})
            learnt = learn()
            with atomic_write(paths[name]) as file:
                json.dump(vars(learnt), file, default=np.ndarray.tolist)
            return learnt

        yield folder, load_or_learn


def _write_repair(folder: OutputFolder, repaired: Repair) -> Repair:
    """Write a repair to a folder, and count the known repairs of its items."""
    problems = repaired.filtered.input()
    lines = sorted(dump_json(make_problem_record(problem)) for problem in problems)
    digest = hashlib.sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()
    recipe = {name: value for name, value in folder.recipe.items() if name != "repair"}
    this = hashlib.sha256(dump_json(recipe).encode()).hexdigest()
    own = _read_repairs(folder.path / _REPAIRS_FILE)
    own[digest] = sorted({*own.get(digest, ()), this})
    with atomic_write(folder.path / _REPAIRS_FILE) as file:
        json.dump(own, file, indent=1)
        file.write("\n")
    parent = folder.path.resolve().parent
    if "later" in folder.recipe:
        parent = parent.parent
    around = chain(parent.glob(f"*/{_REPAIRS_FILE}"), parent.glob(f"*/*/{_REPAIRS_FILE}"))
    known = {one for path in around for one in _read_repairs(path).get(digest, ())}
    repaired = replace(repaired, repair_count=len(known | {this}))
    folder.write_lines("kept.jsonl", formats.to_lines(repaired.dataset))
    folder.write_lines("dropped.jsonl", (one.to_json_line() for one in repaired.filtered.dropped))
    if len(repaired.set_aside):
        folder.write_lines("set_aside.jsonl", formats.to_lines(repaired.set_aside))
    orders = ({"id": name, "order": list(order)} for name, order in repaired.orders.items())
    folder.write_lines("orders.jsonl", (dump_json(one) + "\n" for one in orders))
    folder.write_json("report.json", repaired.record())
    folder.write_lines("report.html", [render_repair(repaired)])
    return repaired


@contextmanager
def _name_split_in_errors(split: str) -> Iterator[None]:
    try:
        yield
    except DataError as error:
        raise DataError(
            f"{split}: {error}. Nothing was written; omit {split} to repair the others"
        ) from None


def _read_repairs(path: Path) -> dict[str, list[str]]:
    try:
        record = parse_json(path.read_text("utf-8"))
        return {str(digest): [*map(str, tried)] for digest, tried in record.items()}
    except (OSError, ValueError, AttributeError, TypeError):
        return {}
