"""What an audit is reported in: the verdict first, then cues, probes, and the rest of the list."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil, floor, log10

from winosmith import report
from winosmith.audit._audit import LEAST, SEEN, Audit, Part
from winosmith.audit._battery import LEVEL, Found
from winosmith.audit._items import key_text
from winosmith.audit._overlap import Overlap
from winosmith.audit._probes import Probe
from winosmith.audit._repair import Repair
from winosmith.audit._repaired import DRAWN, repair_sections
from winosmith.audit._review import leaked, shared
from winosmith.dataset import Dataset
from winosmith.metrics import below_chance_sentence, null_interval_label
from winosmith.results import table

_LONG = 400
"""So many characters of an example's question are shown, the last."""

_LISTED = 100
"""How many keys that may be wrong are listed on the page, and how many pairs that differ."""

_OF_VECTORS = (
    ", one of vectors what the embedder in the signature makes of each option and question, and "
    "how alike these are"
)

_ADDED = 0.005
"""So much more must a model get right that sees the question too, for its words to be told."""


def sections(audit: Audit, repaired: Sequence[Repair] = ()) -> list[report.Section]:
    """Return the page's sections; a terminal prints their paragraphs and tables."""
    probed = list(_probes(audit))
    return [
        report.Section("What can be guessed", list(_verdict(audit))),
        *(section for one in repaired for section in repair_sections(one, len(repaired) > 1)),
        *(_cues(part) for part in audit.parts),
        *([report.Section("Probes", probed)] if probed else []),
        *(_models(part) for part in audit.parts if part.triage),
        report.Section("The rest of a reviewer's list", list(_rest(audit))),
        report.Section("What difference it can detect", list(_detectable(audit))),
    ]


def page(audit: Audit, repaired: Sequence[Repair] = ()) -> str:
    """Return the audit, and repairs of its splits, as one HTML page that needs nothing else."""
    signed = " + ".join(part.name for part in audit.parts)
    return report.page(
        f"Audit of {signed}",
        sections(audit, repaired),
        subtitle=verdict(audit),
        signature=signature(audit),
        footer=audit.line,
    )


def signature(audit: Audit) -> str:
    """Return what determines the numbers."""
    return "; ".join(
        f"{part.name}: "
        f"{report.sign(part.dataset, audit.seed, draws=part.battery.draws, **audit.embedder)}"
        for part in audit.parts
    )


def verdict(audit: Audit) -> str:
    """Return the first sentence: what can be guessed, by which rule, how surely."""
    return " ".join(told for part in audit.parts for told in (*_of_fields(part), _sentence(part)))


def _of_fields(part: Part) -> Iterator[str]:
    """Yield a sentence where a field tells more than any cue can: it comes before them."""
    leaks = part.review.leaks or ()
    if leaks:
        worst = max(leaks, key=lambda leak: leak.accuracy * leak.problems)
        yield f"{part.name} gives answers away by a field: {worst}."


def _sentence(part: Part) -> str:
    best, tried = part.best, len(part.battery.found)
    if best is not None:
        return (
            f"{part.name} gives answers away: choosing “{best.cue}” is right in "
            f"{_percent(best.right)} of {len(part.items):,} items, where {_percent(best.expected)} "
            f"is expected ({_p(best.p, part.battery.draws)} over {tried} cues)."
        )
    blind = max(part.telling, key=lambda probe: probe.right, default=None)
    if blind is not None:
        return (
            f"No cue of {part.name} stands out, but a model of {blind.by} that sees "
            f"{SEEN[blind.sees]} is right in {_percent(blind.right)} of {len(part.items):,} items, "
            f"where {_percent(blind.expected)} is expected ({_p(blind.p, blind.draws)})."
        )
    strongest = part.battery.found[0]
    seen = (
        f"“{strongest.cue}”, right in {_percent(strongest.right)} of {len(part.items):,} items; "
        f"chance gives it at most {_percent(strongest.high)} "
        f"({_p(strongest.p, part.battery.draws)})."
    )
    if part.battery.borderline:
        return (
            f"It is borderline whether {part.name} gives answers away: {part.battery.draws:,} "
            f"draws can't decide about {seen}"
        )
    return f"No cue of {part.name} stands out: the strongest of {tried} is {seen}"


def _percent(share: float) -> str:
    return report.shown(share, ".1%")


