"""Make two equivalent presentations of each block, and draw the secret coins that choose one.

A presentation is changed by swapping two names or reversing the options. Each operation is its own
inverse, and uses neither ids nor answers. So the two presentations and their order don't depend on
which of them a source or release contains.

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
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from winosmith import formats
from winosmith.blocks import find_blocks
from winosmith.dataset import Dataset
from winosmith.errors import FormatError, InputError, ProblemError
from winosmith.metrics import switch_options
from winosmith.outputs import PRIVATE
from winosmith.problem import BLANK, Lineage, Problem
from winosmith.recast import find_order_reference, reorder_options
from winosmith.records import (
    dump_json,
    make_problem_record,
    parse_json,
    parse_json_lines,
    parse_problem,
    read_text,
)
from winosmith.text import is_content
from winosmith.validate import find_gender

Kind = Literal["names", "options"]
"""How two presentations differ: the names are swapped, or the options are reversed."""

_WORDS_ABOUT_NAMES = re.compile(
    r"\b(?:names?|named|namesakes?|nick\w*|spell\w*|initials?|alphabet\w*|syllables?|rhym\w*)\b",
    re.IGNORECASE,
)
"""Words that may make a sentence depend on the letters or the sound of a name."""

_WORD = re.compile(r"\w+")

_UNMODIFIED_WORD = re.compile(
    r"(?<![\w'’-])(?<!\b[Aa] )(?<!\b[Aa]n )(\w+)(?:['’]s)?(?![\w'’-]|\s+[A-Z])"
)
"""A word or its possessive that has no article, hyphen, other apostrophe or following surname."""

_WORD_AFTER_CAPITAL = re.compile(r"(?<=[^\s.!?:\"“])\s+[A-Z]\w*\.?\s+(?=(\w+))")
"""A word that follows a capitalised word within a sentence, as in "met Aunt Mary"."""

_LETTERED_OPTIONS = re.compile(r"(?:^|[\s(])A[.):]\s.*[\s(]B[.):]\s", re.DOTALL)
"""A question that lists its options with letters."""


def swap_names(problem: Problem) -> Problem | None:
    """Return the problem with the names of its two people swapped, or None.

    The options keep their order, and the other option becomes the answer. Both options must be
    given names of one gender, so that all pronouns fit. Each mention must be exactly the name or
    its possessive with "'s". Nothing in the text may depend on the names. Otherwise, the result is
    None. It is also None if the problem has edits, which would need the same swap.

    >>> pair = Problem("p", "Ann sold Maria's car because _ moved.", ("Ann", "Maria"), 1)
    >>> other = swap_names(pair)
    >>> other.sentence, other.answer
    ("Maria sold Ann's car because _ moved.", 0)
    >>> swap_names(Problem("p", "The cup hit the jug; the _ broke.", ("cup", "jug"), 1))
    """
    if not _has_two_names(problem):
        return None
    other = next(iter(switch_options(Dataset([problem])).kept), None)
    return other if other is not None and _has_two_names(other) else None


def _has_two_names(problem: Problem) -> bool:
    names, sentence = problem.options, problem.sentence
    anchor = (problem.origin and problem.origin.anchor) or ""
    if (
        len(names) != 2
        or {find_gender(name) for name in names} not in ({"female"}, {"male"})
        or not all(map(_is_given_name, names))
        or not (problem.blank is None or sentence.count(BLANK) == 1)
        or (problem.lineage is not None and problem.lineage.edits)
        or _WORDS_ABOUT_NAMES.search(sentence)
    ):
        return False
    words = _WORD.findall(sentence)
    mentions = [word for word in words if word.lower() in {name.lower() for name in names}]
    plain = [word for word in _UNMODIFIED_WORD.findall(sentence) if word in names]
    starts = {name[:3] for name in names}
    return (
        mentions == plain
        and set(plain) == set(names)
        and not set(_WORD_AFTER_CAPITAL.findall(sentence)) & set(names)
        and not {word for word in words if word[:3] in starts} - set(names)
        and not set(_WORD.findall(anchor)) & set(names)
    )


def _is_given_name(option: str) -> bool:
    """Return whether an option is a given name, and not a word such as "Queen" or "will"."""
    lower = option.lower()
    return (
        option.isalpha() and option.istitle() and find_gender(lower) is None and is_content(lower)
    )


def reverse_options(problem: Problem) -> Problem | None:
    """Return the problem with its options in reverse order, or None.

    The result is None if the order has a meaning, as for "all of the above", or if the reversed
    options are the same.

    >>> reverse_options(Problem("p", "It is _.", ("red", "green", "blue"), 0)).options
    ('blue', 'green', 'red')
    >>> reverse_options(Problem("p", "It is _.", ("red", "green", "all of the above"), 0))
    """
    is_lettered = _LETTERED_OPTIONS.search(problem.sentence)
    if is_lettered or find_order_reference(problem.sentence, problem.options):
        return None
    other = reorder_options(problem, range(len(problem.options))[::-1])
    return None if other.options == problem.options else other


def iter_presentations(problem: Problem) -> Iterator[Problem]:
    """Yield the problem and its other presentation of each kind."""
    yield problem
    yield from (other for other in (swap_names(problem), reverse_options(problem)) if other)


@dataclass(frozen=True)
class PresentedBlock:
    """A block of problems in its two presentations.

    Attributes:
        rows: row numbers of the problems, ascending.
        kind: difference between the presentations; None if there is no second presentation.
        a: the problems in the first presentation, in the order of the rows.
        b: the problems in the second presentation; empty if there is none.
    """

    rows: tuple[int, ...]
    kind: Kind | None
    a: tuple[Problem, ...]
    b: tuple[Problem, ...]


def present_blocks(problems: Sequence[Problem], splits: Sequence[str]) -> list[PresentedBlock]:
    """Return the two presentations of each block.

    All problems of a block change together. Names are swapped if the result is equivalent for all
    of them; otherwise, options are reversed. The first presentation is the one whose sorted texts
    come first in alphabetical order.

    Problems that become look-alikes only if names are swapped in one of them are also in one block.
    If such problems are in different splits, their names are not swapped, because the release could
    otherwise publish look-alikes in different splits.

    Args:
        problems: problems with distinct ids.
        splits: name of each problem's split.

    Returns:
        The blocks, in the order of their first rows.
    """
    swapped = [swap_names(problem) for problem in problems]
    # The same form of a problem represents it, whichever presentation is given.
    forms = zip(problems, swapped, strict=True)
    first = _map_to_first_rows([min(p, other or p, key=_get_text) for p, other in forms])
    both = [
        replace(p, id=f"{at} {row}", lineage=Lineage(f"{first[row]}", f"{first[row]}"))
        for at, form in enumerate((problems, swapped))
        for row, p in enumerate(form)
        if p is not None
    ]
    found: list[PresentedBlock] = []
    as_given: dict[int, int] = {}
    for block in find_blocks(Dataset(both)):
        rows = sorted({int(both[at].id.split()[1]) for at in block})
        if len({splits[row] for row in rows}) == 1:
            found.append(_present_block(problems, swapped, rows))
        else:
            nothing = [None] * len(problems)
            as_given = as_given or _map_to_first_rows(problems)
            parts = {as_given[row] for row in rows}
            found += [
                _present_block(problems, nothing, [row for row in rows if as_given[row] == part])
                for part in parts
            ]
    return sorted(found, key=lambda one: one.rows)


def _map_to_first_rows(problems: Iterable[Problem]) -> dict[int, int]:
    return {row: min(rows) for rows in find_blocks(Dataset(problems)) for row in rows}


def _present_block(
    problems: Sequence[Problem], swapped: Sequence[Problem | None], rows: Sequence[int]
) -> PresentedBlock:
    originals = tuple(problems[row] for row in rows)
    forms: dict[Kind, list[Problem | None]] = {
        "names": [swapped[row] for row in rows],
        "options": [reverse_options(problem) for problem in originals],
    }
    for kind, form in forms.items():
        other = tuple(problem for problem in form if problem is not None)
        if len(other) == len(originals) and _sort_texts(originals) != _sort_texts(other):
            a, b = sorted((originals, other), key=_sort_texts)
            return PresentedBlock(tuple(rows), kind, a, b)
    return PresentedBlock(tuple(rows), None, originals, ())


def _sort_texts(problems: Sequence[Problem]) -> list[tuple[str, tuple[str, ...]]]:
    return sorted(map(_get_text, problems))


def _get_text(problem: Problem) -> tuple[str, tuple[str, ...]]:
    return problem.sentence, problem.options


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
    record = _read_record(folder / "release.json", "name a keyed release, or download it again")
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
