"""Report an audit: the verdict, the cues, the probes, and the other checks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from winosmith import formats, report
from winosmith.audit._audit import Audit
from winosmith.audit._battery import MAX_FLAGGED, format_p_value, format_percent
from winosmith.audit._cues import get_advice
from winosmith.audit._findings import CHECKS
from winosmith.audit._items import MIN_BLOCKS
from winosmith.audit._planted import KINDS, VISIBILITIES, PlantedKeys
from winosmith.audit._probes import PARTS, Probe
from winosmith.audit._repair import Repair
from winosmith.audit._repaired import format_estimate, make_repair_section
from winosmith.audit._split import SplitAudit
from winosmith.audit._triage import Triage
from winosmith.metrics import MAX_P, describe_below_chance
from winosmith.results import make_table
from winosmith.text import format_count

_MAX_QUESTION_LENGTH = 400
"""Maximum length of an example's question in characters; longer questions are cut at the start."""

_MAX_LISTED = 100
"""Maximum number of suspect keys, and of pairs with different answers, that the page lists."""

_MIN_GAIN = 0.005
"""Minimum accuracy that the question must add for a model of question and options to be listed."""


def make_sections(audit: Audit, repaired: Sequence[Repair] = ()) -> list[report.Section]:
    """Make the sections of the report, for a page or a terminal."""
    probed = list(_make_probe_blocks(audit))
    many = len(audit.parts) > _MAX_DETAILED_FILES
    labels = {part.dataset.name: part.get_label for part in audit.parts}
    if len(labels) < len(audit.parts):  # the names of the data sets don't identify the parts
        labels = {}
    read = report.Text(formats.describe_columns(audit.datasets))
    return [
        report.Section("Files", [read, _make_files_table(audit)])
        if many
        else report.Section("Summary", [read, *_make_summary_blocks(audit)]),
        *(
            make_repair_section(one, len(repaired) > 1, labels.get(one.dataset.name, str))
            for one in repaired
        ),
        *(_make_cue_section(part) for part in audit.parts if not many or part.best_cue is not None),
        *([report.Section("Models that see only a part", probed)] if probed else []),
        *(_make_model_section(part, part.triage) for part in audit.parts if part.triage),
        report.Section("Other checks", list(_make_check_blocks(audit))),
        report.Section("Smallest detectable difference", [_make_detectable_table(audit)]),
    ]


def render_page(audit: Audit, repaired: Sequence[Repair] = ()) -> str:
    """Render the report of an audit, and of its repairs, as a self-contained HTML page."""
    return report.render_page(
        make_title(audit),
        make_sections(audit, repaired),
        subtitle=make_verdict(audit),
        signature=audit.signature,
    )


def make_title(audit: Audit) -> str:
    """Make the title of the report from the names of the files or from their number."""
    names = [part.name for part in audit.parts]
    few = len(names) <= _MAX_DETAILED_FILES
    return f"Audit of {' + '.join(names) if few else f'{len(names):,} files'}"


def make_verdict(audit: Audit) -> str:
    """Summarise an audit: the strongest cue or model of each file, with its p-value.

    For many files, the summary is the number of files with a flagged cue. The p-value of a file is
    corrected for its cues, not for the files, so 5 % of files without artifacts have a flagged cue.
    """
    files = len(audit.parts)
    if files <= _MAX_DETAILED_FILES:
        return " ".join(sentence for part in audit.parts for sentence in part.verdict())
    flagged = sum(part.best_cue is not None for part in audit.parts)
    leaking = sum(bool(part.review.leaks) for part in audit.parts)
    fields = f" In {leaking:,} files a field gives answers away." if leaking else ""
    return (
        f"{flagged:,} of {files:,} files have a cue that gives answers away (expected by "
        f"chance: about {MAX_P * files:.2g}).{fields}"
    )


_MAX_DETAILED_FILES = 4
"""Maximum number of files that get their own sentence and table of cues."""


