"""How many words of WinoGrande come back from their dictionary form as the text has them?

Every noun, verb and adjective of the training, dev and test sentences, blanks filled with the first
option, is tagged, made its dictionary form, and inflected again. The figure is the share that is
the same word. Words that differ from their dictionary form are counted apart: the others would be
right with no work. So is the share of them whose dictionary form is found to be the word itself.

    python benchmarks/bench_forms.py --data FOLDER       a folder with winogrande/*.jsonl
    python benchmarks/bench_forms.py --data FOLDER --problems 5000

Without --data, the folder is the one that WINOSMITH_DATA names.
"""

from __future__ import annotations

import argparse
import os
import time
from collections import Counter
from pathlib import Path

from winosmith import Dataset, formats
from winosmith.language import inflect, lemma, tag
from winosmith.text import tokens

KINDS = {
    "nouns": ("NN", "NNS"),
    "verbs": ("VB", "VBD", "VBG", "VBN", "VBP", "VBZ"),
    "adjectives": ("JJ", "JJR", "JJS"),
    "inflected": ("NNS", "VBD", "VBG", "VBN", "VBZ", "JJR", "JJS"),
}
OF_BE = frozenset(("am", "are", "be", "been", "being", "is", "was", "were", "art"))
"""Left out: which form of "be" is right depends on the subject, which a tag doesn't tell."""
PARTS = ("train_xl", "dev", "test")


def tagged(dataset: Dataset) -> Counter[tuple[str, str]]:
    """Return the words of the problems, in small letters, with their tags."""
    found: Counter[tuple[str, str]] = Counter()
    for problem in dataset:
        cut = tokens(problem.filled()[0])
        found.update((word.lower(), kind) for word, kind in zip(cut, tag(cut), strict=True))
    return found


def of_kinds(found: Counter[tuple[str, str]], kinds: tuple[str, ...]) -> Counter[tuple[str, str]]:
    """Return the words with these tags that are letters alone, and no form of "be"."""
    return Counter(
        {
            (word, kind): number
            for (word, kind), number in found.items()
            if kind in kinds and word.isalpha() and word not in OF_BE
        }
    )


def compared(words: Counter[tuple[str, str]]) -> tuple[Counter[str], int]:
    """Return what does not come back, and how many words are their own dictionary form."""
    wrong: Counter[str] = Counter()
    own = 0
    for (word, kind), number in words.items():
        base = lemma(word, kind)
        own += number * (base == word)
        if (again := inflect(base, kind)) != word:
            wrong[f"{word} ({kind}): {base} -> {again}"] += number
    return wrong, own


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("WINOSMITH_DATA"), help="the folder")
    parser.add_argument("--problems", type=int, help="only so many, from the front of each file")
    chosen = parser.parse_args()
    if not chosen.data:
        print("name the folder of the data with --data or WINOSMITH_DATA; nothing was measured")
        return
    found: Counter[tuple[str, str]] = Counter()
    started = time.perf_counter()
    for part in PARTS:
        problems = formats.read(Path(chosen.data) / f"winogrande/{part}.jsonl")
        found += tagged(Dataset(list(problems)[: chosen.problems]))
    print(f"{found.total():,} words tagged in {time.perf_counter() - started:.0f} s")
    for name, kinds in KINDS.items():
        words = of_kinds(found, kinds)
        wrong, own = compared(words)
        total = words.total()
        share = 1 - wrong.total() / total
        print(f"{name:<11} {share:8.3%} of {total:,} ({own / total:.1%} are their own lemma)")
        for text, number in wrong.most_common(8):
            print(f"{number:>16,}  {text}")


if __name__ == "__main__":
    main()
