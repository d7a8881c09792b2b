"""WordNet (Fellbaum 1998), from Debian's package or from nltk's data. Nothing is downloaded.

The files are read with nltk. `_open_reader` works around two obstacles: Debian's dictionary files
lack `lexnames`, and nltk reads only files below the folders on its path.
"""

from __future__ import annotations

import io
import warnings
import zipfile
from collections import Counter
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from winosmith.errors import InputError, require
from winosmith.text import find_content_words

_DEBIAN = Path("/usr/share/wordnet")

_REQUIRED_FILES = ("index.sense", "index.noun", "data.noun", "data.verb", "data.adj", "data.adv")

_ADVICE = (
    "install it with `apt install wordnet-base wordnet-sense-index` (Debian, Ubuntu), or with "
    "`python -m nltk.downloader wordnet`, or give the path of its folder"
)

_LEXNAME_COUNT = 45
"""Number of lexicographer files of WordNet 3 (lexnames(5WN)). Their names are not used here."""

_UNWANTED_DOMAINS = frozenset(
    "slang vulgarism obscenity disparagement ethnic_slur archaism dialect".split()
)
"""Usage domains with offensive or obsolete words."""


@dataclass(frozen=True, slots=True)
class Synonym:
    """Another word with the same sense.

    Attributes:
        lemma: the word, with spaces instead of underscores.
        count: number of its uses with this sense in WordNet's tagged texts.
        fraction: fraction of its uses in these texts that have this sense, 0–1. For a word without
            uses, it is 1 if the word has no other sense, otherwise 0.
        frames: for a verb, the numbers of its sentence frames.
    """

    lemma: str
    count: int
    fraction: float
    frames: frozenset[int]


@dataclass(frozen=True, slots=True)
class Sense:
    """One sense of a word.

    Attributes:
        key: WordNet's name of the synset ("give.v.03").
        count: number of the word's uses with this sense in WordNet's tagged texts.
        frames: for a verb, the numbers of its sentence frames.
        synonyms: the other words of the synset, without slang, insults and archaic words.
        antonyms: antonyms of the word and of its near synonyms.
        near: content words of the gloss, the examples and the hypernyms, in lower case.
    """

    key: str
    count: int
    frames: frozenset[int]
    synonyms: tuple[Synonym, ...]
    antonyms: frozenset[str]
    near: frozenset[str]


def find_wordnet_folder(folder: str | Path | None = None) -> Path:
    if folder is not None:
        if not _has_all_files(Path(folder)):
            raise InputError(f"{folder} does not contain WordNet's dictionary files; {_ADVICE}")
        return Path(folder)
    if _has_all_files(_DEBIAN):
        return _DEBIAN
    data = require("nltk.data", "language")
    for place in map(Path, data.path):
        for name in ("wordnet", "wordnet31"):
            for found in (place / "corpora" / name, place / "corpora" / f"{name}.zip"):
                if _has_all_files(found):
                    return found
    raise InputError(f"WordNet is not installed on this machine; {_ADVICE}")


def _has_all_files(path: Path) -> bool:
    if path.suffix == ".zip" and path.is_file():
        with zipfile.ZipFile(path) as archive:
            inside = {Path(name).name for name in archive.namelist()}
        return inside.issuperset(_REQUIRED_FILES)
    return all((path / name).is_file() for name in _REQUIRED_FILES)


class WordNet:
    """The WordNet dictionary of word senses.

    The files are read on first use, which takes a few seconds. By default, `find_wordnet_folder`
    finds their folder.
    """

    def __init__(self, folder: str | Path | None = None):
        self.folder = folder

    def find_senses(self, lemma: str, pos: str) -> tuple[Sense, ...]:
        """Return a lemma's senses, starting with the most frequent. An unknown lemma has none.

        `lemma` has spaces between its words. `pos` is "n", "v", "a", or "r" for an adverb.
        """
        return _read_senses(self.folder, lemma.lower().replace(" ", "_"), pos)

    def has_sense(self, lemma: str, pos: str) -> bool:
        return _open_cached(self.folder).count_senses(lemma.lower().replace(" ", "_"), pos) > 0