def _make_files_table(audit: Audit) -> report.Table:
    rows: list[list[str | int | float | None]] = []
    for part in audit.parts:
        first, draws = part.best_cue or part.battery.scores[0], part.battery.draws
        shares = map(format_percent, (first.right, first.expected))
        rows.append([part.name, len(part.items), first.cue, *shares, _format_p(first.p, draws)])
    columns = [report.Column(head, numeric=True) for head in ("items", "correct", "expected", "p")]
    return report.Table(
        "Strongest cue of each file",
        ["file", columns[0], "strongest cue", *columns[1:]],
        rows,
        note="Correct: the fraction of the items for which the cue selects the key. Expected: its "
        "mean with random keys. The p of a file is corrected for all cues, not for the number of "
        "files. A file with few items shows little; audit all files as one data set, too.",
    )


def _format_p(p: float | None, draws: int | None) -> str | None:
    if p is None or draws is None:
        return None
    return format_p_value(p, draws).removeprefix("p ").removeprefix("= ")


def _make_summary_blocks(audit: Audit) -> Iterator[report.Block]:
    figures = []
    for part in audit.parts:
        strongest = part.battery.scores[0]
        note = f"“{strongest.cue}”; {_format_expected(strongest.expected, bool(part.best_cue))}"
        figures.append(
            report.KeyFigure(f"{part.name}: strongest cue", strongest.right, note, ".1%")
        )
        for probe in part.probes:
            if probe.sees == "options":
                title = f"{part.name}: {probe.model}"
                note = _format_expected(probe.expected, probe in part.significant_probes)
                figures.append(report.KeyFigure(title, probe.right, note, ".1%"))
    yield report.Cards(figures)
    if advice := list(dict.fromkeys(_iter_advice(audit))):
        yield report.Text(advice, "list")


def _format_expected(fraction: float, is_flagged: bool) -> str:
    return f"expected: {format_percent(fraction)}" + ("" if is_flagged else "; not flagged")


def _iter_advice(audit: Audit) -> Iterator[str]:
    for part in audit.parts:
        for found in part.battery.flagged:
            if found.right <= found.high:
                continue
            more = format_estimate((found.right - found.expected) * len(part.items))
            yield (
                f"{part.name}: “{found.cue}” is correct for about {more} more items than expected. "
                f"{get_advice(found.cue, found.about)}."
            )
    for one in audit.failures("leak,contradictions,options,unfilled,refused"):
        yield f"{one}."


def _make_cue_table(part: SplitAudit) -> report.Table:
    scores = part.battery
    heads = ["correct", "expected", "chance limit", "p"]
    heads += ["p given the cues above"] * (len(scores.flagged) > 1)
    rows: list[list[report.Value]] = []
    for found in scores.listed_cues:
        name = f"{found.rank}. {found.cue}" if found.rank else found.cue
        cells: list[report.Value] = [
            name + " (borderline)" * found.borderline,
            *map(format_percent, (found.right, found.expected, found.high)),
            _format_p(found.p, scores.draws),
            _format_p(found.p_given, found.draws_given),
        ]
        rows.append(cells[: 1 + len(heads)])
    return report.Table(
        f"Cues of {part.name}",
        ["cue", *(report.Column(head, numeric=True) for head in heads)],
        rows,
        note="Correct: the fraction of the items for which the cue selects the key. Expected: its "
        "mean with random keys. Chance limit: in 95 of 100 data sets without artifacts, no cue is "
        "above its limit. A cue is above it exactly if its p, corrected for all cues, is at most "
        "0.05. A tie of n options that includes the key counts 1 / n. The flagged cues are "
        "numbered; each adds to those above it. Other cues above their limits are explained by "
        "the flagged cues: given these, they are not significant. If a cue is borderline, the "
        "draws can't decide whether its p is below 0.05.",
        most=8,
        beyond="More cues in the report (`out=`) and in the JSON: {:,}.",
    )  # fmt: skip


