"""Draw the secret coins of a keyed release, commit to them, and check the private files.

A block's coin is a bit of the HMAC-SHA256 of its id, keyed with 32 secret random bytes. All coins
are proved together by a public commitment: the SHA-256 of these bytes and of digests of the data
and the private presentations. The commitment is hiding: it reveals neither bytes nor answers,
because nobody can try 2²⁵⁶ values. It is binding: other bytes, data or presentations with the same
commitment would be a SHA-256 collision. It doesn't prove that the bytes were drawn only once. After
publication, anyone can compute the other presentation of a problem; before publication, nobody can
predict which of them will be published.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from winosmith import formats
from winosmith.dataset import Dataset
from winosmith.errors import FormatError, InputError, ProblemError
from winosmith.exposure._presentations import iter_presentations
from winosmith.outputs import PRIVATE
from winosmith.problem import Problem
from winosmith.records import (
    dump_json,
    make_problem_record,
    parse_json,
    parse_json_lines,
    parse_problem,
    read_text,
)

KEY_BYTES = 32

COINS, PRESENTATIONS = "coins.json", "presentations.jsonl"
"""Names of the private files."""

_VERSION = 1
"""Format version of the private files."""

_RESTORE = "restore the private files from a backup, because coins can't be drawn again"


@dataclass(frozen=True, slots=True)
class Pair:
    """A problem's two presentations, in an order that doesn't depend on the coin.

    Attributes:
        block: id of the block, which is the alphabetically first id of its problems.
        a: the first presentation, with the answer even if the problem is in the test part.
        b: the second presentation.
    """

    block: str
    a: Problem
    b: Problem


@dataclass(frozen=True)
class KeyedRelease:
    """The presentations and coins of a keyed release.

    Attributes:
        pairs: the problems whose presentation a coin decides, sorted by block and id.
        coins: for each block, whether the first presentation was published.
        digest: digest of the release's data, to which the commitment is bound.
        blocks_without_coin: number of blocks that have no coin, because there is no equivalent
            presentation.
    """

    pairs: tuple[Pair, ...]
    coins: Mapping[str, bool]
    digest: str
    blocks_without_coin: int

    def get_published(self, pair: Pair) -> Problem:
        """Return the published presentation of a pair, with its answer."""
        return pair.a if self.coins[pair.block] else pair.b


def draw_key() -> bytes:
    """Draw secret random bytes from the operating system, without a seed."""
    return secrets.token_bytes(KEY_BYTES)


def compute_coins(key: bytes, release: str, pairs: Iterable[Pair]) -> dict[str, bool]:
    """Compute each block's coin, a bit of HMAC-SHA256, from the secret bytes.

    Args:
        key: the secret bytes.
        release: name and version of the release.
        pairs: the problems.
    """
    return {
        block: bool(hmac.digest(key, f"{release}\n{block}".encode(), "sha256")[0] & 1)
        for block in sorted({pair.block for pair in pairs})
    }


def compute_data_digest(release: str, parts: Mapping[str, Dataset]) -> str:
    """Return the digest of a release's data as 64 hexadecimal digits.

    The digest in a release's name can't be used, because it includes the card with the commitment.

    Args:
        release: name and version of the release.
        parts: the published problems of each part.
    """
    digests = [[part, parts[part].digest] for part in sorted(parts)]
    return hashlib.sha256(dump_json([release, digests]).encode()).hexdigest()


def format_presentations(pairs: Iterable[Pair]) -> str:
    """Return the content of presentations.jsonl."""
    records = (
        {
            "block": p.block,
            "id": p.a.id,
            "a": make_problem_record(p.a),
            "b": make_problem_record(p.b),
        }
        for p in pairs
    )
    return "".join(dump_json(record) + "\n" for record in records)


def compute_commitment(key: bytes, digest: str, presentations: str) -> str:
    """Return the public commitment as 64 hexadecimal digits.

    The commitment is the SHA-256 of the line "winosmith coins 1", the bytes, the digest of the
    data, and the SHA-256 of presentations.jsonl. Each digest is written as hexadecimal digits
    followed by a newline.

    Args:
        key: the secret bytes.
        digest: see `compute_data_digest`.
        presentations: the text of presentations.jsonl.
    """
    presentations_digest = hashlib.sha256(presentations.encode()).hexdigest()
    text = b"winosmith coins 1\n" + key + f"{digest}\n{presentations_digest}\n".encode()
    return hashlib.sha256(text).hexdigest()


def format_coins(key: bytes, keyed: KeyedRelease) -> str:
    """Return the content of coins.json."""
    record = {
        "version": _VERSION,
        "bytes": key.hex(),
        "digest": keyed.digest,
        "coins": dict(keyed.coins),
    }
    return json.dumps(record, indent=1, ensure_ascii=False) + "\n"


@dataclass(frozen=True)
class PrivateFiles:
    """The unchecked contents of coins.json and presentations.jsonl.

    `digest` is the digest of the release's data. `presentations` is the text of
    presentations.jsonl.
    """

    key: bytes
    digest: str
    coins: Mapping[str, bool]
    pairs: tuple[Pair, ...]
    presentations: str


def read_key(path: Path) -> bytes:
    """Read the secret bytes from a coins.json file, even if the rest of the file is missing.

    Raises:
        InputError: the file can't be read, or contains no secret bytes.
    """
    return _parse_key(_read_record(path), path)


def read_private_files(folder: Path) -> PrivateFiles:
    """Read the private files of a keyed release.

    Raises:
        InputError: a file is missing or can't be read.
    """
    path = folder / COINS
    record = _read_record(path)
    key, digest, coins = _parse_key(record, path), record.get("digest"), record.get("coins")
    if (
        record.get("version") != _VERSION
        or not isinstance(digest, str)
        or not isinstance(coins, dict)
        or not all(isinstance(coin, bool) for coin in coins.values())
    ):
        raise FormatError(f"it is not a valid coins file; {_RESTORE}", path)
    path = folder / PRESENTATIONS
    text = _read_text(path, _RESTORE)
    pairs = []
    for line, stored in parse_json_lines(text, path):
        try:
            pair = Pair(stored["block"], parse_problem(stored["a"]), parse_problem(stored["b"]))
        except (KeyError, TypeError, ProblemError) as error:
            raise FormatError(f"invalid pair of presentations: {error}", path, line) from None
        if not pair.a.id == pair.b.id == stored.get("id") or not isinstance(pair.block, str):
            raise FormatError("the two presentations have different ids", path, line)
        pairs.append(pair)
    return PrivateFiles(key, digest, coins, tuple(pairs), text)


def _read_text(path: Path, advice: str) -> str:
    try:
        return read_text(path)
    except FormatError as error:
        raise error.with_reason(f"{error.reason}; {advice}") from None


def _read_record(path: Path, advice: str = _RESTORE) -> dict[str, Any]:
    text = _read_text(path, advice)
    try:
        record = parse_json(text)
    except ValueError as error:
        raise FormatError(f"it is not JSON: {error}; {advice}", path) from None
    if not isinstance(record, dict):
        raise FormatError(f"it is not a JSON object; {advice}", path)
    return record


def _parse_key(record: Mapping[str, Any], path: Path) -> bytes:
    try:
        key = bytes.fromhex(record["bytes"])
    except (KeyError, TypeError, ValueError):
        key = b""
    if len(key) != KEY_BYTES:
        raise FormatError(
            f"the key must be {KEY_BYTES} bytes as hexadecimal digits; {_RESTORE}", path
        )
    return key


def find_faults(
    files: PrivateFiles, release: str, commitment: str, parts: Mapping[str, Dataset]
) -> Iterator[tuple[str, str]]:
    """Yield each private file that doesn't match the release, with the reason.

    Args:
        files: the private files.
        release: name and version of the release.
        commitment: the public commitment.
        parts: the published problems of each part.
    """
    if files.digest != compute_data_digest(release, parts):
        yield COINS, "its coins belong to another release, or the data has changed"
        return
    if compute_commitment(files.key, files.digest, files.presentations) != commitment:
        yield COINS, f"its bytes, or the lines of {PRESENTATIONS}, don't match the commitment"
        return
    if dict(files.coins) != compute_coins(files.key, release, files.pairs):
        yield COINS, "its coins don't match its bytes"
        return
    published_by_id = {problem.id: problem for dataset in parts.values() for problem in dataset}
    for line, pair in enumerate(files.pairs, start=1):
        if pair.b not in [*iter_presentations(pair.a)][1:]:
            reason = f"the two presentations of {pair.a.id!r} are not equivalent"
            yield f"{PRESENTATIONS}:{line}", reason
        expected = pair.a if files.coins[pair.block] else pair.b
        published = published_by_id.get(pair.a.id)
        if published not in (expected, replace(expected, answer=None)):
            reason = f"{pair.a.id!r} is not published in the presentation that its coin selects"
            yield f"{PRESENTATIONS}:{line}", reason


def read_keyed_release(folder: str | Path, private: str | Path | None = None) -> KeyedRelease:
    """Read and check the presentations and coins of a keyed release.

    Args:
        folder: path of the release.
        private: path of its private folder; by default private/NAME next to the release.

    Raises:
        InputError: the release is not keyed, a file can't be read, or the private files don't
            prove the commitment.
    """
    folder = Path(folder).resolve()
    record = _read_record(folder / "release.json", "download it again")
    try:
        release = f"{record['about']['name']} {record['about']['version']}"
        commitment = record["keyed"]["commitment"]
        blocks_without_coin = int(record["keyed"]["without"])
        paths = {part: folder / f"data/{part}.jsonl" for part in record["digests"]}
    except (KeyError, TypeError, ValueError):
        raise InputError(
            f"{folder} is not a keyed release; make one with `winosmith release --keyed`"
        ) from None
    place = folder.parent / PRIVATE / folder.name if private is None else Path(private)
    files = read_private_files(place)
    parts = {part: formats.read(path, "winosmith", as_written=True) for part, path in paths.items()}
    for name, reason in find_faults(files, release, commitment, parts):
        raise InputError(f"{place / name}: {reason}; use the private files of this release")
    return KeyedRelease(files.pairs, files.coins, files.digest, blocks_without_coin)