def _p(p: float, draws: int) -> str:
    """Return a p-value by draws: the least they can show is a bound, never rounded down.

    >>> _p(1 / 1001, 1000), _p(1 / 401, 400), _p(1 / 20_001, 20_000), _p(2 / 20_001, 20_000)
    ('p ≤ 0.001', 'p ≤ 0.0025', 'p ≤ 0.00005', 'p = 0.000100')
    """
    least = 1 / (1 + draws)
    digits = 1 - floor(log10(p))  # two that are not zeros in front
    if p > least + 1e-12:
        return f"p = {p:.{max(3, digits) if p < 0.001 else 3}f}"
    upper = ceil(p * 10**digits - 1e-6) / 10**digits
    return f"p ≤ {upper:.{digits}f}".rstrip("0")


def _verdict(audit: Audit) -> Iterator[report.Block]:
    figures = []
    for part in audit.parts:
        strongest = part.battery.found[0]
        note = f"{strongest.cue}; {_expected(strongest.expected, part.best is not None)}"
        figures.append(report.KeyFigure(part.name, strongest.right, note, ".1%"))
        figures += [
            report.KeyFigure(
                f"{part.name}, from {SEEN[probe.sees]}"
                + ("" if probe.by == "words" else f", by {probe.by}"),
                probe.right,
                _expected(probe.expected, probe in part.telling),
                ".1%",
            )
            for probe in part.probes
            if probe.sees == "options"
        ]
    yield report.Cards(figures)
    advice = list(dict.fromkeys(_advice(audit)))
    if advice:
        yield report.Text(advice, "list")


def _expected(share: float, told: bool) -> str:
    """Return what is expected of a figure, and whether it is more than that at all."""
    return f"{_percent(share)} is expected" + ("" if told else "; chance may give as much")


def _advice(audit: Audit) -> Iterator[str]:
    for part in audit.parts:
        for found in part.battery.named:
            more = round((found.right - found.expected) * len(part.items))
            if found.about == "position" and found.right > found.high:
                mend = "Deal the order of the options anew where it is free."
                options = {problem.options for problem in part.items.problems}
                if len(options) == 1:
                    classes = ", ".join(*options)
                    mend = f"The options are classes ({classes}): take as many items of each."
                yield f"{part.name}: “{found.cue}” has {_percent(found.right)} of the keys. {mend}"
            elif found.right > found.high:
                mend = "Write their other options like the key."
                if found.about == "class":
                    mend = "Write such texts for the other labels too."
                yield (
                    f"{part.name}: about {more:,} items more than expected have a key that "
                    f"“{found.cue}” picks. {mend}"
                )
        told = part.review.copies
        if told.contradictions:
            yield f"{part.name}: identical items have different keys: {_ids(told.contradictions)}."
        if part.review.equal:
            yield f"{part.name}: options of {_ids([[one] for one in part.review.equal])} are equal."
        for leak in part.review.leaks or ():
            yield f"{part.name}: {leak}."
        if part.refused:
            are = (
                "records are no items and were"
                if len(part.refused) > 1
                else "record is no item, it was"
            )
            yield f"{part.name}: {len(part.refused):,} {are} left out, as {part.refused[0]}."
    for (one, other), pairs in audit.shared.items():
        yield (
            f"{leaked(one, other, pairs)}, copies or nearly so, as "
            f"{pairs[0][0]} in {one} and {pairs[0][1]} in {other}: leave them out of one."
        )


def _ids(groups: Sequence[Sequence[str]], most: int = 3) -> str:
    more = len(groups) - most
    if all(len(ids) == 1 for ids in groups):
        return report.joined([ids[0] for ids in groups], most)
    return "; ".join(map(report.joined, groups[:most])) + (f"; {more:,} more" if more > 0 else "")