def _make_cue_section(part: SplitAudit) -> report.Section:
    scores = part.battery
    listed = scores.listed_cues
    constant = [f"“{found.cue}”" for found in scores.scores if found not in listed]
    flagged, borderline = len(scores.flagged), len(scores.borderline)
    blocks: list[report.Block] = [
        report.Drawing(
            "Accuracy of each cue. Grey bars go from the expected value to the chance limit; "
            "diamonds are flagged cues.",
            part.charts,
            _make_cue_table(part),
        ),
        report.Text(
            [
                f"Number of keys at each position: "
                f"{', '.join(map(report.format_value, scores.positions))} "
                f"({format_p_value(scores.positions_p, scores.draws)}, chi-square test against "
                "random positions)."
            ]
        ),
    ]
    notes = [
        f"“{found.cue}” is correct for {format_percent(found.right)} of all items, which is within "
        f"chance ({format_p_value(found.p, scores.draws)}). It is flagged because it adds to the "
        "cues above it: for items that they don't decide, it is correct more often than by chance "
        f"({format_p_value(found.p_given, found.draws_given)}). By itself, it reveals little."
        for found in scores.flagged
        if found.p_given is not None and found.draws_given and found.p > MAX_P >= found.p_given
    ]
    if constant:
        notes.append(
            "Not listed, because these cues select an option in hardly any item, or have the same "
            "accuracy with any keys: "
            f"{report.join_names(constant)}."
        )
    if scores.unreadable_cues:
        notes.append(
            "Not checked, because these cues can't read the script of the items: "
            f"{'; '.join(scores.unreadable_cues)}."
        )
    blocks = blocks if listed else blocks[1:]
    blocks += [report.Text([note], "note") for note in notes]
    are = "is" if flagged < 2 else "are"
    lead = f"Of {len(scores.scores)} cues, {flagged or 'none'} {are} flagged"
    if borderline:
        lead += f", and {borderline} {'is' if borderline == 1 else 'are'} borderline"
    explained = sum(one.right > one.high for one in listed if not (one.rank or one.borderline))
    if explained and 0 < flagged < MAX_FLAGGED:
        lead += f"; other cues above their limits, explained by the flagged cues: {explained}"
    return report.Section(f"Cues of {part.name}", blocks, f"{part.inconclusive_reason or lead}.")


def _make_probe_blocks(audit: Audit) -> Iterator[report.Block]:
    few = [
        f"{part.name} ({part.items.block_count:,} blocks of {len(part.items):,} items)"
        for part in audit.parts
        if part.items.block_count < MIN_BLOCKS
    ]
    if few:
        why = f"a model needs {MIN_BLOCKS} blocks to learn from. A block is a group of copies, "
        why += "twins and look-alikes, or a single item"
        yield report.Text([f"No model was tried on {', '.join(few)}: {why}."], "note")
    every = [(part, probe) for part in audit.parts for probe in part.probes]
    if not every:
        return
    kinds = "Word models see words and pairs of adjacent words."
    if audit.embedder:
        kinds += (
            " Vector models see the vectors of the embedder in the signature, and the "
            "similarity of option and question."
        )
    heads = ["correct", "expected", "limit", "p"]
    yield report.Table(
        "Accuracy of models that see only a part of each item",
        ["model", *(report.Column(head, numeric=True) for head in heads)],
        [
            [
                f"{part.name}: {probe.by.removesuffix('s')} model, {PARTS[probe.sees]}",
                *map(format_percent, (probe.right, probe.expected, probe.high)),
                _format_p(probe.p, probe.draws),
            ]
            for part, probe in every
        ],
        note=f"{kinds} Each model predicts blocks that it was not fitted on. Expected: "
        "the mean with permuted positions of the keys. Limit: this accuracy is higher in at most "
        "5 % of the draws. A model is above its limit exactly if p is at most 0.05, and flagged if "
        "p is at most 0.05 divided by the number of its data set's models. A model that sees only "
        "the question can predict only the position of the key.",
    )
    for part in audit.parts:
        probes = part.significant_probes
        options = {probe.by: probe.right for probe in probes if probe.sees == "options"}
        for probe in probes:
            if probe.sees == "both" and probe.right <= options.get(probe.by, 0.0) + _MIN_GAIN:
                continue  # the question adds little
            if probe.words:
                title = f"Words that predict the answer in {part.name}: {PARTS[probe.sees]}"
                yield make_table(title, probe.words, most=6)
            yield report.PageOnly(lambda part=part, probe=probe: [_list_solved(part, probe)])  # type: ignore[misc]


