"""Scores of both presentations, the ledger of looks, and the command `winosmith exposure`."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.conftest import Cli
from tests.exposure.test_coins import pairs_of, write_release
from winosmith import exposure as exposures, practice
from winosmith.errors import DataError, FormatError
from winosmith.exposure import (
    KeyedRelease,
    compute_look_level,
    read_keyed_release,
    read_scores,
    write_presentations,
)
from winosmith.locks import try_lock
from winosmith.testing import tiny_language_model

PAIRS = pairs_of(practice.generate_corpus(90, seed=2).dataset)

Write = Callable[..., Path]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a keyed release with 90 twins and fixed coins."""
    return write_release(tmp_path, bytes(range(32)), PAIRS)


@pytest.fixture
def keyed(folder: Path) -> KeyedRelease:
    """Return the presentations and coins of the release."""
    return read_keyed_release(folder)


@pytest.fixture
def private(folder: Path) -> Path:
    """Return the private folder of the release."""
    return folder.parent / "private" / folder.name


@pytest.fixture
def write(tmp_path: Path, keyed: KeyedRelease) -> Write:
    """Return a function that writes a model's scores; `shift` favours published texts."""

    def made(name: str, shift: float = 0.0, seed: int = 0, **header: Any) -> Path:
        rng = np.random.default_rng(seed)
        lines: list[Mapping[str, Any]] = [{"release": keyed.digest, "model": name, **header}]
        for pair in keyed.pairs:
            a, b = rng.normal(size=2) - 40
            a += shift if keyed.coins[pair.block] else -shift
            lines.append({"id": pair.a.id, "a": a, "b": b})
        return _write(tmp_path / f"{name}.jsonl", lines)

    return made


