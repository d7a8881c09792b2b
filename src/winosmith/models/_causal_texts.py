"""From problems to the token ids that a causal model reads, and those of them that count.

Where the option ends and the rest begins is a question of tokens, since a tokeniser may join what
stands on both sides. The answer here is that of lm-evaluation-harness (`_encode_pair`), so that
partial scores can be compared with its own: the text up to the end of the option is tokenised
alone, and so is the whole; what counts are the tokens of the whole from the number on that the
first has, and they follow the first's. Almost always these are what the whole starts with, and
one sequence serves the full and the partial score.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from winosmith.errors import InputError
from winosmith.models._causal import CausalModel
from winosmith.models._quiet import quiet
from winosmith.models._wording import sentence_parts
from winosmith.problem import Problem

__all__ = ["Passage", "passages"]

Encode = Callable[[Sequence[str]], list[list[int]]]

SAMPLES = 8
"""Texts on which it is tried whether the prompt can be tokenised once for all."""


@dataclass(frozen=True)
class Passage:
    """What is read for one option and one kind of score.

    Attributes:
        ids: the tokens.
        start: the first whose log-probability counts, 1 or more.
    """

    ids: tuple[int, ...]
    start: int


def passages(
    model: CausalModel, problems: Sequence[Problem], *, prompt: str = "", bos: bool | None = None
) -> list[list[tuple[Passage, Passage]]]:
    """Return what is read for the full and the partial score of each option of each problem.

    Full: all after the prompt's last word counts; where there is neither a prompt nor a token that
    begins texts, all but the first token. Partial: what follows the blank counts, given all up to
    the end of the option. Where nothing follows the blank, as in COPA, the option itself counts,
    given what precedes it.

    Args:
        model: whose tokeniser it is.
        problems: with any number of options.
        prompt: a text before each sentence, with the white space that parts them.
        bos: whether a token that begins texts comes first. None does as the tokeniser does by
            itself, and so does lm-evaluation-harness; only for the full score of a sentence that
            opens with its blank, where the option's first token would not count, it takes one.

    Raises:
        InputError: `bos` is True, and the tokeniser has no such token, nor one that ends texts.
    """
    begin = _begin(model.tokeniser)
    if bos and not begin:
        raise InputError(
            f"{model.folder}: the tokeniser has no token that begins texts; leave out bos"
        )
    leading = model.leading if bos is None else begin if bos else []
    cuts = [sentence_parts(problem) for problem in problems]
    texts = [before + option + after for before, options, after in cuts for option in options]
    encode = _encoder(model.tokeniser, prompt, texts)
    contexts = encode(
        [
            before + (option if after else "")
            for before, options, after in cuts
            for option in options
        ]
    )
    shots = len(encode([""])[0]) if prompt.strip() else 0
    rows = iter(zip(encode(texts), contexts, strict=True))
    made = []
    for before, options, _ in cuts:
        bare = bos is None and not (leading or shots or before)
        first = begin if bare else leading
        made.append(
            [
                (_full(first, whole, shots), _partial(leading, context, whole))
                for _, (whole, context) in zip(options, rows, strict=False)
            ]
        )
    return _shortened(made, len(leading), shots, model.max_length + 1)


def _shortened(
    made: list[list[tuple[Passage, Passage]]], leading: int, shots: int, longest: int
) -> list[list[tuple[Passage, Passage]]]:
    """Leave out the prompt's start, the same for all, where the longest text does not fit."""
    over = (
        max((len(each.ids) for own in made for pair in own for each in pair), default=0) - longest
    )
    if not 0 < over < shots:
        return made
    warnings.warn(
        f"prompt and sentence are longer than the {longest - 1} tokens that the model reads; the "
        f"first {over} tokens of the prompt are left out",
        stacklevel=3,
    )

    def shorter(passage: Passage) -> Passage:
        ids = passage.ids
        return Passage((*ids[:leading], *ids[leading + over :]), passage.start - over)

    return [[(shorter(full), shorter(partial)) for full, partial in own] for own in made]


def _full(leading: list[int], whole: list[int], shots: int) -> Passage:
    return Passage((*leading, *whole), max(1, len(leading) + min(shots, len(whole) - 1)))


def _partial(leading: list[int], context: list[int], whole: list[int]) -> Passage:
    rest = whole[len(context) :]
    if not rest:  # joined with the option's last token, which then is what counts
        context, rest = whole[:-1], whole[-1:]
    return Passage((*leading, *context, *rest), max(1, len(leading) + len(context)))


def _begin(tokeniser: Any) -> list[int]:
    """Return the token that begins texts; where there is none, the one that ends them."""
    token = tokeniser.eos_token_id if tokeniser.bos_token_id is None else tokeniser.bos_token_id
    return [] if token is None else [int(token)]


def _plain(tokeniser: Any, texts: Sequence[str]) -> list[list[int]]:
    """Tokenise texts without any token that is not in them."""
    distinct = list(dict.fromkeys(texts))
    if not distinct:
        return []
    with quiet():  # it warns of texts that are cut later
        found = tokeniser(distinct, add_special_tokens=False, return_attention_mask=False)
    tokens = dict(zip(distinct, found["input_ids"], strict=True))
    return [tokens[text] for text in texts]


def _encoder(tokeniser: Any, prompt: str, texts: Sequence[str]) -> Encode:
    """Return what tokenises a text after the prompt; white space at the end is left out.

    A prompt is long. All of it but its last word is tokenised once, where that gives on a few
    of the texts what the tokeniser gives for prompt and text in one piece.
    """
    cut = prompt.rstrip().rfind(" ")
    head, tail = prompt[: max(cut, 0)], prompt[max(cut, 0) :]

    def whole(some: Sequence[str]) -> list[list[int]]:
        return _plain(tokeniser, [(prompt + text).rstrip() for text in some])

    if not head:
        return whole
    start = _plain(tokeniser, [head])[0]

    def joined(some: Sequence[str]) -> list[list[int]]:
        ends = _plain(tokeniser, [(tail + text).rstrip() for text in some])
        return [start + end for end in ends]

    tried = texts[:: max(1, len(texts) // SAMPLES)]
    return joined if joined(tried) == whole(tried) else whole
