"""Faults that all files of a release share are found, and no others."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.release.conftest import found, rewritten, seal, with_problem
from winosmith import Dataset, Edit, Extra, Lineage, Problem
from winosmith.release import Content, ReleaseResult, Tombstone
from winosmith.release._content import digest_text


def _answer(problem: Problem) -> Problem:
    return replace(problem, answer=0)


def _extra(**more: object) -> Callable[[Problem], Problem]:
    told = {key.replace("__", "."): value for key, value in more.items()}
    return lambda p: replace(p, extra=Extra({**p.extra, **told}))


def _named(content: Content, problem: Problem) -> Problem:
    """Return a problem with the id that belongs to its sentence and options."""
    return replace(problem, id=f"{content.about.name}-{digest_text(problem)[:12]}")


def _copy_across(change: Callable[[Problem], Problem]) -> Callable[[Content], Content]:
    """Return a plant that adds a changed copy of a training problem to dev."""

    def plant(content: Content) -> Content:
        model = content.parts["train_xl"][20]
        other = _named(content, change(replace(model, twin_id=None)))
        dev = Dataset([*content.parts["dev"], other], "dev")
        return replace(content, parts={**content.parts, "dev": dev})

    return plant


def _halves_across(
    one: tuple[str, tuple[str, ...]], other: tuple[str, tuple[str, ...]]
) -> Callable[[Content], Content]:
    """Return a plant that adds one text to train_xl and another to dev, without a twin id."""

    def plant(content: Content) -> Content:
        parts = dict(content.parts)
        for part, (sentence, options), answer in (("train_xl", one, 0), ("dev", other, 1)):
            model = parts[part][-1]
            half = replace(
                model, sentence=sentence, options=options, answer=answer, blank=sentence.index("_"),
                twin_id=None, lineage=None, pronoun=None,
            )  # fmt: skip
            parts[part] = Dataset([*parts[part], _named(content, half)], part)
        return replace(content, parts=parts)

    return plant


def _twin_across(content: Content) -> Content:
    twin = content.parts["train_xl"][20].twin_id
    return with_problem(content, "dev", 0, lambda p: replace(p, twin_id=twin))


def _family_across(content: Content) -> Content:
    root = content.parts["train_xl"][20].id
    lineage = Lineage(root, root, (Edit("insert", 0, "", "So"),))
    return with_problem(content, "dev", 0, lambda p: replace(p, lineage=lineage))


def _reversed_test(content: Content) -> Content:
    test = Dataset(reversed(content.parts["test"]), "test")
    return replace(content, parts={**content.parts, "test": test})


def _withdrawn(content: Content) -> Content:
    stone = Tombstone(content.parts["dev"][3].id, "0.9.0", "0.9.5")
    return replace(content, tombstones=(stone,))


def _other_id(content: Content) -> Content:
    return with_problem(content, "test", 0, lambda p: replace(p, id="small-answer-1"))


def _in(part: str, row: int, change: Callable[[Problem], Problem]) -> Callable[[Content], Content]:
    return lambda content: with_problem(content, part, row, change)


def _origin(**changes: str) -> Callable[[Problem], Problem]:
    return lambda p: replace(p, origin=replace(p.origin, **changes))


IN_PROBLEMS: dict[str, tuple[Callable[[Content], Content], str]] = {
    "an answer in test": (
        _in("test", 4, _answer),
        r"data/test\.jsonl:5: '.*' has an answer, although it is in test",
    ),
    "a field that tells, in test": (
        _in("test", 2, _extra(wsc__correct="A")),
        r"data/test\.jsonl:3: '.*' has 'wsc\.correct', which may reveal its answer",
    ),
    "a problem under embargo": (
        _in("train_xl", 30, lambda p: replace(p, embargo=True)),
        r"data/train_xl\.jsonl:31: '.*' is under embargo",
    ),
    "a problem without the canary": (
        _in("dev", 6, lambda p: replace(p, extra=Extra())),
        r"data/dev\.jsonl:7: '.*' does not contain the canary",
    ),
    "a training problem without an answer": (
        _in("train_xl", 31, lambda p: replace(p, answer=None)),
        r"data/train_xl\.jsonl:32: '.*' has no answer, although it is not in test",
    ),
    "an address for a name": (
        _in("dev", 0, _origin(author="ann@example.org")),
        r"data/dev\.jsonl:1: '.*' has a contributor name that looks like an email address",
    ),
    "the hour of writing": (
        _in("dev", 0, _origin(created="2026-11-21T13:05")),
        r"data/dev\.jsonl:1: '.*' reveals the time at which it was written",
    ),
    "an id that may tell": (
        _other_id,
        r"data/test\.jsonl:1: 'small-answer-1' has an id that is not derived from its text",
    ),
    "test in another order": (
        _reversed_test,
        r"data/test\.jsonl:2: test is not sorted by a digest of its texts",
    ),
    "a problem that was withdrawn": (
        _withdrawn,
        r"tombstones\.jsonl:1: '.*' is withdrawn, but still published",
    ),
    "halves of a twin on two sides": (
        _twin_across,
        r"data/train_xl\.jsonl:21: .*\(data/dev\.jsonl:1\).*halves of the twin",
    ),
    "a family on two sides": (
        _family_across,
        r"data/train_xl\.jsonl:21: .*\(data/dev\.jsonl:1\).*belong to the family of",
    ),
    "a copy in other capitals on two sides": (
        _copy_across(lambda p: replace(p, sentence=p.sentence.replace("The", "THE").upper())),
        r"data/train_xl\.jsonl:2[012]: .* are on two sides .*: ",
    ),
    "a near copy on two sides": (
        _copy_across(lambda p: replace(p, sentence="Well, " + p.sentence)),
        r"data/train_xl\.jsonl:2[012]: .*near-duplicate",
    ),
    "unmarked halves with half of their words in common": (
        _halves_across(
            (
                "The crane lifted the barrel over a fence because the _ was strong.",
                ("crane", "barrel"),
            ),
            (
                "Slowly the crane lifted the barrel, and then the _ was full of rain.",
                ("barrel", "crane"),
            ),
        ),
        r"data/train_xl\.jsonl:42: 'small-\w+' and 'small-\w+' \(data/dev\.jsonl:17\) are on two",
    ),
    "unmarked halves of which one option was changed": (
        _halves_across(
            (
                "Do you see the shark near the minnow? I hope the _ is not eaten.",
                ("shark", "minnow"),
            ),
            (
                "Do you see the shark near the minnow? I hope the _ is not hungry.",
                ("the big shark", "minnow"),
            ),
        ),
        r"data/train_xl\.jsonl:42: 'small-\w+' and 'small-\w+' \(data/dev\.jsonl:17\) are on two",
    ),
    "a size that is not nested": (
        lambda content: replace(
            content,
            parts={
                **content.parts,
                "train_xs": Dataset(
                    [*content.parts["train_xs"][:4], *content.parts["train_xl"][20:28]], "train_xs"
                ),
            },
        ),
        r"data/train_xs\.jsonl:5: it is not the beginning of train_xl",
    ),
    "a licence other than its source's": (
        _in("dev", 0, _origin(licence="CC-BY-NC-4.0")),
        r"data/dev\.jsonl:1: 1 problem .*their licence is CC-BY-NC-4\.0, but release\.toml states",
    ),
}
"""Faults in all files of a release: a plant in its content, and the expected message."""


@pytest.mark.parametrize("name", IN_PROBLEMS)
def test_shared_fault_is_the_only_fault(name: str, small: ReleaseResult, tmp_path: Path) -> None:
    plant, told = IN_PROBLEMS[name]
    faults = found(rewritten(plant(small.content), tmp_path / "new" / "it"))
    matching = [fault for fault in faults if re.match(told, fault)]
    assert matching, faults
    allowed = ("is not derived from", "the order is not")  # both depend on the text
    rest = [f for f in faults if f not in matching and not any(a in f for a in allowed)]
    assert not rest


def _swapped(content: Content) -> Content:
    """Return the content with a twin of dev and a twin of train exchanged."""
    dev, train = list(content.parts["dev"]), list(content.parts["train_xl"])
    dev[:2], train[30:32] = train[30:32], dev[:2]
    parts = {"dev": Dataset(dev, "dev"), "train_xl": Dataset(train, "train_xl")}
    return replace(content, parts={**content.parts, **parts})


def _moved(content: Content) -> Content:
    dev, train = content.parts["dev"], content.parts["train_xl"]
    parts = {"dev": dev[2:], "train_xl": Dataset([*train, *dev[:2]], "train_xl")}
    return replace(content, parts={**content.parts, **parts})


def _removed(content: Content) -> Content:
    return replace(content, parts={**content.parts, "dev": content.parts["dev"][2:]})


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        (_in("dev", 3, lambda p: replace(p, answer=1 - (p.answer or 0))), ["dev"]),
        (_in("train_xl", 30, lambda p: replace(p, answer=1 - (p.answer or 0))), ["train_xl"]),
        (_in("dev", 0, lambda p: replace(p, twin_id=None)), ["dev"]),
        (_swapped, ["train_xl", "dev"]),
        (_moved, ["train_xl", "dev"]),
        (_removed, ["dev"]),
    ],
)
def test_consistent_change_contradicts_the_digests(
    change: Callable[[Content], Content], parts: list[str], small: ReleaseResult, tmp_path: Path
) -> None:
    folder = rewritten(change(small.content), tmp_path / "new" / "it")
    digests = json.loads((small.folder / "release.json").read_text("utf-8"))["digests"]
    faults = [fault.partition(";")[0] for fault in found(seal(folder, digests=digests))]
    assert faults == [f"release.json: its digests of {p} do not match the problems" for p in parts]
