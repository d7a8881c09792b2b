"""WordNet (Fellbaum 1998), from Debian's package or from nltk's data; nothing is downloaded.

The reader is nltk's. Debian's dictionary files lack `lexnames`, and nltk reads only below the
folders that it knows; `_open_reader` answers both.
"""

from __future__ import annotations

import io
import warnings
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from winosmith.errors import InputError, require
from winosmith.text import content_words

_DEBIAN = Path("/usr/share/wordnet")

_NEEDED = ("index.sense", "index.noun", "data.noun", "data.verb", "data.adj", "data.adv")

_ADVICE = (
    "install it with `apt install wordnet-base wordnet-sense-index` (Debian, Ubuntu), or with "
    "`python -m nltk.downloader wordnet`, or name the folder of its files"
)

_LEXNAMES = 45
"""How many lexicographer files WordNet 3 has (lexnames(5WN)); their names are not used here."""

_UNWANTED = frozenset(
    "slang vulgarism obscenity disparagement ethnic_slur archaism dialect".split()
)
"""Usage domains whose words no sentence for strangers should get."""


@dataclass(frozen=True, slots=True)
class Synonym:
    """Another word with a sense.

    Attributes:
        lemma: spaces for underscores.
        count: how often it had this sense in the tagged texts of WordNet.
        share: the fraction of its uses there with this sense, 0–1; without uses, 1 if it has no
            other sense, otherwise 0.
        frames: the numbers of the sentence frames in which it is used as a verb.
    """

    lemma: str
    count: int
    share: float
    frames: frozenset[int]


@dataclass(frozen=True, slots=True)
class Sense:
    """One sense of a word.

    Attributes:
        key: WordNet's name for it ("give.v.03").
        count: how often the word had this sense in the tagged texts of WordNet.
        frames: the numbers of the sentence frames in which the word is used as a verb.
        synonyms: the other words of its synset, except for slang, insults and archaic ones.
        antonyms: antonyms of the word and of its near synonyms.
        near: the content words of its gloss and of the lemmas one step up, in small letters.
    """

    key: str
    count: int
    frames: frozenset[int]
    synonyms: tuple[Synonym, ...]
    antonyms: frozenset[str]
    near: frozenset[str]


def find_wordnet_folder(folder: str | Path | None = None) -> Path:
    """Return the folder or zip of WordNet's dictionary files: the given one, Debian's, or nltk's.

    Raises:
        InputError: they are missing; the message has the command that installs them.
        MissingExtraError: nltk is not installed.
    """
    if folder is not None:
        if not _is_complete(Path(folder)):
            raise InputError(f"{folder} does not hold WordNet's dictionary files; {_ADVICE}")
        return Path(folder)
    if _is_complete(_DEBIAN):
        return _DEBIAN
    data = require("nltk.data", "language")
    for place in map(Path, data.path):
        for name in ("wordnet", "wordnet31"):
            for found in (place / "corpora" / name, place / "corpora" / f"{name}.zip"):
                if _is_complete(found):
                    return found
    raise InputError(f"WordNet is not on this machine; {_ADVICE}")


def _is_complete(place: Path) -> bool:
    if place.suffix == ".zip" and place.is_file():
        with zipfile.ZipFile(place) as archive:
            inside = {Path(name).name for name in archive.namelist()}
        return inside.issuperset(_NEEDED)
    return all((place / name).is_file() for name in _NEEDED)


class WordNet:
    """The senses of words.

    Args:
        folder: folder of the dictionary files; found by `find_wordnet_folder` when omitted. They
            are read when a sense is first asked for, which takes some seconds.
    """

    def __init__(self, folder: str | Path | None = None):
        self.folder = folder

    def senses(self, lemma: str, pos: str) -> tuple[Sense, ...]:
        """Return the senses of a lemma, the most frequent first; none if it is unknown.

        Args:
            lemma: in its dictionary form, spaces between the words of a longer one.
            pos: "n", "v", "a" or "r" for an adverb.

        Raises:
            InputError: WordNet is not on this machine.
            MissingExtraError: nltk is not installed.
        """
        return _read_senses(str(self._found), lemma.lower().replace(" ", "_"), pos)

    def knows(self, lemma: str, pos: str) -> bool:
        """Return whether a lemma has a sense with that part of speech."""
        return pos in _open(str(self._found)).index.get(lemma.lower().replace(" ", "_"), {})

    @property
    def _found(self) -> Path:
        return _find_known_folder(self.folder)


@lru_cache(maxsize=8)
def _find_known_folder(folder: str | Path | None) -> Path:
    return find_wordnet_folder(folder)


