"""A causal language model: what it reads of a problem, and what it gives each token of many texts.

Where the option ends and the rest begins is a question of tokens, since a tokeniser may join what
is on both sides. The answer here is that of lm-evaluation-harness (`_encode_pair`), so that
partial scores can be compared with its own: the text up to the end of the option is tokenised
alone, and so is the whole; what counts are the tokens of the whole from the number on that the
first has, and they follow the first's. Almost always these are what the whole starts with, and
one sequence serves the full and the partial score.

Texts that share their beginnings are laid out so that each beginning is read once. Sorted, they
stand side by side; each then adds to a tree only what it does not share with the one before it.
A tree is fed to a model as one row of tokens in which a token attends to its ancestors alone and
has its own depth as position, so that the model computes for it exactly what it would in its text.
"""

from __future__ import annotations

import copy
import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from winosmith.errors import InputError, require
from winosmith.models import _network
from winosmith.models._network import OnProgress, Precision
from winosmith.models._texts import sentence_parts
from winosmith.problem import Problem


@dataclass(frozen=True)
class Likelihoods:
    """What a language model gave some texts.

    Attributes:
        values: for each text, the log-probability (natural logarithm) of each token asked for.
        tokens_fed: the tokens that the model read, padding counted.
    """

    values: list[npt.NDArray[np.float64]]
    tokens_fed: int


@dataclass
class CausalModel:
    """A causal language model ready to read.

    Attributes:
        folder: where it was loaded from.
        network: the torch module, on its device, without dropout.
        tokeniser: its tokeniser.
        device: as torch names it.
        max_length: the tokens that it reads at most.
        heeds_trees: False once it was found to give a token other values in a tree than in its
            text (Mamba's state, ALiBi's distances); from then on texts are read whole.
    """

    folder: Path
    network: Any
    tokeniser: Any
    device: str
    max_length: int
    heeds_trees: bool = True

    @property
    def budget(self) -> int:
        """The tokens at once, where nothing else is asked for.

        In a tree attention grows with the square of the tokens, and small rows are enough to keep
        a CPU busy. A GPU needs more.
        """
        return 256 if self.device == "cpu" else 2_048

    @property
    def leading(self) -> list[int]:
        """The tokens that the tokeniser puts before a text: one (OPT, Llama) or none (GPT-2)."""
        plain = self.tokeniser("a", add_special_tokens=False)["input_ids"]
        whole = list(self.tokeniser("a")["input_ids"])
        starts = (at for at in range(len(whole)) if whole[at : at + len(plain)] == plain)
        return whole[: next(starts, 0)]

    def likelihoods(
        self,
        texts: Sequence[Ids],
        starts: Sequence[int],
        *,
        tokens_per_batch: int | None = None,
        on_progress: OnProgress | None = None,
    ) -> Likelihoods:
        """Return the log-probability of each text's tokens from its start on.

        What texts share at their beginning is read once: what all of them share is kept in the
        model's cache, the rest makes a tree. In float32 the values agree to 1e-4 with those of
        each text alone. The first tree is held to that: where the model gives other values in it,
        or refuses it, all texts are read whole, with a warning.

        Args:
            texts: token ids, at least one a text.
            starts: the first token of each that is asked for, 1 or more.
            tokens_per_batch: the tokens at once; what suits the device when None.
            on_progress: is called with the texts done and those in all.

        Raises:
            InputError: the memory does not hold one text.
        """
        wanted = self._cut(texts, starts)
        order = sorted(set(wanted))
        if not order:
            return Likelihoods([], 0)
        sorted_texts, sorted_starts = zip(*order, strict=True)
        reading = Reading(self.network, self.device, sorted_texts, sorted_starts, self.heeds_trees)
        reading.run(tokens_per_batch or self.budget, on_progress)
        self.heeds_trees = reading.heeds_trees
        given = dict(zip(order, reading.values, strict=True))
        return Likelihoods([given[key] for key in wanted], reading.fed)

    def _cut(
        self, texts: Sequence[Ids], starts: Sequence[int]
    ) -> list[tuple[tuple[int, ...], int]]:
        """Cut the start off what is longer than the model reads, as lm-evaluation-harness does."""
        longest = self.max_length + 1  # the last token is asked for, not read
        over = [max(0, len(ids) - longest) for ids in texts]
        if any(over):
            warnings.warn(
                f"{sum(map(bool, over))} of {len(texts)} texts are longer than the "
                f"{self.max_length} tokens that the model reads; their starts were cut",
                stacklevel=3,
            )
        return [
            (tuple(ids[extra:]), max(1, start - extra))
            for ids, start, extra in zip(texts, starts, over, strict=True)
        ]


