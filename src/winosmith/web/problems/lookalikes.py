"""Near-duplicates: sentences of the site, or published ones, that share most words with a new one.

Sentences are found by hashes of three consecutive words, called shingles. See Broder (1997). For
each sentence, the database stores a sketch, which consists of a few of its hashes. A new sentence
is looked up by all its hashes, and then compared word by word with the sentences that share a hash.
A million sentences are searched in milliseconds.

For example, eight of a sentence's 18 hashes are stored, and three different words change nine
hashes. A match is missed only if all eight are among the nine: for 9 in 43,758 sentences.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from heapq import nlargest
from typing import Any, NamedTuple, Protocol

from django.db import connection
from django.db.models import Q

from winosmith.dataset import Dataset
from winosmith.errors import InputError
from winosmith.problem import BLANK
from winosmith.text import FUNCTION_WORDS, compute_overlap, tokenize
from winosmith.web._lock import chunked, writing
from winosmith.web.people.models import Person
from winosmith.web.problems.models import Problem, Remembered, Shingle, Twin
from winosmith.web.problems.states import REMOVED_STATES, is_visible_to

MIN_SHARE = 0.7
"""Minimum fraction of shared words of near-duplicates, the same as for the halves of a twin."""

MAX_HASHES = 100
"""Maximum number of hashes by which a text is looked up: three times as many as a half has."""

VALUES_STEP = 16
"""The number of values in an SQL statement is a multiple of this, so that statements repeat."""

MAX_PER_HASH = 200
"""Maximum number of sentences considered per hash; a more frequent hash is not informative."""

MAX_COMPARED = 60
"""Maximum number of sentences compared word by word: those with the most and rarest hashes."""

CHUNK = 500
"""Number of published sentences stored per transaction, so that others can write in between."""

HASHES_STORED = 8
"""Number of shingle hashes stored for a sentence, in addition to the hash of the sentence."""

SHINGLE_WORDS = 3

PLACEHOLDER = "•"
"""Placeholder for the blank and each mention of an option, so that names make no difference."""

MIN_CONTENT_SHARE = 0.5
"""Minimum fraction of shared content words; below it, sentences share mostly function words."""

_ARTICLES = frozenset("a an the his her their its my your our".split())


class AnyHalf(Protocol):
    """A sentence with options and an answer, such as a `Half` or a problem."""

    @property
    def sentence(self) -> str: ...

    @property
    def options(self) -> Sequence[str]: ...

    @property
    def answer(self) -> int | None: ...


class Half(NamedTuple):
    """A half that is being written and may be incomplete.

    Attributes:
        sentence: The sentence, which may not have a blank yet.
        options: The options, which may be empty.
        answer: The 0-based index of the correct option; None if it is not chosen yet.
    """

    sentence: str
    options: tuple[str, ...] = ()
    answer: int | None = None


@dataclass(frozen=True, slots=True)
class Lookalike:
    """A sentence that shares most of its words with a new one.

    Attributes:
        source: The published data set, or "" for this site.
        share: The fraction of shared words, 0–1, without options. The fraction is `MIN_SHARE` if
            the reader may not see the text, so that nobody can reconstruct it.
        ref: The id; "" if the reader may not see it.
        sentence: The text; None if the reader may not see it.
    """

    source: str
    share: float
    ref: str = ""
    sentence: str | None = None


def find_lookalikes(
    halves: Sequence[AnyHalf],
    *,
    skip_twin: int | None = None,
    family: Problem | None = None,
    reader: Person | None = None,
    include_hidden: bool = False,
    limit: int = 5,
) -> list[Lookalike]:
    """Return the near-duplicates of halves, nearest first, at most one per twin on the site.

    Words are compared ignoring punctuation and case, with placeholders for options, so that
    different names don't make a new sentence. Withdrawn and revised problems are ignored. Readers
    who are not moderators see the text of public and published problems and of their own problems.
    All other similar problems give a single result without text or share, unless they are under
    embargo. Gold questions are treated like problems that are being judged, so that judges can't
    recognise them.

    Args:
        halves: The sentences, which may be unfinished, with their options so far.
        skip_twin: The key of a twin to ignore, with the twins that it revises.
        family: The root of the halves' family. Its problems are ignored, and so are sentences that
            are similar only because the root is similar, such as a published copy of the root.
        reader: The reader; None for a person without an account.
        include_hidden: Whether to report problems under embargo, without text or share.
        limit: The maximum number of results.
    """
    asked = [get_words_to_compare(half.sentence, half.options) for half in halves]
    numbers = [hash_shingles(words)[:MAX_HASHES] for words in asked]
    stored: Sequence[tuple[int, int]] = _look_up_hashes(
        list({number: None for own in numbers for number in own})
    )
    if family and stored:
        # A large family must not crowd out other sentences.
        kin = Remembered.objects.filter(pk__in={key for _, key in stored})
        kin = kin.filter(Q(problem__version__root=family) | Q(problem__twin=family.twin_id))
        kin_keys = set(kin.values_list("pk", flat=True))
        stored = [pair for pair in stored if pair[1] not in kin_keys]
    likeliest = [_rank_keys(stored, set(own)) for own in numbers]
    if not any(likeliest):
        return []
    rows = _load_sentences({key for keys in likeliest for key in keys}, skip_twin)
    root = get_words_to_compare(family.sentence, family.options) if family else None
    near: dict[Any, Lookalike] = {}
    key: Any
    for words, keys in zip(asked, likeliest, strict=True):
        for row in filter(None, map(rows.get, keys)):
            problem = row.problem
            indexed = problem or row
            theirs = get_words_to_compare(indexed.sentence, indexed.options)
            share = compute_word_overlap(words, theirs)
            near_root = 0.0 if root is None else compute_word_overlap(theirs, root)
            # An identical sentence that is not the root is reported although the root is similar.
            if share < MIN_SHARE or (near_root >= MIN_SHARE and (share < 1 or near_root == 1)):
                continue
            if problem is None:
                key, shown = row.pk, Lookalike(row.source, share, row.ref, row.sentence)
            elif is_visible_to(reader, problem):
                key = ("twin", problem.twin_id)
                shown = Lookalike("", share, problem.ref, problem.sentence)
            elif include_hidden or not problem.embargo:
                key, shown = "hidden", Lookalike("", MIN_SHARE)
            else:
                continue
            if key not in near or shown.share > near[key].share:
                near[key] = shown
    return sorted(near.values(), key=lambda one: (-one.share, one.source, one.ref))[:limit]


def _load_sentences(keys: set[int], skip_twin: int | None) -> dict[int, Remembered]:
    """Return indexed sentences, except those of removed problems and of `skip_twin`'s versions."""
    skipped: set[int] = set()
    while skip_twin is not None and skip_twin not in skipped:
        skipped.add(skip_twin)
        skip_twin = Twin.objects.filter(pk=skip_twin).values_list("revises", flat=True).first()
    asked = [*keys, *range(-(-len(keys) % VALUES_STEP), 0)]  # padded with negative numbers: no keys
    rows = Remembered.objects.select_related("problem__twin").filter(pk__in=asked)
    return {
        row.pk: row
        for row in rows
        if row.problem is None
        or not (row.problem.twin_id in skipped or row.problem.state in REMOVED_STATES)
    }