def _list_solved(part: SplitAudit, probe: Probe) -> report.Passages:
    passages = []
    for row, words in probe.examples:
        p = part.dataset[row]
        text, label = p.sentence, part.get_label(p.id)
        if len(text) > _MAX_QUESTION_LENGTH:
            text = f"… {text[-_MAX_QUESTION_LENGTH:].split(' ', 1)[-1]}"
        clues = [f"for the key: {'; '.join(words)}"] if words else []
        shown = report.Passage([report.Part(text)], p.options, p.answer, label, clues=clues)
        passages.append([shown])
    return report.Passages(
        f"Items of {part.name} that a model of {probe.by} solves from {PARTS[probe.sees]}",
        passages,
        note=f"The model solves {len(probe.solved):,} items; these have the largest margins.",
    )


def _make_check_blocks(audit: Audit) -> Iterator[report.Block]:
    rows: list[list[report.Value]] = []
    absent: list[str] = []
    for part in audit.parts:
        name, review = part.name, part.review
        findings = [(check, check.find(part)) for check in CHECKS]
        for check, found in findings:
            if found:
                most = 1 if check.rule in ("leak", "refused") else 3
                title = f"{name}: {check.title}"
                labelled = [[*map(part.get_label, ids)] for ids in found]
                rows.append([title, len(found), check.format_examples(labelled, most)])
        clean = [check.title for check, found in findings if found is not None and not found]
        usable = "the usable items of " * bool(part.refused)
        absent.append(f"Not found in {usable}{name}: {'; '.join(clean)}.")
        absent += [
            f"Not checked, because {name} has too few items: {check.title}."
            for check, found in findings
            if found is None
        ]
        if block := part.items.find_ids_of_first_shared_block():
            absent.append(
                f"The {len(part.items):,} items of {name} form {part.items.block_count:,} blocks: "
                "copies, twins and look-alikes (the same options in a similar text) are in one "
                f"block, such as {report.join_names([*map(part.get_label, block)])}."
            )
        if review.withheld_count:
            without = [part.get_label(p.id) for p in part.dataset if p.answer is None]
            examples = report.join_names(without, 3)
            rows.append([f"{name}: items without a key", review.withheld_count, examples])
    for (one, other), pairs in audit.labelled_shared.items():
        items = len({item for _, item in pairs})
        rows.append(
            [f"items of {other} that occur in {one}", items, CHECKS[0].format_examples(pairs)]
        )
    if len(audit.parts) > 1 and not audit.shared:
        absent.append("No two splits share items.")
    nothing = report.Text(["These checks found nothing."])
    yield report.Table("Findings", ["finding", "number", "examples"], rows) if rows else nothing
    for part in audit.parts:
        if part.review.differing_pairs:
            yield _make_differing_table(part)
    yield report.Text(absent)


def _make_differing_table(part: SplitAudit) -> report.Table:
    key = {p.id: p.options[p.answer] for p in part.dataset if p.answer is not None}
    label = part.get_label
    return report.Table(
        f"Nearly identical items of {part.name} with different answers",
        ["item", "its answer", "other item", "its answer"],
        [
            [label(a), key[a], label(b), key[b]]
            for a, b in part.review.differing_pairs[:_MAX_LISTED]
        ],
        note="Check whether one of the keys is wrong. A different word may also change the answer, "
        "as in questions from one template. Pairs with the same options come first.",
        most=4,
    )