@lru_cache(maxsize=200_000)
def _read_senses(folder: str, lemma: str, pos: str) -> tuple[Sense, ...]:
    opened = _open(folder)
    synsets = opened.reader.synsets(lemma, pos)
    return tuple(
        _make_sense(opened, synset, own)
        for synset in synsets
        for own in synset.lemmas()
        if own.name().lower() == lemma
    )


def _make_sense(opened: _Opened, synset: Any, own: Any) -> Sense:
    others = [
        opened.synonym(other)
        for other in synset.lemmas()
        if other.name().lower() != own.name().lower() and not _is_marked(other)
    ]
    alike = [other for similar in (synset, *synset.similar_tos()) for other in similar.lemmas()]
    opposites = {
        _normalize_lemma(opposite) for word in (own, *alike) for opposite in word.antonyms()
    }
    broader = [_normalize_lemma(lemma) for above in synset.hypernyms() for lemma in above.lemmas()]
    words = " ".join([synset.definition(), *synset.examples(), *broader])
    return Sense(
        key=synset.name(),
        count=opened.counts.get(own.key(), 0),
        frames=frozenset(own.frame_ids()),
        synonyms=tuple(sorted(others, key=lambda other: (-other.count, other.lemma))),
        antonyms=frozenset(opposites),
        near=frozenset(content_words(words)),
    )


def _normalize_lemma(lemma: Any) -> str:
    return str(lemma.name()).replace("_", " ")


def _is_marked(lemma: Any) -> bool:
    of_synset = (name for mark in lemma.synset().usage_domains() for name in mark.lemma_names())
    marks = {*of_synset, *(mark.name() for mark in lemma.usage_domains())}
    return not _UNWANTED.isdisjoint(marks)


class _Opened:
    """A reader with the counts of senses in memory; nltk looks each up in a file."""

    def __init__(self, folder: str):
        self.reader = _open_reader(folder)

    @cached_property
    def index(self) -> Mapping[str, Mapping[str, list[int]]]:
        """The places of the senses of each lemma, by part of speech: nltk's own index."""
        return dict(self.reader._lemma_pos_offset_map)

    @cached_property
    def counts(self) -> dict[str, int]:
        """How often each sense, by its key, was met in the tagged texts (cntlist.rev)."""
        with self.reader.open("cntlist.rev") as lines:
            return {key: int(count) for key, _, count in map(str.split, lines)}

    @cached_property
    def totals(self) -> Counter[str]:
        """How often each lemma was met with each part of speech, by the start of its keys."""
        totals: Counter[str] = Counter()
        for key, count in self.counts.items():
            totals[_strip_suffix(key)] += count
        return totals

    def synonym(self, lemma: Any) -> Synonym:
        """Return a lemma of a synset with its counts."""
        count = self.counts.get(lemma.key(), 0)
        total = self.totals[_strip_suffix(lemma.key())]
        frames = frozenset(lemma.frame_ids())
        senses = len(self.index[lemma.name().lower()][lemma.synset().pos().replace("s", "a")])
        share = count / total if total else float(senses == 1)
        return Synonym(_normalize_lemma(lemma), count, share, frames)


def _strip_suffix(key: str) -> str:
    lemma, _, rest = key.partition("%")
    return f"{lemma}%{rest[:1].replace('5', '3')}"


@lru_cache(maxsize=2)
def _open(folder: str) -> _Opened:
    return _Opened(folder)


def _open_reader(folder: str) -> Any:
    data = require("nltk.data", "language")
    wordnet = require("nltk.corpus.reader.wordnet", "language")

    class Reader(wordnet.WordNetCorpusReader):  # type: ignore[misc, name-defined]
        """nltk's reader for a folder without `lexnames`, and for English alone."""

        def open(self, file: str) -> Any:
            if file == "lexnames" and not self._has(file):
                return io.StringIO("".join(_iterate_lexnames()))
            return super().open(file)

        def _has(self, file: str) -> bool:
            try:
                self._root.join(file)
            except OSError:
                return False
            return True

        def map_wn(self, version: str = "wordnet") -> None:
            """Map no other version's synsets to these: that is for other languages."""

    zipped = folder.endswith(".zip")
    if not any(Path(folder).is_relative_to(place) for place in data.path):
        data.path.append(folder)  # nltk reads only below the folders of this list
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "multilingual functions are not available"
        return Reader(f"{folder}/{Path(folder).stem}/" if zipped else folder, None)


def _iterate_lexnames() -> Iterator[str]:
    return (f"{number}\tfile.{number}\t0\n" for number in range(_LEXNAMES))