def index_problems(*problems: Problem, new: bool = False) -> None:
    """Add problems to the near-duplicate index, unless they are already in it.

    If `new` is set, they were created in this transaction, so that no check is needed.
    """
    with writing():
        known: set[int] = set()
        if not new:
            added = Remembered.objects.filter(problem__in=problems)
            known.update(added.values_list("problem_id", flat=True))
        rows = [Remembered(problem=problem) for problem in problems if problem.pk not in known]
        Remembered.objects.bulk_create(rows)
        _insert_hashes((row, hash_sketch(row.problem)) for row in rows)


def unindex_problem(problem: Problem) -> None:
    """Remove a problem from the near-duplicate index; call this before erasing its text."""
    with writing():
        for row in Remembered.objects.filter(problem=problem):
            hashes = hash_sketch(problem)
            Shingle.objects.filter(value__in=hashes, remembered_id=row.pk).delete()
            row.delete()


def index_published_dataset(
    dataset: Dataset, source: str, *, on_progress: Callable[[int], object] | None = None
) -> int:
    """Add the sentences of a published data set to the near-duplicate index.

    Contributors see `source`, a name of up to 80 characters. Answers are not stored. Many small
    transactions are used; after each, `on_progress` is called with the number of finished problems.
    After an interrupt, or with a newer version of the data set, the same call adds the missing
    sentences. Return the number of added sentences.
    """
    if not 1 <= len(source.strip()) <= 80:
        raise InputError(
            f"the name of a published data set must have 1 to 80 characters, not {source!r}"
        )
    added, done = 0, 0
    for chunk in chunked(dataset, CHUNK):
        rows = [
            Remembered(source=source, ref=p.id[:200], sentence=p.sentence, options=list(p.options))
            for p in chunk
        ]
        hashes = {row.ref: hash_sketch(row) for row in rows}
        with writing():
            stored = Remembered.objects.filter(source=source, problem=None, ref__in=hashes)
            known = set(stored.values_list("ref", flat=True))
            new = Remembered.objects.bulk_create(row for row in rows if row.ref not in known)
            _insert_hashes((row, hashes[row.ref]) for row in new)
        added, done = added + len(new), done + len(chunk)
        if on_progress:
            on_progress(done)
    return added


