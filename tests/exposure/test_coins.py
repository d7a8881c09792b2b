"""Coins of a keyed release: secret, fair, and proved by their commitment."""

import hashlib
import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from scipy.stats import binomtest

from winosmith import Dataset, Problem, formats, practice
from winosmith.errors import InputError
from winosmith.exposure import (
    COINS,
    PRESENTATIONS,
    KeyedRelease,
    Pair,
    compute_coins,
    compute_commitment,
    compute_data_digest,
    draw_key,
    format_coins,
    format_presentations,
    present_blocks,
    read_keyed_release,
)

NAME = "small 1.0.0"


def pairs_of(data: Dataset) -> tuple[Pair, ...]:
    """Return the pairs of a data set, by block and id."""
    found = [
        Pair(min(p.id for p in one.a), a, b)
        for one in present_blocks(data, ["dev"] * len(data))
        for a, b in zip(one.a, one.b, strict=True)
    ]
    return tuple(sorted(found, key=lambda pair: (pair.block, pair.a.id)))


PAIRS = pairs_of(practice.generate_corpus(30, seed=1).dataset)


def write_release(folder: Path, key: bytes, pairs: tuple[Pair, ...] = PAIRS) -> Path:
    """Write a release with the private files that `read_keyed_release` reads; return its folder."""
    coins = compute_coins(key, NAME, pairs)
    keyed = KeyedRelease(pairs, coins, "", 0)
    dev = Dataset(map(keyed.get_published, pairs), "dev")
    digest, lines = compute_data_digest(NAME, {"dev": dev}), format_presentations(pairs)
    public, private = folder / "small-1.0.0-0", folder / "private/small-1.0.0-0"
    formats.write(dev.problems, public / "data/dev.jsonl")
    private.mkdir(parents=True)
    record = {
        "about": {"name": "small", "version": "1.0.0"},
        "digests": {"dev": dev.digest},
        "keyed": {"commitment": compute_commitment(key, digest, lines), "without": 2},
    }
    (public / "release.json").write_text(json.dumps(record), "utf-8")
    (private / PRESENTATIONS).write_text(lines, "utf-8")
    text = format_coins(key, KeyedRelease(pairs, coins, digest, 2))
    (private / COINS).write_text(text, "utf-8")
    return public


def test_keyed_release_round_trips(tmp_path: Path) -> None:
    """Each published problem is the presentation that its coin selects."""
    key = draw_key()
    folder = write_release(tmp_path, key)
    found = read_keyed_release(folder)
    assert found.pairs == PAIRS
    assert found.coins == compute_coins(key, NAME, PAIRS)
    assert found.blocks_without_coin == 2
    published = {p.id: p for p in formats.read(folder / "data/dev.jsonl")}
    assert all(published[pair.a.id] == found.get_published(pair) for pair in found.pairs)


def test_commitment_is_the_documented_digest() -> None:
    """So anyone can recompute it."""
    key, lines = bytes(range(32)), format_presentations(PAIRS)
    other = hashlib.sha256(lines.encode()).hexdigest()
    text = b"winosmith coins 1\n" + key + b"d\n" + other.encode() + b"\n"
    assert compute_commitment(key, "d", lines) == hashlib.sha256(text).hexdigest()


@given(st.binary(min_size=32, max_size=32), st.integers(0, 255))
def test_commitment_changes_with_any_bit_of_its_inputs(key: bytes, bit: int) -> None:
    flipped = (int.from_bytes(key, "big") ^ (1 << bit)).to_bytes(32, "big")
    made = {
        compute_commitment(key, "d", "p"),
        compute_commitment(flipped, "d", "p"),
        compute_commitment(key, "e", "p"),
    }
    assert len(made | {compute_commitment(key, "d", "q")}) == 4


