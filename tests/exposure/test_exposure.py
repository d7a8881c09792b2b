"""Scores of both presentations, their sign test, and the ledger of looks."""

import json
from collections.abc import Callable, Mapping
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import norm

from tests.exposure.test_coins import pairs_of, write_release
from winosmith import exposure as exposures, practice
from winosmith.errors import DataError, FormatError
from winosmith.exposure import (
    KeyedRelease,
    compute_detectable_shift,
    compute_look_level,
    read_keyed_release,
    read_scores,
    sign_test,
    signed_ranks,
    subtract_fit,
    tail_probability,
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


def test_model_that_prefers_published_texts_is_found(folder, write, cli):
    """The p-value is adjusted for the two models of the look."""
    seen, new = write("seen", 3.0), write("new", seed=1)
    shown = cli("exposure", folder, "--scores", seen, "--scores", new)
    assert "seen depends on the coins (through training, retrieval, or selection" in shown
    assert "shown for new; this does not mean that the release was not seen" in shown
    assert "sees both presentations" in shown
    told = cli.told("exposure", folder, "--scores", seen, "--scores", new)
    found, other = told["models"]["seen"], told["models"]["new"]
    assert (told["look"], told["blocks_without_coin"]) == (1, 2)
    assert (found["depends"], other["depends"]) == (True, False)
    assert found["adjusted"] == pytest.approx(2 * found["p_value"])
    assert found["interval"][0] > 0 > other["interval"][0]
    assert found["blocks"] == told["blocks"] == len({pair.block for pair in PAIRS})


def test_later_looks_have_smaller_levels(keyed, private, write):
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


def test_damaged_or_locked_ledger_is_refused(keyed, private, write):
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


def test_letters_are_graded_in_each_presentation(keyed, tmp_path):
    """Each presentation has its own key; null counts as incorrect."""
    lines: list[Mapping[str, Any]] = [{"release": keyed.digest, "model": "m"}]
    for row, pair in enumerate(keyed.pairs):
        a, b = pair.a.answer or 0, pair.b.answer or 0
        answered = (("AB"[a], "AB"[b]), ("AB"[a], "AB"[1 - b]), (None, "AB"[b]))[row % 3]
        lines.append({"id": pair.a.id, "a": answered[0], "b": answered[1]})
    scores = read_scores(_write(tmp_path / "m.jsonl", lines), keyed.pairs, keyed.digest)
    assert scores.kind == "answers"
    assert scores.differences.tolist() == [(0, 1, -1)[row % 3] for row in range(len(keyed.pairs))]


BAD: list[tuple[Callable[[list[Any]], object], str]] = [
    (lambda lines: lines.pop(0), "the file has no header"),
    (
        lambda lines: lines[0].update(release="0" * 64),
        "scores are for the release '000000000000', not for",
    ),
    (lambda lines: lines[0].update(model=None), "the header has no model name"),
    (
        lambda lines: lines.__setitem__(slice(None), [{"id": "x", "choice": 1}]),
        ":1: .*Published answers can't be used",
    ),
    (lambda lines: lines[1].pop("b"), ":2: .*no scores 'a' and 'b'"),
    (lambda lines: lines[1].update(id="x"), ":2: the release has no item 'x'"),
    (lambda lines: lines.append(lines[1]), "already has scores"),
    (lambda lines: lines.pop(), "1 of 180 items have no scores"),
    (lambda lines: lines[2].update(a=10**400), "use finite numbers for both"),
    (lambda lines: lines[2].update(a=float("nan")), ":3: .*NaN is not a JSON number"),
    (lambda lines: lines[2].update(a=True), ":3: .*True.*use finite numbers"),
    (lambda lines: lines[2].update(a="A", b="B"), ":3: .*use finite numbers"),
    (lambda lines: [line.update(a="C", b="A") for line in lines[1:]], "use option letters"),
]


@pytest.mark.parametrize(("change", "message"), BAD, ids=[message for _, message in BAD])
def test_invalid_score_files_are_refused(change, message, keyed, write):
    path = write("m")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    change(lines)
    with pytest.raises(FormatError, match=message):
        read_scores(_write(path, lines), keyed.pairs, keyed.digest)


def test_untestable_scores_are_refused(keyed, private, write):
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


def test_presentations_are_exported_with_their_texts(folder, keyed, tmp_path, cli):
    aside = cli.aside("exposure", folder, "--export", tmp_path / "both.jsonl")
    assert "180 items" in aside
    assert "Keep the file secret" in aside
    header, *rows = map(json.loads, (tmp_path / "both.jsonl").read_text().splitlines())
    assert header == {"release": keyed.digest, "model": None}
    assert [row["id"] for row in rows] == [pair.a.id for pair in keyed.pairs]
    for pair, row in zip(keyed.pairs, rows, strict=True):
        texts = row["a"]["text"], row["b"]["text"]
        if pair.a.sentence != pair.b.sentence:
            assert texts == (pair.a.fill(pair.a.answer or 0), pair.b.fill(pair.b.answer or 0))
        else:
            assert all(text.startswith(f"{pair.a.sentence}\nA. ") for text in texts)
            assert texts[0].endswith("AB"[pair.a.answer or 0])
        assert texts[0] != texts[1]


@pytest.mark.models
def test_language_model_scores_both_presentations(folder, private, keyed, tmp_path, cli):
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


def test_command_refuses_missing_models_and_coins(folder, private, cli):
    assert "name a model with --model" in cli.refused("exposure", folder)
    (private / "coins.json").unlink()
    refused = cli.refused("exposure", folder, "--scores", folder / "release.json")
    assert "coins can't be drawn again" in refused


SIGNS = np.array([*product([-1, 1], repeat=10)])

ONE = np.zeros(10, np.int64)
"""One stratum."""

differences = st.lists(
    st.floats(-1e6, 1e6, allow_subnormal=False) | st.sampled_from([-1.0, 0.0, 1.0]),
    min_size=10,
    max_size=10,
).map(np.array)


@given(differences, st.floats(-9, 9))
def test_p_values_are_exact_over_all_draws_of_ten_coins(values, prefers):
    """Each p is the fraction of the 1,024 draws with a sum at least as large."""
    left = subtract_fit(values + prefers, ONE)
    scores = signed_ranks(left)
    sums = SIGNS @ scores
    exact = [np.mean(sums >= one) for one in sums]
    assert tail_probability(scores, sums) == pytest.approx(exact, abs=1e-11)
    if left.any():
        assert sign_test(left, SIGNS[3] > 0).p_value == pytest.approx(np.mean(sums >= sums[3]))


def test_tail_of_2000_blocks_is_nearly_normal():
    """The least p-value is 1e-12."""
    scores = signed_ranks(np.random.default_rng(0).normal(size=2_000))
    spread = np.sqrt((scores**2).sum())
    z = np.array([-2, 0, 1, 3, 5])
    tails = tail_probability(scores, (z * spread).astype(int))
    assert tails == pytest.approx(norm.sf(z), rel=0.06)
    assert tail_probability(scores, [10**9, -(10**9)]).tolist() == [1e-12, 1]


@given(st.integers(0, 2**32), st.floats(-1e3, 1e3), st.floats(-1e3, 1e3))
def test_preference_for_a_presentation_has_no_effect(seed, one, two):
    """It may have any size in each stratum."""
    rng = np.random.default_rng(seed)
    values, strata = rng.standard_t(3, 60), rng.integers(0, 2, 60)
    coins = rng.random(60) < 0.5
    plain = sign_test(subtract_fit(values, strata), coins)
    other = sign_test(subtract_fit(values + np.where(strata, one, two), strata), coins)
    assert other.shift == pytest.approx(plain.shift, abs=1e-6)
    assert other.p_value == pytest.approx(plain.p_value, abs=0.02)  # rounding may swap ranks


def test_reference_removes_only_shared_differences():
    """Its multiple is never negative, so an exposed reference doesn't make a model look exposed."""
    rng = np.random.default_rng(1)
    shared, noise = rng.normal(size=(2, 500))
    coins, strata = rng.random(500) < 0.5, np.zeros(500, np.int64)
    published = np.where(coins, 1, -1)
    left = subtract_fit(shared + 0.1 * noise, strata, shared)
    assert left.std() == pytest.approx(0.1, rel=0.1)
    exposed = published - 0.5 * noise  # its differences fall if the model's rise
    assert sign_test(subtract_fit(noise, strata, exposed), coins).p_value > 0.05


def test_interval_covers_the_mean_shift_of_unequal_blocks():
    """Only a tenth of the blocks is remembered."""
    rng = np.random.default_rng(2)
    covered = 0
    for _ in range(400):
        coins = rng.random(200) < 0.5
        shift = np.where(np.arange(200) < 20, 5.0, 0.0)
        left = subtract_fit(
            rng.normal(size=200) + shift * np.where(coins, 1, -1), np.zeros(200, int)
        )
        low, high = sign_test(left, coins).interval
        covered += low <= 0.5 / left.std() <= high
    assert covered / 400 > 0.91


@pytest.mark.parametrize("level", [0.05, 0.0025])
def test_detectable_shift_has_a_power_of_80_percent(level):
    rng, shift, found = np.random.default_rng(3), compute_detectable_shift(80, level), 0
    for _ in range(400):
        coins = rng.random(80) < 0.5
        values = rng.normal(size=80) + shift * np.where(coins, 1, -1)
        left = subtract_fit(values, np.zeros(80, np.int64))
        found += sign_test(left, coins).p_value <= level
    assert 0.73 < found / 400 < 0.87


def test_levels_of_100000_looks_sum_to_almost_5_percent():
    total = sum(compute_look_level(look) for look in range(1, 100_001))
    assert 0.0499 < total < 0.05


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: compute_detectable_shift(0), "must be 1 or more, not 0"),
        (lambda: compute_detectable_shift(9, 1.0), "level must be between 0 and 1, not 1.0"),
        (lambda: compute_detectable_shift(9, 0.1, 0.0), "power must be between 0 and 1"),
        (lambda: compute_look_level(0), "must be at least 1, not 0"),
    ],
)
def test_numbers_out_of_range_are_refused(call, message):  # type: ignore[no-untyped-def]
    with pytest.raises(DataError, match=message):
        call()
