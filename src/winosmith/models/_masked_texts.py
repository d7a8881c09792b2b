"""From problems to the texts with hidden tokens that a masked model reads."""

from __future__ import annotations

from collections.abc import Sequence

from winosmith.models._masked import Hidden, MaskedModel
from winosmith.models._quiet import quiet
from winosmith.models._wording import sentence_parts
from winosmith.problem import Problem

__all__ = ["hidden_one_by_one", "hidden_options"]

Span = tuple[int, int]


def hidden_one_by_one(
    model: MaskedModel, problems: Sequence[Problem], *, within_word: bool = False
) -> list[list[list[Hidden]]]:
    """Return, for each option of each problem, its sentence with each token hidden in turn.

    The sum of the log-probabilities is the pseudo-log-likelihood of the sentence (Salazar et al.
    2020, "Masked Language Model Scoring", section 2). It is too high for words of several tokens,
    whose pieces give one another away; with `within_word` the pieces of the same word that come
    later are hidden as well (Kauf and Ivanova 2023, "A Better Way to Do Masked Language Model
    Scoring", PLL-word-l2r).
    """
    made: list[list[list[Hidden]]] = []
    for rows in _tokenised(model, problems):
        made.append([])
        for ids, _, words, _ in rows:
            places = [at for at, word in enumerate(words) if word is not None]
            made[-1].append(
                [
                    Hidden(ids, tuple(_later(words, at) if within_word else [at]), (at,))
                    for at in places
                ]
            )
    return made


def _later(words: Sequence[int | None], at: int) -> list[int]:
    """Return a place and those after it in the same word."""
    return [place for place in range(at, len(words)) if words[place] == words[at]]


def hidden_options(model: MaskedModel, problems: Sequence[Problem]) -> list[list[Hidden]]:
    """Return, for each option of each problem, its sentence with all of the option hidden.

    As many masks stand for the option as it has tokens (Kocijan et al. 2019, "A Surprisingly
    Robust Trick for the Winograd Schema Challenge", section 3).
    """
    return [
        [
            Hidden(ids, places, places)
            for ids, spans, words, (start, end) in rows
            if (
                places := tuple(
                    at
                    for at, (first, last) in enumerate(spans)
                    if words[at] is not None and first < end and last > start
                )
            )
        ]
        for rows in _tokenised(model, problems)
    ]


Row = tuple[tuple[int, ...], list[Span], list[int | None], Span]
"""A text's tokens; where each stands; the number of its word, None for what is no text; and where
the option stands."""


def _tokenised(model: MaskedModel, problems: Sequence[Problem]) -> list[list[Row]]:
    cuts = [sentence_parts(problem) for problem in problems]
    texts = [before + option + after for before, options, after in cuts for option in options]
    if not texts:
        return []
    with quiet():  # it warns of texts that are refused later
        read = model.tokeniser(texts, return_offsets_mapping=True)
    rows: list[list[Row]] = []
    at = 0
    for before, options, _ in cuts:
        rows.append([])
        for option in options:
            span = (len(before), len(before) + len(option))
            ids = tuple(read["input_ids"][at])
            rows[-1].append((ids, read["offset_mapping"][at], read.word_ids(at), span))
            at += 1
    return rows
