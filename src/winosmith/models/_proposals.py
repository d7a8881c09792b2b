"""What a masked language model would say in place of a word."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from winosmith.errors import InputError
from winosmith.extras import require
from winosmith.models._batches import length_batches
from winosmith.models._logits import logits_at
from winosmith.models._masked import MaskedModel
from winosmith.models._quiet import quiet

__all__ = ["Gap", "Proposal", "Proposer"]


@dataclass(frozen=True)
class Gap:
    """A word of a text that a model is to replace.

    Attributes:
        text: with the word in it; more than one word may be hidden.
        start, end: the characters of the word that is asked for.
        unseen: where else the text is hidden from the model, as pairs of characters.
        among: the only words, in small letters, that may be proposed; None for any.
    """

    text: str
    start: int
    end: int
    unseen: tuple[tuple[int, int], ...] = ()
    among: frozenset[str] | None = None


class Proposal(NamedTuple):
    """A word for a gap.

    Attributes:
        word: as the model spells it; in small letters where it knows no others.
        log_probability: of the word, given the text around it.
    """

    word: str
    log_probability: float


@dataclass(frozen=True)
class Proposer:
    """Asks a masked model for words: whole words of letters, never pieces or punctuation.

    Attributes:
        model: as `load_masked_model` gives it.
    """

    model: MaskedModel

    def propose(self, gaps: Sequence[Gap], count: int = 20) -> list[tuple[Proposal, ...]]:
        """Return the likeliest words for each gap, at most `count`; of equals the first token.

        One mask stands for the word, however many tokens it has. Gaps are read in batches.

        Raises:
            InputError: fewer than one word is asked for, or a text is longer than the model reads.
        """
        if count < 1:
            raise InputError(f"{count} words can't be proposed; ask for 1 or more")
        read = [self._hidden(gap) for gap in gaps]
        longest = max((len(ids) for ids, _ in read), default=0)
        if longest > self.model.max_length:
            raise InputError(
                f"a sentence has {longest} tokens; {self.model.folder} reads "
                f"{self.model.max_length}"
            )
        found: list[tuple[Proposal, ...]] = [()] * len(gaps)
        for batch in length_batches([len(ids) for ids, _ in read], self.model.budget):
            rows = batch.tolist()
            given = self._read([read[row] for row in rows])
            for row, values in zip(rows, given, strict=True):
                found[row] = self._best(gaps[row], values, count)
        return found

    def _hidden(self, gap: Gap) -> tuple[list[int], int]:
        """Return the tokens of a gap's text with its masks, and the place that is asked for."""
        with quiet():
            read = self.model.tokeniser(gap.text, return_offsets_mapping=True)
        spans = [(gap.start, gap.end), *gap.unseen]
        ids: list[int] = []
        places: dict[int, int] = {}
        for token, (first, last) in zip(read["input_ids"], read["offset_mapping"], strict=True):
            at = next((n for n, (a, b) in enumerate(spans) if first < b and last > a), None)
            if at is None or first == last:
                ids.append(token)
            elif at not in places:
                places[at] = len(ids)
                ids.append(self.model.tokeniser.mask_token_id)
        if 0 not in places:
            raise InputError(f"the model has no token for {gap.text[gap.start : gap.end]!r}")
        return ids, places[0]

    def _read(self, batch: Sequence[tuple[list[int], int]]) -> npt.NDArray[np.float64]:
        """Return the log-probability of every token at the place asked for, a row a text."""
        torch = require("torch", "models")
        width = max(len(ids) for ids, _ in batch)
        padded = np.full((len(batch), width), self.model.tokeniser.pad_token_id)
        for row, (ids, _) in enumerate(batch):
            padded[row, : len(ids)] = ids
        real = np.arange(width) < np.array([[len(ids)] for ids, _ in batch])
        inputs = {
            "input_ids": torch.from_numpy(padded).to(self.model.device),
            "attention_mask": torch.from_numpy(real.astype(np.int64)).to(self.model.device),
        }
        rows = torch.arange(len(batch), device=self.model.device)
        columns = torch.tensor([at for _, at in batch], device=self.model.device)
        with torch.inference_mode():
            logits = logits_at(self.model.network, inputs, rows, columns)
            values = torch.log_softmax(logits, -1).double().cpu().numpy()
        return np.asarray(values, np.float64)

    def _best(self, gap: Gap, values: npt.NDArray[np.float64], count: int) -> tuple[Proposal, ...]:
        words = self._at_start if gap.start == 0 else self._inside
        if gap.among is not None:
            words = {token: word for token, word in words.items() if word.lower() in gap.among}
        tokens = np.fromiter(words, np.intp, len(words))
        order = np.argsort(-values[tokens], kind="stable")[:count]
        return tuple(Proposal(words[int(at)], float(values[at])) for at in tokens[order])

    @cached_property
    def _inside(self) -> dict[int, str]:
        return self._whole_words(" ")

    @cached_property
    def _at_start(self) -> dict[int, str]:
        return self._whole_words("")

    def _whole_words(self, before: str) -> dict[int, str]:
        """Return the tokens that are a word by themselves, after a space or at the start."""
        tokeniser = self.model.tokeniser
        pieces = tokeniser.convert_ids_to_tokens(range(len(tokeniser)))
        spelt = [tokeniser.convert_tokens_to_string([piece]).strip() for piece in pieces]
        asked = _of_letters(spelt, tokeniser.all_special_tokens)
        with quiet():
            read = tokeniser([before + word for _, word in asked], add_special_tokens=False)
        return {
            token: word
            for (token, word), ids in zip(asked, read["input_ids"], strict=True)
            if ids == [token]
        }


def _of_letters(spelt: Sequence[str], special: Collection[str]) -> list[tuple[int, str]]:
    return [(at, word) for at, word in enumerate(spelt) if word.isalpha() and word not in special]