def _cues(part: Part) -> report.Section:
    tried = part.battery
    moved = [found for found in tried.found if found.named is not None or _moves(found)]
    still = [f"“{found.cue}”" for found in tried.found if found not in moved]
    table = report.Table(
        f"Cues of {part.name}",
        ["cue", report.Column("right", numeric=True), report.Column("expected", numeric=True),
         report.Column("at most", numeric=True), report.Column("p", numeric=True),
         report.Column("given those above", numeric=True)],
        [_cue_row(found, tried.draws) for found in moved],
        note="In 95 of 100 sets without artifacts, no cue is above its “at most”. A cue is above "
        "it exactly if its p, which is corrected for all cues, is at most 0.05. After the first, a "
        "cue is flagged only for what it adds to those above it. A borderline cue's p is so near "
        "0.05 that the draws can't decide.",
        most=8,
        beyond="{:,} more cues are in the report (`out=`) and in the JSON.",
    )  # fmt: skip
    first = [*tried.named, *(found for found in moved if found.named is None)][:DRAWN]
    rows = [
        report.Measured(
            found.cue,
            found.right,
            min(found.expected, found.high),
            found.high,
            found.named is not None,
            found.expected,
        )
        for found in first
    ]
    flagged, borderline = len(tried.named), len(tried.borderline)
    are = "is" if flagged < 2 else "are"
    lead = f"Of {len(tried.found)} cues, {flagged or 'none'} {are} flagged"
    if borderline:
        lead += f", and {borderline} {'is' if borderline == 1 else 'are'} borderline"
    blocks: list[report.Block] = [
        report.Drawing(
            "What each cue gets right. The grey bars go from what is expected to what chance gives "
            "at most; diamonds are flagged.",
            lambda: [report.dots(rows, title=f"Cues of {part.name}")],
            table,
        )
    ]
    keys = ", ".join(f"{at + 1}: {count:,}" for at, count in enumerate(tried.positions))
    blocks.append(
        report.Text(
            [
                f"Keys at each position: {keys} ({_p(tried.positions_p, tried.draws)} "
                "for all positions together)."
            ]
        )
    )
    blocks += [
        report.Text([_explained(found, tried.draws)], "note")
        for found in tried.named
        if found.p > LEVEL >= (found.p_given or 0.0)
    ]
    if still:
        blocks.append(
            report.Text(
                [
                    "Not listed, since no draw changes what they get right (next to no item's "
                    f"options differ by them, or all do in the same way): {report.joined(still)}."
                ],
                "note",
            )
        )
    if tried.unchecked:
        blocks.append(
            report.Text(
                [
                    f"Not checked, since the items are written in a script that these cues can't "
                    f"read: {'; '.join(tried.unchecked)}."
                ],
                "note",
            )
        )
    return report.Section(f"Cues of {part.name}", blocks, f"{lead}.")


def _moves(found: Found) -> bool:
    """Return whether chance gives a cue different scores, as the page prints them."""
    return _percent(found.expected) != _percent(found.high)


def _explained(found: Found, draws: int) -> str:
    """Return why a cue is flagged whose score by itself is not above its band."""
    return (
        f"“{found.cue}” is right in {_percent(found.right)} of all items, no more than chance may "
        f"give ({_p(found.p, draws)}). It is flagged for what it adds: in items that the cues "
        "above it don't decide, it is right more often than chance makes it "
        f"({_p_given(found)}). By itself it gives little away; with them, more."
    )


def _cue_row(found: Found, draws: int) -> list[report.Value]:
    return [
        f"{found.named}. {found.cue}" if found.named else found.cue,
        _percent(found.right),
        _percent(found.expected),
        _percent(found.high),
        _p(found.p, draws).removeprefix("p ").removeprefix("= "),
        "borderline"
        if found.borderline
        else _p_given(found).removeprefix("p ").removeprefix("= ") or None,
    ]


def _p_given(found: Found) -> str:
    """Return the p-value given the cues above it; nothing for a cue that is not flagged."""
    if found.p_given is None or found.draws_given is None:
        return ""
    return _p(found.p_given, found.draws_given)