def load_causal_model(
    model: str | Path, *, device: str | None = None, dtype: Precision = "float32"
) -> CausalModel:
    """Load any causal language model of transformers (GPT-2, OPT, Pythia, Llama, Qwen, Mamba, …).

    Args:
        model: a folder with a saved model, or a hub id.
        device: as torch names it ("cpu", "cuda:1"); the GPU when there is one when None.
        dtype: what the network computes in; see `Precision`.

    Raises:
        InputError: it is not there, its weights are incomplete, or it is no causal model.
        MissingExtraError: torch or transformers is not installed.
    """
    kind = "a causal language model"
    return CausalModel(*_network.load_language_model(model, kind, device=device, dtype=dtype))


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
    """Omit the prompt's start, the same for all, where the longest text does not fit."""
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
    """Return the token that begins texts; if there is none, the one that ends them."""
    token = tokeniser.eos_token_id if tokeniser.bos_token_id is None else tokeniser.bos_token_id
    return [] if token is None else [int(token)]


def _plain(tokeniser: Any, texts: Sequence[str]) -> list[list[int]]:
    """Tokenise texts without any token that is not in them."""
    distinct = list(dict.fromkeys(texts))
    if not distinct:
        return []
    with _network.quiet():  # it warns of texts that are cut later
        found = tokeniser(distinct, add_special_tokens=False, return_attention_mask=False)
    tokens = dict(zip(distinct, found["input_ids"], strict=True))
    return [tokens[text] for text in texts]