def _insert_hashes(sketches: Iterable[tuple[Remembered, Sequence[int]]]) -> None:
    pairs = [(number, row.pk) for row, numbers in sketches for number in numbers]
    into = f"INSERT INTO {Shingle._meta.db_table} (value, remembered_id) "
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            columns = [list(column) for column in zip(*pairs, strict=True)] or [[], []]
            unnested = "SELECT * FROM unnest(%s::bigint[], %s::bigint[])"
            cursor.execute(into + unnested, columns)
        else:
            cursor.executemany(f"{into} VALUES (%s, %s)", pairs)


def _look_up_hashes(hashes: Sequence[int]) -> list[tuple[int, int]]:
    select = (
        f"SELECT value, remembered_id FROM {Shingle._meta.db_table} "  # noqa: S608
        f"WHERE value = {{}} LIMIT {MAX_PER_HASH}"
    )
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":  # one plan, however many numbers
            each = select.format("asked.number")
            cursor.execute(
                "SELECT stored.* FROM unnest(%s::bigint[]) AS asked (number) "  # noqa: S608
                f"CROSS JOIN LATERAL ({each}) AS stored",
                [list(hashes)],
            )
        else:
            each = f"SELECT * FROM ({select.format('%s')})"  # noqa: S608
            asked = [*hashes, *[None] * (-len(hashes) % VALUES_STEP)]
            cursor.execute(" UNION ALL ".join([each] * len(asked)), asked)
        return list(cursor.fetchall())


def _rank_keys(stored: Sequence[tuple[int, int]], hashes: set[int]) -> list[int]:
    """Return the keys that share the most hashes; frequent hashes have smaller weights."""
    own = [(number, key) for number, key in stored if number in hashes]
    times = Counter(number for number, _ in own)
    weights: defaultdict[int, float] = defaultdict(float)
    for number, key in own:
        weights[key] += 1 / times[number]
    return nlargest(MAX_COMPARED, weights, key=weights.__getitem__)


def get_words_to_compare(sentence: str, options: Sequence[str] = ()) -> list[str]:
    """Return a sentence's words for comparison: lower-case, no punctuation, masked options.

    >>> get_words_to_compare("Ann thanked the old man because _ was kind.", ["Ann", "the old man"])
    ['•', 'thanked', 'the', '•', 'because', '•', 'was', 'kind']
    """
    words = list(_iter_plain_words(sentence))
    masked = []
    for option in options:
        own = list(_iter_plain_words(option))
        masked.append(own[1:] if len(own) > 1 and own[0] in _ARTICLES else own)
    for option_words in sorted(masked, key=len, reverse=True):
        words = list(_mask_option(words, option_words))
    return [PLACEHOLDER if word == BLANK else word for word in words]


def compute_word_overlap(first: Sequence[str], second: Sequence[str]) -> float:
    """Return the fraction of words (0–1) that two sentences share; see `compute_overlap`.

    The words are those of `get_words_to_compare`. The fraction is 0 if they share less than
    `MIN_CONTENT_SHARE` of the content words. Without this rule, 1,572 other sentences share 70 % of
    their words with one of 250 sentences of WinoGrande; in most cases, the shared words are mainly
    function words.
    """
    if (
        compute_overlap(_select_content_words(first), _select_content_words(second))
        < MIN_CONTENT_SHARE
    ):
        return 0.0
    return compute_overlap(first, second)


def hash_shingles(words: Sequence[str]) -> list[int]:
    """Hash a sentence and its shingles for a lookup; the whole sentence's hash comes first.

    `words` are from `get_words_to_compare`. The hashes are distinct integers that fit a signed
    64-bit column. Shingles with at least two content words come first, because they occur in fewer
    sentences; those without content words are omitted.
    """
    whole = _hash_text("\0".join(("", *words)))
    ranked = {}
    for start in range(len(words) - SHINGLE_WORDS + 1):
        three = words[start : start + SHINGLE_WORDS]
        if content := len(_select_content_words(three)):
            number = _hash_text("\0".join(three))
            ranked[number] = (content < 2, number)
    return [whole, *sorted(ranked.keys() - {whole}, key=ranked.__getitem__)]


def hash_sketch(half: AnyHalf) -> list[int]:
    """Return the stored hashes of a sentence: its own hash, and `HASHES_STORED` of its shingles."""
    return hash_shingles(get_words_to_compare(half.sentence, half.options))[: 1 + HASHES_STORED]


def _select_content_words(words: Sequence[str]) -> list[str]:
    return [word for word in words if word != PLACEHOLDER and word not in FUNCTION_WORDS]


def _iter_plain_words(text: str) -> Iterator[str]:
    for token in tokenize(text):
        if token == BLANK or any(map(str.isalnum, token)):
            yield token.lower()


def _mask_option(words: Sequence[str], option: Sequence[str]) -> Iterator[str]:
    at, length = 0, len(option)
    while at < len(words):
        if length and list(words[at : at + length]) == list(option):
            yield PLACEHOLDER
            at += length
        else:
            yield words[at]
            at += 1


def _hash_text(text: str) -> int:
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)