@lru_cache(maxsize=200_000)
def _read_senses(folder: str | Path | None, lemma: str, pos: str) -> tuple[Sense, ...]:
    opened = _open_cached(folder)
    return tuple(_make_sense(opened, own) for own in opened.reader.lemmas(lemma, pos))


def _make_sense(wordnet: _OpenWordNet, word_lemma: Any) -> Sense:
    synset = word_lemma.synset()
    domains = {name for mark in synset.usage_domains() for name in mark.lemma_names()}
    others = [
        wordnet.make_synonym(other)
        for other in synset.lemmas()
        if other.name().lower() != word_lemma.name().lower()
        and not _UNWANTED_DOMAINS & (domains | {mark.name() for mark in other.usage_domains()})
    ]
    alike = [other for similar in (synset, *synset.similar_tos()) for other in similar.lemmas()]
    opposites = {
        _normalize_lemma(opposite) for word in (word_lemma, *alike) for opposite in word.antonyms()
    }
    broader = [_normalize_lemma(lemma) for above in synset.hypernyms() for lemma in above.lemmas()]
    words = " ".join([synset.definition(), *synset.examples(), *broader])
    return Sense(
        key=synset.name(),
        count=wordnet.counts.get(word_lemma.key(), 0),
        frames=frozenset(word_lemma.frame_ids()),
        synonyms=tuple(sorted(others, key=lambda other: (-other.count, other.lemma))),
        antonyms=frozenset(opposites),
        near=frozenset(find_content_words(words)),
    )


def _normalize_lemma(lemma: Any) -> str:
    return str(lemma.name()).replace("_", " ")


class _OpenWordNet:
    """A reader that caches sense counts in memory. nltk would read a file for each count."""

    def __init__(self, folder: str | Path | None):
        self.reader = _open_reader(find_wordnet_folder(folder))
        self.count_senses = lru_cache(None)(lambda lemma, pos: len(self.reader.lemmas(lemma, pos)))

    @cached_property
    def counts(self) -> dict[str, int]:
        """Maps each sense key to its number of uses in the tagged texts (cntlist.rev)."""
        with self.reader.open("cntlist.rev") as lines:
            return {key: int(count) for key, _, count in map(str.split, lines)}

    @cached_property
    def totals(self) -> Counter[str]:
        """Maps each prefix of sense keys (lemma and part of speech) to its number of uses."""
        totals: Counter[str] = Counter()
        for key, count in self.counts.items():
            totals[_strip_sense_number(key)] += count
        return totals

    def make_synonym(self, lemma: Any) -> Synonym:
        count = self.counts.get(lemma.key(), 0)
        total = self.totals[_strip_sense_number(lemma.key())]
        frames = frozenset(lemma.frame_ids())
        if total:
            return Synonym(_normalize_lemma(lemma), count, count / total, frames)
        pos = lemma.synset().pos().replace("s", "a")
        alone = self.count_senses(lemma.name().lower(), pos) == 1
        return Synonym(_normalize_lemma(lemma), count, float(alone), frames)


def _strip_sense_number(key: str) -> str:
    lemma, _, rest = key.partition("%")
    return f"{lemma}%{rest[:1].replace('5', '3')}"


_open_cached = lru_cache(maxsize=2)(_OpenWordNet)


def _open_reader(folder: Path) -> Any:
    data = require("nltk.data", "language")
    wordnet = require("nltk.corpus.reader.wordnet", "language")

    class Reader(wordnet.WordNetCorpusReader):  # type: ignore[misc, name-defined]
        """A WordNet reader that also accepts a folder without `lexnames`, for English only."""

        def open(self, file: str) -> Any:
            try:
                return super().open(file)
            except OSError:
                if file != "lexnames":
                    raise
            return io.StringIO("".join(f"{n}\tfile.{n}\t0\n" for n in range(_LEXNAME_COUNT)))

        def map_wn(self, version: str = "wordnet") -> None:
            """Skip the mapping to other versions, which is for other languages."""

    if not any(folder.is_relative_to(place) for place in data.path):
        data.path.append(str(folder))  # nltk reads only below the folders of this list
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "multilingual functions are not available"
        inside = f"/{folder.stem}/" if folder.suffix == ".zip" else ""
        return Reader(f"{folder}{inside}", None)