def _encoder(tokeniser: Any, prompt: str, texts: Sequence[str]) -> Encode:
    """Return what tokenises a text after the prompt; white space at the end is omitted.

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

        _network.in_memory(
            len(rest), budget, take, lambda batch: self._read_tree(*batch), on_progress
        )

    def _keep(self, beginning: Ids) -> None:
        """Read what all texts share into the model's cache."""
        torch = require("torch", "models")
        inputs = {"input_ids": self._tensor([beginning]), "use_cache": True}
        try:
            with torch.inference_mode():
                base = self.network.base_model
                self._cache = getattr(base(**inputs), _name_of_cache(base))
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
            # A copy, for the call adds to it.
            inputs[_name_of_cache(self.network)] = copy.deepcopy(self._cache)
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
        order = [int(row) for batch in _network.length_batches(lengths, budget) for row in batch]

        def take(first: int, tokens: int) -> tuple[list[int], int, int]:
            longest = lengths[order[first]]
            batch = order[first : first + max(1, tokens // longest)]
            return batch, len(batch), len(batch) * longest

        def run(batch: list[int]) -> None:
            for row, values in zip(batch, self._read_whole(batch), strict=True):
                self.values[row] = values

        _network.in_memory(len(order), budget, take, run, on_progress)

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
    if checked or _network.is_out_of_memory(error):
        return error
    return _NotHeededError(type(error).__name__)


def _log_probabilities(logits: Any, places: Any, tokens: Any) -> Values:
    """Return the log-probabilities of tokens (pairs,) at the places of logits."""
    torch = require("torch", "models")
    values = torch.log_softmax(logits, -1)[places, tokens]  # five times as fast as logsumexp
    found: Values = values.double().cpu().numpy()
    return found


Ids = Sequence[int]
"""The token ids of one text."""


@dataclass
class Tree:
    """Sequences as one row of tokens.

    Attributes:
        tokens: the token of each node, parents before children.
        depths: the position of each node in its sequences, 0 for the first.
        parents: the node before each node; -1 for none.
        asked: the distinct pairs (node, token that follows it), in order.
        places: for each sequence, where its pairs are in `asked`.
    """

    tokens: list[int] = field(default_factory=list)
    depths: list[int] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    asked: dict[tuple[int, int], int] = field(default_factory=dict)
    places: list[list[int]] = field(default_factory=list)

    def grow(self, ids: Ids, start: int, path: list[int], shared: int) -> list[int]:
        """Add a sequence that shares its first tokens with a path of nodes; return its own path.

        Its tokens from `start` on are asked for; its last token is asked for but never read.
        """
        path = path[:shared]
        for depth in range(shared, len(ids) - 1):
            self.parents.append(path[-1] if path else -1)
            path.append(len(self.tokens))
            self.tokens.append(ids[depth])
            self.depths.append(depth)
        pairs = [(path[at - 1], ids[at]) for at in range(start, len(ids))]
        self.places.append([self.asked.setdefault(pair, len(self.asked)) for pair in pairs])
        return path

    def visible(self) -> npt.NDArray[np.bool_]:
        """Return which nodes each node may attend to, (nodes, nodes): itself and its ancestors."""
        seen = np.zeros((len(self.tokens), len(self.tokens)), np.bool_)
        for node, parent in enumerate(self.parents):
            if parent >= 0:
                seen[node] = seen[parent]
            seen[node, node] = True
        return seen


def common_length(one: Ids, other: Ids) -> int:
    """Return how many tokens two sequences share at their start.

    >>> common_length([5, 6, 7], [5, 6, 8, 9])
    2
    """
    return next(
        (at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b),
        min(len(one), len(other)),
    )


def planted(
    sequences: Sequence[Ids], starts: Sequence[int], first: int, budget: int
) -> tuple[Tree, int]:
    """Plant the sequences from number `first` on in one tree, as many as the budget holds.

    Args:
        sequences: sorted.
        starts: the first token of each that is asked for, 1 or more.
        first: where to begin.
        budget: the nodes that the tree may have; one sequence is always taken.

    Returns:
        The tree, and how many sequences it holds.

    >>> tree, count = planted([[1, 2, 3, 4], [1, 2, 5, 6]], [3, 3], 0, 100)
    >>> tree.tokens, tree.parents, count  # 4 and 6 are asked for, not read
    ([1, 2, 3, 5], [-1, 0, 1, 1], 2)
    """
    tree, path, before = Tree(), [], []  # type: Tree, list[int], Ids
    for at in range(first, len(sequences)):
        ids = sequences[at]
        shared = min(common_length(before, ids), len(path), max(0, len(ids) - 1))
        if at > first and len(tree.tokens) + len(ids) - 1 - shared > budget:
            return tree, at - first
        path = tree.grow(ids, starts[at], path, shared)
        before = ids
    return tree, len(sequences) - first


def _name_of_cache(network: Any) -> str:
    """Return what the network calls its cache: a release of transformers gave it another name."""
    known = inspect.signature(network.forward).parameters
    return "cache" if "cache" in known else "past_key_values"


def logits_at(network: Any, inputs: Mapping[str, Any], rows: Any, columns: Any) -> Any:
    """Return the logits at some places of a batch as a float32 tensor (places, vocabulary).

    The output layer is as wide as the vocabulary: for a small model it is most of the work. So
    the hidden states are cut down to the places asked for before it runs.

    Args:
        network: a causal or masked language model of transformers.
        inputs: what it is called with.
        rows: an index tensor (places,), which row of the batch.
        columns: an index tensor (places,), which token of the row.
    """
    cut: list[bool] = []

    def keep(_module: Any, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        cut.append(True)
        return (arguments[0][rows, columns].unsqueeze(1), *arguments[1:])

    output = network.get_output_embeddings()
    if output is None:
        return network(**inputs).logits[rows, columns].float()
    hook = output.register_forward_pre_hook(keep)
    try:
        logits = network(**inputs).logits
    finally:
        hook.remove()
    return (logits[:, 0] if cut else logits[rows, columns]).float()