def _probes(audit: Audit) -> Iterator[report.Block]:
    few = [part.name for part in audit.parts if not part.learnable]
    if few:
        yield report.Text(
            [
                f"No model was tried on {', '.join(few)}: there is nothing to learn from "
                f"in fewer than {LEAST} blocks (items that are not copies, twins or lookalikes)."
            ],
            "note",
        )
    if not any(part.probes for part in audit.parts):
        return
    yield report.Table(
        "What a model guesses",
        ["split, what it sees, by what", report.Column("right", numeric=True),
         report.Column("expected", numeric=True), report.Column("p", numeric=True)],
        [
            [
                f"{part.name}, {SEEN[probe.sees]}, by {probe.by}",
                _percent(probe.right),
                f"{_percent(probe.expected)} ({report.span((probe.low, probe.high))})",
                _p(probe.p, probe.draws).removeprefix("p ").removeprefix("= "),
            ]
            for part in audit.parts
            for probe in part.probes
        ],
        note="A model of words knows words and pairs of neighbours"
        + (_OF_VECTORS if audit.embedder else "")
        + "; each is asked about blocks that it was not fitted on. Expected is the mean where the "
        "keys' positions are dealt again, with "
        + " or ".join(sorted({null_interval_label(probe.draws) for part in audit.parts
                              for probe in part.probes}))
        + ". From the question alone only the key's position can be guessed.",
    )  # fmt: skip
    for part in audit.parts:
        for probe in _different(part):
            if probe.words:
                yield table(
                    f"Words that tell in {part.name}, from {SEEN[probe.sees]}", probe.words, most=6
                )
            yield report.OnPage(lambda part=part, probe=probe: [_solved(part, probe)])  # type: ignore[misc]


def _different(part: Part) -> Iterator[Probe]:
    """Yield the probes that tell; the one that sees both only where the question adds something."""
    alone = {probe.by: probe.right for probe in part.telling if probe.sees == "options"}
    for probe in part.telling:
        if probe.sees != "both" or probe.right > alone.get(probe.by, 0.0) + _ADDED:
            yield probe


def _end(text: str) -> str:
    """Return a text's end: of a passage, where its question stands."""
    return text if len(text) <= _LONG else f"… {text[-_LONG:].split(' ', 1)[-1]}"


def _solved(part: Part, probe: Probe) -> report.Passages:
    problems = part.dataset.problems
    return report.Passages(
        f"Items of {part.name} that are solved from {SEEN[probe.sees]}, by {probe.by}",
        [
            [
                report.Passage(
                    [report.Part(_end(problems[row].sentence))],
                    problems[row].options,
                    problems[row].answer,
                    problems[row].id,
                    clues=[f"toward the key: {'; '.join(words)}"] if words else [],
                )
            ]
            for row, words in probe.examples
        ],
        note=f"{len(probe.solved):,} are solved; these are the surest.",
    )


def _rest(audit: Audit) -> Iterator[report.Block]:
    rows: list[list[report.Value]] = []
    absent: list[str] = []
    for part in audit.parts:
        seen, n = part.review, part.name
        refused = [[one] for one in part.refused]
        kinds: list[tuple[str, Sequence[Sequence[str]]]] = [
            ("groups of identical items", seen.copies.groups),
            ("groups of identical items with different keys", seen.copies.contradictions),
            ("pairs of nearly identical items", seen.alike),
            ("of these, with another text as the answer", seen.differing),
            ("options equal but for case or a mark", [[one] for one in seen.equal]),
            ("items with another number of options than most", [[one] for one in seen.uneven]),
            ("items with an unfilled field of a template", [[one] for one in seen.unfilled]),
            ("records that are no items", refused),
        ]
        rows += [
            [f"{n}: {what}", len(found), _ids(found, 1 if found == refused else 3)]
            for what, found in kinds
            if found
        ]
        clean = [what for what, found in kinds if not found]
        if seen.leaks == ():
            clean.append("fields that tell the key")
        absent.append(f"Looked for and not found in {n}: {'; '.join(clean)}.")
        if seen.leaks is None:
            absent.append(f"Whether fields of {n} tell the key can't be said of so few items.")
        for leak in seen.leaks or ():
            rows.append([f"{n}: fields that tell the key", leak.problems, str(leak)])
        if seen.withheld:
            rows.append([f"{n}: items without a key", seen.withheld, None])
        if seen.unlicensed:
            rows.append([f"{n}: items that state no licence", seen.unlicensed, None])
    rows += [
        [f"items of {other} that {one} has", shared(pairs), _ids(pairs)]
        for (one, other), pairs in audit.shared.items()
    ]
    if len(audit.parts) > 1 and not audit.shared:
        absent.append("No two splits share items.")
    for part in audit.parts:
        if part.overlap is not None:
            rows += _standing(part, part.overlap)
        for what in ("licence", "canary") if part.declared else ():
            said = getattr(part.declared, what)
            absent.append(
                f"{what.capitalize()} of {part.name}: {said[0]} ({said[1]})."
                if said
                else f"No {what} of {part.name} is declared, in the file or in a card beside it."
            )
    yield report.Table("What else was found", ["what", "how many", "as"], rows)
    for part in audit.parts:
        if part.review.differing:
            yield _differing(part)
    yield report.Text(absent)


