"""One pass of a causal language model through many texts: as trees, or whole where it must be."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from winosmith.extras import require
from winosmith.models._batches import length_batches
from winosmith.models._logits import logits_at
from winosmith.models._memory import OnProgress, in_memory, is_out_of_memory
from winosmith.models._prefix import Ids, Tree, common_length, planted

__all__ = ["Reading"]

Values = npt.NDArray[np.float64]

KEPT = 16
"""A beginning that all texts share is kept in the model's cache from this many tokens on; a
shorter one costs less as part of each tree."""

TOLERANCE = {"float32": 1e-4, "bfloat16": 0.3, "float16": 0.05}
"""How far a token's log-probability in a tree may be from that in its sequence, by the network's
precision; beyond, the architecture does not heed the tree."""

_REFUSALS = (TypeError, ValueError, AttributeError, IndexError, RuntimeError, NotImplementedError)
"""What architectures raise that have no use for a mask, positions or a cache."""


class _NotHeededError(Exception):
    """An architecture can't read a tree; says why."""


class Reading:
    """Sorted texts, and what the model gave them so far.

    Attributes:
        values: for each text, the log-probabilities that were asked for.
        fed: the tokens that the model read, padding counted.
        heeds_trees: False once the model was found to give other values in a tree.
    """

    def __init__(
        self,
        network: Any,
        device: str,
        texts: Sequence[Ids],
        starts: Sequence[int],
        heeds_trees: bool,
    ):
        self.network, self.device = network, device
        self.texts, self.starts = texts, starts
        self.values: list[Values] = [np.empty(0)] * len(texts)
        self.fed = 0
        self.heeds_trees = heeds_trees
        self._checked = False
        self._cache: Any = None
        self._kept = 0  # the tokens in the cache

    def run(self, budget: int, on_progress: OnProgress | None) -> None:
        """Read all texts."""
        if self.heeds_trees:
            try:
                self._run_trees(budget, on_progress)
            except _NotHeededError as error:
                self.heeds_trees = False
                warnings.warn(
                    f"{self.network.config.model_type} can't read texts as a tree ({error}); each "
                    "is read whole, which takes longer and gives the same",
                    stacklevel=4,
                )
        if not self.heeds_trees:
            self._run_whole(budget, on_progress)

    def _run_trees(self, budget: int, on_progress: OnProgress | None) -> None:
        # The token before the first one that is asked for must be in the tree.
        shared = min(common_length(self.texts[0], self.texts[-1]), min(self.starts) - 1)
        if shared >= KEPT:
            self._keep(self.texts[0][:shared])
        rest = [ids[self._kept :] for ids in self.texts]
        starts = [start - self._kept for start in self.starts]

        def take(first: int, tokens: int) -> tuple[tuple[int, Tree], int, int]:
            tree, count = planted(rest, starts, first, tokens)
            return (first, tree), count, len(tree.tokens)

        in_memory(len(rest), budget, take, lambda batch: self._read_tree(*batch), on_progress)

    def _keep(self, beginning: Ids) -> None:
        """Read what all texts share into the model's cache."""
        torch = require("torch", "models")
        inputs = {"input_ids": self._tensor([beginning]), "use_cache": True}
        try:
            with torch.inference_mode():
                self._cache = self.network.base_model(**inputs).past_key_values
        except _REFUSALS as error:
            raise _refusal(error, self._checked) from error
        if self._cache is None:
            raise _NotHeededError("it has no cache")
        self._kept = len(beginning)
        self.fed += len(beginning)

    def _read_tree(self, first: int, tree: Tree) -> None:
        try:
            asked = self._asked(tree)
        except _REFUSALS as error:
            raise _refusal(error, self._checked) from error
        self.fed += len(tree.tokens)
        given = [asked[places] for places in tree.places]
        if not self._checked:
            self._check(first, given)
        self.values[first : first + len(given)] = given

    def _check(self, first: int, given: list[Values]) -> None:
        """Hold the last text of the first tree to what the model gives it when read alone."""
        at = len(given) - 1
        alone = self._read_whole([first + at])[0]
        apart = TOLERANCE[str(self.network.dtype).removeprefix("torch.")]
        if not np.allclose(given[at], alone, rtol=0, atol=apart, equal_nan=True):
            raise _NotHeededError("it sees more of one than it should")
        self._checked = at > 0

    def _asked(self, tree: Tree) -> Values:
        """Return the log-probability of each pair that a tree asks for."""
        torch = require("torch", "models")
        if not tree.asked:
            return np.empty(0)
        kind = self.network.dtype
        mask = torch.zeros((len(tree.tokens), self._kept + len(tree.tokens)), dtype=kind)
        mask[:, self._kept :].masked_fill_(torch.from_numpy(~tree.visible()), torch.finfo(kind).min)
        inputs = {
            "input_ids": self._tensor([tree.tokens]),
            "attention_mask": mask[None, None].to(self.device),
            "position_ids": self._tensor([tree.depths]) + self._kept,
            "use_cache": self._cache is not None,
        }
        if self._cache is not None:
            inputs["past_key_values"] = copy.deepcopy(self._cache)  # the call adds to it
        askers = sorted({node for node, _ in tree.asked})
        place = {node: at for at, node in enumerate(askers)}
        columns = self._tensor(askers)
        with torch.inference_mode():
            logits = logits_at(self.network, inputs, columns * 0, columns)
            return _log_probabilities(
                logits,
                self._tensor([place[node] for node, _ in tree.asked]),
                self._tensor([token for _, token in tree.asked]),
            )

    def _run_whole(self, budget: int, on_progress: OnProgress | None) -> None:
        lengths = [len(ids) for ids in self.texts]
        order = [int(row) for batch in length_batches(lengths, budget) for row in batch]

        def take(first: int, tokens: int) -> tuple[list[int], int, int]:
            longest = lengths[order[first]]
            batch = order[first : first + max(1, tokens // longest)]
            return batch, len(batch), len(batch) * longest

        def run(batch: list[int]) -> None:
            for row, values in zip(batch, self._read_whole(batch), strict=True):
                self.values[row] = values

        in_memory(len(order), budget, take, run, on_progress)

    def _read_whole(self, batch: Sequence[int]) -> list[Values]:
        """Return the values of whole texts, padded at their ends, which no token before sees."""
        torch = require("torch", "models")
        texts = [self.texts[row] for row in batch]
        longest = max(max(map(len, texts)) - 1, 1)  # the last token is asked for, not read
        asked = [
            (row, at - 1, ids[at])
            for row, ids in enumerate(texts)
            for at in range(self.starts[batch[row]], len(ids))
        ]
        if not asked:
            return [np.empty(0)] * len(batch)
        inputs = {
            "input_ids": self._tensor([(*ids[:-1], *[0] * longest)[:longest] for ids in texts]),
            "attention_mask": self._tensor(
                [([1] * (len(ids) - 1) + [0] * longest)[:longest] for ids in texts]
            ),
            "use_cache": False,
        }
        self.fed += longest * len(batch)
        rows, columns, tokens = map(self._tensor, zip(*asked, strict=True))
        with torch.inference_mode():
            logits = logits_at(self.network, inputs, rows, columns)
            places = torch.arange(len(asked), device=self.device)
            flat = _log_probabilities(logits, places, tokens)
        ends = np.cumsum(
            [len(ids) - self.starts[row] for row, ids in zip(batch, texts, strict=True)]
        )
        return np.split(flat, ends[:-1])

    def _tensor(self, values: Any) -> Any:
        return require("torch", "models").tensor(values, device=self.device)


def _refusal(error: Exception, checked: bool) -> Exception:
    """Return what to raise: an architecture's refusal as such, anything else as it is."""
    if checked or is_out_of_memory(error):
        return error
    return _NotHeededError(type(error).__name__)


def _log_probabilities(logits: Any, places: Any, tokens: Any) -> Values:
    """Return the log-probabilities of tokens (pairs,) at the places of logits."""
    torch = require("torch", "models")
    values = torch.log_softmax(logits, -1)[places, tokens]  # five times as fast as logsumexp
    found: Values = values.double().cpu().numpy()
    return found
