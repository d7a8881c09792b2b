"""Verification of releases with random changes neither crashes nor passes."""

import random
import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.release.conftest import seal
from winosmith.release import ReleaseResult, verify

VALUES = (
    "null", "true", "0", "-1", "1e400", "NaN", "9" * 5000, '""', '"x"', '"\\ud800"', "[]", "[[1]]",
    "{}", '{"a":1,"a":2}', "[" * 3000, '{"a":' * 3000, '"//[::1"', '"http://[/"', '"../../x"',
)  # fmt: skip
"""JSON values that once crashed readers."""

PIECES = (
    b"",
    b"\x00",
    b"\xff\xfe",
    b"\r",
    b"\n",
    b'"',
    b"{" * 2000,
    b"a" * 200_000,
    b"\xe2\x80\xa8",
)
"""Bytes that once crashed readers."""

Random = random.Random


def _of_value(raw: bytes, rng: Random) -> bytes:
    text = raw.decode("utf-8", "surrogateescape")
    found = [
        one.span() for one in re.finditer(r'"[^"\n]*"(?!:)|-?\b\d+\b|true|false|null|\[|\{', text)
    ]
    if not found:
        return raw + b"x"
    start, end = rng.choice(found)
    changed = text[:start] + rng.choice(VALUES) + text[end:]
    return changed.encode("utf-8", "surrogateescape")


def _of_key(raw: bytes, rng: Random) -> bytes:
    found = [one.span() for one in re.finditer(rb'"[@\w]+":', raw)]
    if not found:
        return b""
    start, end = rng.choice(found)
    return raw[:start] + rng.choice((b'"odd":', b'"@id":', b'"id":', b'"":')) + raw[end:]


def _of_bytes(raw: bytes, rng: Random) -> bytes:
    start = rng.randrange(len(raw) + 1)
    return raw[:start] + rng.choice(PIECES) + raw[start + rng.choice((0, 1, 40)) :]


def _of_lines(raw: bytes, rng: Random) -> bytes:
    lines = raw.split(b"\n")
    rng.shuffle(lines)
    return b"\n".join(lines[: rng.randrange(len(lines) + 1)])


CHANGES: tuple[Callable[[bytes, Random], bytes], ...] = (
    _of_value, _of_value, _of_value, _of_key, _of_bytes, _of_lines, lambda raw, rng: b"[]",
)  # fmt: skip


def _sealed(folder: Path) -> Path:
    """Update the checksums, unless release.json can't be read."""
    try:
        return seal(folder)
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError, OSError):
        return folder


def _verified(small: ReleaseResult, where: Path, seed: int) -> None:
    """Change one or two files of a release at random, and verify it, also with new checksums."""
    rng = Random(seed)
    folder = Path(shutil.copytree(small.folder, where / small.folder.name))
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    for path in rng.sample(paths, rng.choice((1, 1, 2))):
        whole = path.read_bytes()
        changed = rng.choice(CHANGES)(whole, rng)
        path.write_bytes(changed if changed != whole else whole + b" ")
    assert verify(folder).faults, f"seed {seed}: the change was not found"
    verify(_sealed(folder), private=small.private_folder)


@pytest.mark.parametrize(
    "seeds",
    [
        (*range(30), 1837),
        *(pytest.param(range(n, n + 100), marks=pytest.mark.long) for n in range(30, 2030, 100)),
    ],
    ids=lambda seeds: f"{seeds[0]} to {seeds[-1]}",
)
def test_random_changes_neither_crash_nor_pass(
    seeds: Sequence[int], small: ReleaseResult, tmp_path: Path
) -> None:
    """Changed values, keys, bytes and lines contradict the released checksums.

    With updated checksums, verification reads the release to its end.
    """
    for seed in seeds:
        where = tmp_path / str(seed)
        _verified(small, where, seed)
        shutil.rmtree(where)