def _differing(part: Part) -> report.Table:
    """Return the pairs of nearly identical items whose answers differ, with both answers."""
    key = {problem.id: key_text(problem) for problem in part.dataset}
    return report.Table(
        f"Nearly identical items of {part.name} with different answers",
        ["item", "its answer", "another", "its answer"],
        [[one, key[one], other, key[other]] for one, other in part.review.differing[:_LISTED]],
        note="Look whether a key is wrong. It need not be: a word that differs may change the "
        "answer, as in questions of one template. Those with the same options come first.",
        most=4,
    )


def _standing(part: Part, found: Overlap) -> Iterator[list[report.Value]]:
    """Yield what of a split is in the texts."""
    first = next(iter(found.asked.items()), None)
    yield [
        f"{part.name}: questions that stand in the texts, of {found.checked:,} looked for",
        len(found.asked),
        f"{first[0]}: “{first[1]}”" if first else None,
    ]
    (keys, of), (others, of_others) = found.found(Dataset(part.items.problems))
    yield [
        f"{part.name}: keys that stand in the texts, of {of:,} looked for",
        keys,
        f"{_percent(keys / max(1, of))}, and {_percent(others / max(1, of_others))} of the other "
        "options",
    ]
    if found.unread:
        yield [
            f"{part.name}: items not looked for in the texts: no spaces part their words",
            len(found.unread),
            None,
        ]


def _models(part: Part) -> report.Section:
    """Return what models' answers tell of a split."""
    found = part.triage
    if found is None:
        return report.Section(part.name, [])
    texts = {problem.id: problem for problem in part.dataset}
    rows: list[list[report.Value]] = []
    for suspect in found.suspects[:_LISTED]:
        problem = texts[suspect.id]
        agreed = report.percent(suspect.agreement, 0)
        rows.append([suspect.id, agreed, problem.options[suspect.other], key_text(problem)])
    count = len(found.right)
    lead = (
        f"{count} model{'s' * (count > 1)}. Items that all get right: {len(found.saturated):,}; "
        f"that none does: {len(found.missed):,}."
    )
    return report.Section(
        f"Models' answers to {part.name}",
        [
            report.Text([lead]),
            report.Table(
                f"Keys of {part.name} that may be wrong",
                ["item", report.Column("agreement", numeric=True), "models' option", "key"],
                rows,
                note="Agreement is the weight of the models that chose this other option, of all "
                "that chose an option; a model's weight is its accuracy above chance. Suspects go "
                "to people: good models agree on errors, too.",
                most=8,
            ),
            report.Table(
                f"Accuracy of models on {part.name}",
                ["model", report.Column("right", numeric=True),
                 report.Column("missing", numeric=True), report.Column("invalid", numeric=True),
                 report.Column("accuracy", numeric=True), report.Column("95 %", numeric=True)],
                [
                    [name, of.in_words, found.missing[name], found.invalid[name],
                     _percent(of.value), report.span(of.interval)]
                    for name, of in found.accuracies.items()
                ],
                note=" ".join(
                    f"{report.shown(name)}: {note}."
                    for name in found.accuracies
                    for note in (
                        *(below_chance_sentence(of) for of in [found.below_chance.get(name)] if of),
                        *found.logs[name].notes(),
                    )
                ),
                most=8,
            ),
            table(
                f"Models on {part.name}, each with the next best",
                {f"{one.better} − {one.worse}": one for one in found.pairs},
                head="models",
                note="p: the exact test of `winosmith compare`, which keeps twins, families and "
                "copies together. Holm: p, corrected for all pairs here. Detectable is the "
                "difference that four of five such sets would find at 0.05.",
                most=8,
            ),
        ],
    )  # fmt: skip


def _detectable(audit: Audit) -> Iterator[report.Block]:
    yield report.Table(
        "The least difference between two models that is found with a power of 80 %",
        ["split", *(f"differ on {report.percent(psi, 0)}" for psi, _ in audit.parts[0].detectable)],
        [
            [
                part.name,
                *("none" if least is None else _percent(least) for _, least in part.detectable),
            ]
            for part in audit.parts
        ],
        note="In points of accuracy, by the fraction of items on which only one of the two is "
        "right. The test is McNemar's exact one at 0.05; copies count once.",
    )