def _make_model_section(part: SplitAudit, triage: Triage) -> report.Section:
    count = len(triage.models)
    counted = [
        name
        for name in ("missing", "invalid")
        if any(getattr(model, name) for model in triage.models.values())
    ]
    heads = ["correct", *counted, "accuracy", "95 % interval"]
    return report.Section(
        f"Models' answers to {part.name}",
        [
            report.Text(
                [
                    f"Answers of {count} model{'s' * (count > 1)}. Items that all models solve: "
                    f"{len(triage.saturated):,}; that no model solves: {len(triage.missed):,}."
                ]
            ),
            *_make_suspect_blocks(part, triage),
            report.Table(
                f"Accuracy of models on {part.name}",
                ["model", *(report.Column(head, numeric=True) for head in heads)],
                [
                    [name, one.accuracy.in_words, *(getattr(one, count) for count in counted),
                     format_percent(one.right), report.percent_span(one.interval)]
                    for name, one in triage.models.items()
                ],
                note=" ".join(
                    f"{name}: {note}."
                    for name, one in triage.models.items()
                    for note in (
                        *([describe_below_chance(one.below_chance)] if one.below_chance else []),
                        *(one.log.notes() if one.log else []),
                    )
                ),
                most=8,
            ),
        ],
    )  # fmt: skip


def _make_suspect_blocks(part: SplitAudit, triage: Triage) -> Iterator[report.Block]:
    ranked = "The ranking uses planted wrong keys and agreement"
    if triage.wrong_keys is None:
        by = "agreement" if triage.proposes_keys else "the weight of the models that are incorrect"
        ranked = f"The ranking uses only {by}, because {triage.planting_obstacle}"
    weight = (
        "Agreement: the weight of the models that chose the proposed key, as a fraction of the "
        "weight of all models that chose an option."
        if triage.proposes_keys
        else "Agreement: the weight of the models that are incorrect. No key can be proposed."
    )
    note = (
        f"{format_count(len(triage.suspects), 'suspect')}. {ranked}. {weight} A model's weight is "
        "its accuracy above chance. Have people check these keys, because good models also share "
        "errors."
    )
    if not triage.suspects:
        yield report.Text([note])
    else:
        yield make_table(
            f"Keys of {part.name} that may be wrong",
            [replace(one, id=part.get_label(one.id)) for one in triage.suspects[:_MAX_LISTED]],
            ["id", "agreement", "proposed", "key"],
            note=note,
            most=8,
        )
    if triage.wrong_keys is None:
        unknown = f"The number of wrong keys in {part.name} has no bound"
        yield report.Text([f"{unknown}, because {triage.planting_obstacle}."])
        return
    yield _make_bounds_table(part, triage.wrong_keys)


def _make_bounds_table(part: SplitAudit, found: PlantedKeys) -> report.Table:
    rows = []
    for kind, what in KINDS.items():
        bounds = [one.most for one in found.bounds if one.planted == kind]
        cells = ["no bound" if most is None else f"at most {most:,}" for most in bounds]
        rows.append([what, *cells])
    small = any(one.most is None for one in found.bounds)
    return report.Table(
        f"Wrong keys of {part.name}, if a wrong key is detected v times as often as a planted one",
        ["planted key", *(report.Column(f"v = {v:g}", numeric=True) for v in VISIBILITIES)],
        rows,
        note=f"95 % bounds on the number of blocks with a wrong key, among {found.blocks:,} blocks "
        "(groups of copies, twins and look-alikes). They include only keys for which "
        "another listed option is correct. A wrong key was planted once in each of "
        f"{found.planted:,} blocks. The true v is not known without human judges; on MMLU-Redux, "
        "real wrong keys were detected about 0.8 times as often."
        + " No bound: with so few items, these answers can't exclude any number."
        * small,
    )


def _make_detectable_table(audit: Audit) -> report.Table:
    fractions = [report.percent(psi, 0) for psi, _ in audit.parts[0].detectable_differences]
    rows = []
    for part in audit.parts:
        least = [difference for _, difference in part.detectable_differences]
        cells = ["not detectable" if one is None else report.to_fixed(100 * one) for one in least]
        rows.append([part.name, *cells])
    return report.Table(
        "To compare two models: smallest detectable difference, in points (power 80 %)",
        ["split", *(f"differ on {fraction}" for fraction in fractions)],
        rows,
        note="By the fraction of the items on which only one of the two models is correct. Exact "
        "McNemar test at 0.05; copies are counted once.",
    )