def test_coins_are_fair_and_independent() -> None:
    """In total, per block, between neighbouring blocks, and for blocks with long sentences."""
    tosses = [list(compute_coins(draw_key(), NAME, PAIRS).values()) for _ in range(400)]
    blocks = len(tosses[0])
    counts = [sum(map(sum, tosses)), *(sum(of) for of in zip(*tosses, strict=True))]
    assert binomtest(counts[0], 400 * blocks).pvalue > 1e-6
    assert all(binomtest(count, 400).pvalue > 1e-6 for count in counts[1:])
    same = sum(one == other for of in tosses for one, other in pairwise(of))
    assert binomtest(same, 400 * (blocks - 1)).pvalue > 1e-6
    lengths = [len(pair.a.sentence) for pair in PAIRS if pair.a.id == pair.block]
    long = [length > sorted(lengths)[blocks // 2] for length in lengths]
    heads = sum(coin for of in tosses for coin, is_long in zip(of, long, strict=True) if is_long)
    assert binomtest(heads, 400 * sum(long)).pvalue > 1e-6


def test_coins_depend_only_on_bytes_version_and_block_ids() -> None:
    key = draw_key()
    assert compute_coins(key, NAME, PAIRS) == compute_coins(key, NAME, PAIRS[::-1])
    assert compute_coins(key, NAME, PAIRS) != compute_coins(key, "small 1.0.1", PAIRS)
    blank = [Pair(pair.block, Problem("x", "_", ("a", "b")), pair.b) for pair in PAIRS]
    assert compute_coins(key, NAME, blank) == compute_coins(key, NAME, PAIRS)


def _changed(folder: Path, name: str, old: str, new: str) -> None:
    path = folder.parent / "private" / folder.name / name
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), "utf-8")


@pytest.mark.parametrize(
    ("name", "old", "new", "fault"),
    [
        (COINS, "true", "false", "its coins don't match its bytes"),
        (COINS, '"bytes": "', '"bytes": "00', "the key must be 32 bytes as hexadecimal digits"),
        (COINS, '"version": 1', '"version": 2', "not a valid coins file"),
        (COINS, "{", "[", "it is not JSON"),
        (COINS, '"digest": "', '"digest": "0', "belong to another release, or the data has"),
        (PRESENTATIONS, '"a":{', '"a":{"embargo":true,', "don't match the commitment"),
        (PRESENTATIONS, '"block"', '"b"', "occurs twice in one object"),
        (PRESENTATIONS, '"answer":0', '"answer":7', "invalid pair of presentations"),
        (PRESENTATIONS, '"id"', '"no"', "the two presentations have different ids"),
    ],
)
def test_changed_private_files_are_refused(
    name: str, old: str, new: str, fault: str, tmp_path: Path
) -> None:
    folder = write_release(tmp_path, draw_key())
    _changed(folder, name, old, new)
    with pytest.raises(InputError, match=rf"(?s){name.replace('.', '[.]')}.*{fault}"):
        read_keyed_release(folder)


def test_private_files_of_other_releases_are_refused(tmp_path: Path) -> None:
    """Missing ones are refused too."""
    folder = write_release(tmp_path / "one", draw_key())
    other = write_release(tmp_path / "two", draw_key())
    private = tmp_path / "two/private" / other.name
    with pytest.raises(InputError, match="coins belong to another release"):
        read_keyed_release(folder, private)
    key = json.loads((private / COINS).read_text("utf-8"))["bytes"]
    old = json.loads((tmp_path / f"one/private/{folder.name}/{COINS}").read_text("utf-8"))["bytes"]
    _changed(folder, COINS, old, key)
    with pytest.raises(InputError, match=r"lines of presentations\.jsonl, don't match"):
        read_keyed_release(folder)
    for name in (PRESENTATIONS, COINS):
        (private / name).unlink()
        with pytest.raises(InputError, match=f"{name}: No such file.*can't be drawn again"):
            read_keyed_release(other)
    (folder / "release.json").write_text("{}", "utf-8")
    with pytest.raises(InputError, match="is not a keyed release; make one with"):
        read_keyed_release(folder)


def test_data_in_the_other_presentation_are_refused(tmp_path: Path) -> None:
    folder = write_release(tmp_path, draw_key())
    keyed = read_keyed_release(folder)
    first, *rest = keyed.pairs
    other = first.b if keyed.coins[first.block] else first.a
    formats.write([other, *map(keyed.get_published, rest)], folder / "data/dev.jsonl")
    with pytest.raises(InputError, match="or the data has changed"):
        read_keyed_release(folder)