def _write(path: Path, lines: list[Mapping[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return path


def test_model_that_prefers_published_texts_is_detected(
    folder: Path, write: Write, cli: Cli
) -> None:
    """The p-value is adjusted for the two models of the look."""
    seen, new = write("seen", 3.0), write("new", seed=1)
    shown = cli("exposure", folder, "--scores", seen, "--scores", new)
    assert "seen depends on the coins (through training, retrieval, or selection" in shown
    assert "shown for new; this does not mean that the release was not seen" in shown
    assert "sees both presentations" in shown
    told = cli.told("exposure", folder, "--scores", seen, "--scores", new)
    found, other = told["models"]["seen"], told["models"]["new"]
    assert (told["look"], told["blocks_without_coin"], found["depends"], other["depends"]) == (
        1,
        2,
        True,
        False,
    )
    assert found["adjusted"] == pytest.approx(2 * found["p_value"])
    assert found["interval"][0] > 0 > other["interval"][0]
    assert found["blocks"] == told["blocks"] == len({pair.block for pair in PAIRS})


def test_further_looks_have_smaller_levels(
    keyed: KeyedRelease, private: Path, write: Write
) -> None:
    """The same scores, with any names and in any order, are the same look."""
    one, two, again = (
        read_scores(write(name, seed=seed), keyed.pairs, keyed.digest)
        for name, seed in (("one", 1), ("two", 2), ("again", 1))
    )
    looks = [[one, two], [one], [two, one], [again], [two]]
    found = [exposures.measure_exposure(keyed, scores, private=private) for scores in looks]
    assert [each.look for each in found] == [1, 2, 1, 2, 3]
    assert [each.level for each in found] == [compute_look_level(each.look) for each in found]
    adjusted = exposures.measure_exposure(keyed, [one], private=private, reference=two)
    assert (adjusted.look, adjusted.reference) == (4, "two")
    lines = map(json.loads, (private / "looks.jsonl").read_text().splitlines())
    assert [line["models"] for line in lines] == [["one", "two"], ["one"], ["two"], ["one"]]


def test_damaged_or_locked_ledger_is_refused(
    keyed: KeyedRelease, private: Path, write: Write
) -> None:
    """The level of a look depends on all earlier looks."""
    scores = [read_scores(write("one"), keyed.pairs, keyed.digest)]
    exposures.measure_exposure(keyed, scores, private=private)
    ledger = private / "looks.jsonl"
    line = ledger.read_text()
    for text, message in (
        (line.replace('"look":1', '"look":2'), "looks.jsonl:1: the ledger is damaged"),
        (line.replace('"models"', '"model"'), "looks.jsonl:1: the ledger is damaged"),
        (line[:-1], "last line is incomplete"),
    ):
        ledger.write_text(text)
        with pytest.raises(FormatError, match=message):
            exposures.measure_exposure(keyed, scores, private=private)
    ledger.write_text(line)
    with ledger.open() as file:
        assert try_lock(file.fileno())
        with pytest.raises(DataError, match="another command is using the ledger"):
            exposures.measure_exposure(keyed, scores, private=private)


def test_letters_are_graded_in_each_presentation(keyed: KeyedRelease, tmp_path: Path) -> None:
    """Each presentation has its own key; null counts as incorrect."""

    def letter(answer: int | None) -> str:
        return "AB"[answer or 0]

    lines: list[Mapping[str, Any]] = [{"release": keyed.digest, "model": "m"}]
    answered = [
        (letter(pair.a.answer), letter(pair.b.answer))
        if row % 3 == 0
        else (letter(pair.a.answer), letter(1 - (pair.b.answer or 0)))
        if row % 3 == 1
        else (None, letter(pair.b.answer))
        for row, pair in enumerate(keyed.pairs)
    ]
    rows = zip(keyed.pairs, answered, strict=True)
    lines += [{"id": pair.a.id, "a": a, "b": b} for pair, (a, b) in rows]
    scores = read_scores(_write(tmp_path / "m.jsonl", lines), keyed.pairs, keyed.digest)
    assert scores.kind == "answers"
    assert scores.differences.tolist() == [(0, 1, -1)[row % 3] for row in range(len(keyed.pairs))]


BAD: dict[str, tuple[Callable[[list[Any]], object], str]] = {
    "no header": (lambda lines: lines.pop(0), "the file has no header"),
    "another release": (
        lambda lines: lines[0].update(release="0" * 64),
        "scores are for the release '000000000000', not for",
    ),
    "no name": (lambda lines: lines[0].update(model=None), "the header has no model name"),
    "published answers": (
        lambda lines: lines.__setitem__(slice(None), [{"id": "x", "choice": 1}]),
        ":1: .*Published answers can't be used",
    ),
    "one presentation": (lambda lines: lines[1].pop("b"), ":2: .*no scores 'a' and 'b'"),
    "an unknown item": (lambda lines: lines[1].update(id="x"), ":2: the release has no item 'x'"),
    "twice": (lambda lines: lines.append(lines[1]), "already has scores"),
    "missing": (lambda lines: lines.pop(), "1 of 180 items have no scores"),
    "too large": (lambda lines: lines[2].update(a=10**400), "use finite numbers for both"),
    "not finite": (lambda lines: lines[2].update(a=float("nan")), ":3: .*NaN is not a JSON number"),
    "a truth value": (lambda lines: lines[2].update(a=True), ":3: .*True.*use finite numbers"),
    "mixed": (lambda lines: lines[2].update(a="A", b="B"), ":3: .*use finite numbers"),
    "no option's letter": (
        lambda lines: [line.update(a="C", b="A") for line in lines[1:]],
        "use option letters",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_invalid_score_files_are_refused(name: str, keyed: KeyedRelease, write: Write) -> None:
    change, message = BAD[name]
    path = write("m")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    change(lines)
    with pytest.raises(FormatError, match=message):
        read_scores(_write(path, lines), keyed.pairs, keyed.digest)


def test_scores_that_allow_no_test_are_refused(
    keyed: KeyedRelease, private: Path, write: Write
) -> None:
    """They are not recorded as a look."""
    one = read_scores(write("one"), keyed.pairs, keyed.digest)

    def refused(*scores: exposures.Scores) -> str:
        with pytest.raises(DataError) as error:
            exposures.measure_exposure(keyed, scores, private=private)
        return str(error.value)

    def changed(values: np.ndarray) -> exposures.Scores:
        return exposures.Scores("m", one.kind, values, "0")

    few = np.where(np.arange(len(keyed.pairs)) < 20, one.differences, 0.0)
    assert "50 or more are needed" in refused(changed(few))
    assert "in 0 of" in refused(changed(np.zeros(len(few))))
    assert "the same in all blocks of each kind" in refused(changed(np.ones(len(few))))
    assert "names must be unique" in refused(one, one)
    assert "at least one model" in refused()
    assert not (private / "looks.jsonl").exists()


def test_presentations_are_exported_with_their_texts(
    folder: Path, keyed: KeyedRelease, tmp_path: Path, cli: Cli
) -> None:
    aside = cli.aside("exposure", folder, "--export", tmp_path / "both.jsonl")
    assert "180 items" in aside
    assert "Keep the file secret" in aside
    header, *rows = map(json.loads, (tmp_path / "both.jsonl").read_text().splitlines())
    assert header == {"release": keyed.digest, "model": None}
    assert [row["id"] for row in rows] == [pair.a.id for pair in keyed.pairs]
    for pair, row in zip(keyed.pairs, rows, strict=True):
        names = pair.a.sentence != pair.b.sentence
        texts = row["a"]["text"], row["b"]["text"]
        if names:
            assert texts == (pair.a.fill(pair.a.answer or 0), pair.b.fill(pair.b.answer or 0))
        else:
            assert all(text.startswith(f"{pair.a.sentence}\nA. ") for text in texts)
            assert texts[0].endswith("AB"[pair.a.answer or 0])
        assert texts[0] != texts[1]


@pytest.mark.models
def test_language_model_scores_both_presentations(
    folder: Path, private: Path, keyed: KeyedRelease, tmp_path: Path, cli: Cli
) -> None:
    from winosmith.models import load_causal_model

    texts = [pair.a.sentence for pair in PAIRS]
    model = tiny_language_model(tmp_path / "tiny", texts=texts)
    told = cli.told("exposure", folder, "--model", model)
    assert told["models"]["tiny"]["blocks"] == told["blocks"]
    [path] = (private / "scores").iterdir()
    header, *rows = map(json.loads, path.read_text().splitlines())
    assert (header["model"], len(header["snapshot"])) == ("tiny", 12)
    write_presentations(keyed.pairs[:3], keyed.digest, tmp_path / "both.jsonl")
    both = [json.loads(line) for line in (tmp_path / "both.jsonl").read_text().splitlines()[1:]]
    loaded = load_causal_model(model)
    for row, each in zip(rows, both, strict=False):
        scores = loaded.score_texts([each["a"]["text"], each["b"]["text"]])
        assert [row["a"], row["b"]] == pytest.approx(scores, abs=1e-3)
    assert cli.told("exposure", folder, "--scores", path)["look"] == 1


def test_command_refuses_missing_models_and_coins(folder: Path, private: Path, cli: Cli) -> None:
    assert "name a model with --model" in cli.refused("exposure", folder)
    coins, scores = private / "coins.json", folder / "release.json"
    text = coins.read_text()
    coins.write_text(text.replace(": true", ": false", 1))
    assert "coins don't match its bytes" in cli.refused("exposure", folder, "--scores", scores)
    coins.unlink()
    assert "coins can't be drawn again" in cli.refused("exposure", folder, "--scores", scores)
    scores.write_text("{}")
    assert "is not a keyed release" in cli.refused("exposure", folder, "--scores", scores)
