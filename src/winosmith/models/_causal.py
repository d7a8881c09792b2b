"""Causal language models: inputs for problems, and the log-likelihoods of many texts.

A tokeniser may join the end of the option with the text after it. Partial scores follow
lm-evaluation-harness (`_encode_pair`): if the text up to the end of the option, tokenised
separately, has n tokens, the score is that of the whole text's tokens after the first n. Usually
the whole text starts with the same n tokens, so that one sequence gives both scores.

Common prefixes of texts are read once: the texts are sorted, and each text adds to a tree only the
tokens after the prefix that it shares with the previous text. A tree is one row of tokens. A token
attends only to its ancestors, and its position is its depth, so the results are the same as for
separate texts.
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
from winosmith.models._texts import split_sentence
from winosmith.problem import Problem


@dataclass(frozen=True)
class Likelihoods:
    """The log-probabilities of texts under a language model.

    Attributes:
        values: The log-probability (natural logarithm) of each requested token of each text.
        tokens_fed: The number of tokens that the model read, including padding.
    """

    values: list[npt.NDArray[np.float64]]
    tokens_fed: int


@dataclass
class CausalModel(_network.LanguageModel):
    """A loaded causal language model.

    Attributes:
        can_read_trees: Whether the model gives the same values for a tree as for separate texts. It
            is set to False if a check fails, as for models with a state (Mamba) or with ALiBi.
    """

    can_read_trees: bool = True

    @property
    def budget(self) -> int:
        """The default number of tokens in a batch.

        The cost of attention in a tree grows with the square of the number of tokens. Small batches
        keep a CPU busy. A GPU needs larger batches.
        """
        return 256 if self.device == "cpu" else 2_048

    @property
    def start_tokens(self) -> list[int]:
        """The tokens that the tokeniser puts before a text: one for Llama, none for GPT-2."""
        plain = self.tokeniser("a", add_special_tokens=False)["input_ids"]
        whole = list(self.tokeniser("a")["input_ids"])
        starts = (at for at in range(len(whole)) if whole[at : at + len(plain)] == plain)
        return whole[: next(starts, 0)]

    def compute_likelihoods(
        self,
        texts: Sequence[Ids],
        starts: Sequence[int],
        *,
        tokens_per_batch: int | None = None,
        on_progress: OnProgress | None = None,
    ) -> Likelihoods:
        """Return the log-probabilities of each text's tokens from its start position onwards.

        Common prefixes are read once: the prefix of all texts is stored in the model's cache, and
        the other prefixes form a tree. In float32, the values agree with those of separate texts
        within 1e-4. The first tree is checked: if the model rejects the tree or gives different
        values, all texts are read separately, with a warning.

        Args:
            texts: The token ids of each text, at least one.
            starts: The index of the first requested token of each text, 1 or more.
            tokens_per_batch: The number of tokens in a batch. The default depends on the device.
            on_progress: Called with the number of finished texts and the total number.

        Raises:
            InputError: A single text does not fit into memory.
        """
        wanted = self._truncate(texts, starts)
        order = sorted(set(wanted))
        if not order:
            return Likelihoods([], 0)
        sorted_texts, sorted_starts = zip(*order, strict=True)
        reading = TextReader(self, sorted_texts, sorted_starts)
        reading.read_all(tokens_per_batch or self.budget, on_progress)
        given = dict(zip(order, reading.values, strict=True))
        return Likelihoods([given[key] for key in wanted], reading.tokens_fed)

    def score_texts(
        self, texts: Sequence[str], *, on_progress: OnProgress | None = None
    ) -> list[float]:
        """Return the log-probability (natural logarithm) of each text.

        Each text follows the tokeniser's usual start tokens or, if there are none, its start or end
        token, so that all tokens of the text are scored. If the tokeniser has none of these tokens,
        the first token of the text is not scored.

        Raises:
            InputError: A single text does not fit into memory.
        """
        begin = self.start_tokens or _find_start_token(self.tokeniser)
        passages = [
            _make_full_passage(begin, ids, 0) for ids in _tokenise_plain(self.tokeniser, texts)
        ]
        found = self.compute_likelihoods(
            [passage.ids for passage in passages],
            [passage.start for passage in passages],
            on_progress=on_progress,
        )
        return [float(values.sum()) for values in found.values]

    def _truncate(
        self, texts: Sequence[Ids], starts: Sequence[int]
    ) -> list[tuple[tuple[int, ...], int]]:
        longest = self.max_length + 1  # the last token is only predicted
        over = [max(0, len(ids) - longest) for ids in texts]
        if any(over):
            warnings.warn(
                f"{sum(map(bool, over))} of {len(texts)} texts are longer than the "
                f"model's limit of {self.max_length} tokens; their beginnings were cut off",
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
        model: A folder with a saved model, or a hub id.
        device: A torch device ("cpu", "cuda:1"); by default the GPU if there is one.
        dtype: The precision of the network; see `Precision`.

    Raises:
        InputError: The model is missing, is not a causal model, or its weights are incomplete.
        MissingExtraError: torch or transformers is not installed.
    """
    kind = "a causal language model"
    return _network.load_language_model(CausalModel, model, kind, device=device, dtype=dtype)


TOKENISED_SAMPLES = 8
"""Number of texts for checking whether prompt and text can be tokenised separately."""


@dataclass(frozen=True)
class Passage:
    """The tokens to read for one option and one kind of score.

    Attributes:
        ids: The token ids.
        start: The index of the first token whose log-probability is included, 1 or more.
    """

    ids: tuple[int, ...]
    start: int


def make_passages(
    model: CausalModel, problems: Sequence[Problem], *, prompt: str = "", bos: bool | None = None
) -> list[list[tuple[Passage, Passage]]]:
    """Return the passages of each problem's options for the full and the partial score.

    The full score includes all tokens after the prompt or, if there is neither a prompt nor a start
    token, all except the first. The partial score includes the text after the blank, given all text
    up to the end of the option. If no text follows, as in COPA, it includes the option.

    Args:
        model: The model, whose tokeniser is used.
        problems: The problems, with any number of options.
        prompt: The text to put before each sentence, including the separating white space.
        bos: Whether to start with a start token. By default the tokeniser decides, as in
            lm-evaluation-harness, except for the full score of a sentence that starts with its
            blank: it gets a start token, so that the option's first token is scored.

    Raises:
        InputError: `bos` is True, but the tokeniser has no start or end token.
    """
    begin = _find_start_token(model.tokeniser)
    if bos and not begin:
        raise InputError(f"{model.folder}: the tokeniser has no start token; omit bos")
    leading = model.start_tokens if bos is None else begin if bos else []
    cuts = [split_sentence(problem) for problem in problems]
    texts = [before + option + after for before, options, after in cuts for option in options]
    encode = _make_prompt_tokeniser(model.tokeniser, prompt, texts)
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
        pairs = []
        for _, (whole, context) in zip(options, rows, strict=False):
            rest = whole[len(context) :]
            if not rest:  # it is joined with the option's last token, which is scored instead
                context, rest = whole[:-1], whole[-1:]
            start = max(1, len(leading) + len(context))
            partial = Passage((*leading, *context, *rest), start)
            pairs.append((_make_full_passage(first, whole, shots), partial))
        made.append(pairs)
    return _shorten_prompts(made, len(leading), shots, model.max_length + 1)


def _shorten_prompts(
    passages: list[list[tuple[Passage, Passage]]], start_size: int, prompt_size: int, limit: int
) -> list[list[tuple[Passage, Passage]]]:
    over = (
        max((len(each.ids) for own in passages for pair in own for each in pair), default=0) - limit
    )
    if not 0 < over < prompt_size:
        return passages
    warnings.warn(
        f"together, the prompt and a sentence exceed the model's limit of {limit - 1} tokens; "
        f"the first {over} tokens of the prompt are omitted",
        stacklevel=3,
    )

    def shorten(passage: Passage) -> Passage:
        ids = passage.ids
        return Passage((*ids[:start_size], *ids[start_size + over :]), passage.start - over)

    return [[(shorten(full), shorten(partial)) for full, partial in own] for own in passages]


def _make_full_passage(leading: list[int], ids: list[int], prompt_size: int) -> Passage:
    return Passage((*leading, *ids), max(1, len(leading) + min(prompt_size, len(ids) - 1)))


def _find_start_token(tokeniser: Any) -> list[int]:
    token = tokeniser.eos_token_id if tokeniser.bos_token_id is None else tokeniser.bos_token_id
    return [] if token is None else [int(token)]


def _tokenise_plain(tokeniser: Any, texts: Sequence[str]) -> list[list[int]]:
    distinct = list(dict.fromkeys(texts))
    if not distinct:
        return []
    with _network.silence_transformers():  # a warning about long texts, which are truncated later
        found = tokeniser(distinct, add_special_tokens=False, return_attention_mask=False)
    tokens = dict(zip(distinct, found["input_ids"], strict=True))
    return [tokens[text] for text in texts]


def _make_prompt_tokeniser(
    tokeniser: Any, prompt: str, texts: Sequence[str]
) -> Callable[[Sequence[str]], list[list[int]]]:
    """Return a function that tokenises texts after the prompt, without trailing white space.

    The prompt, except its last word, is tokenised only once if this does not change the tokens of a
    few sample texts.
    """
    cut = prompt.rstrip().rfind(" ")
    head, tail = prompt[: max(cut, 0)], prompt[max(cut, 0) :]

    def tokenise_whole(batch: Sequence[str]) -> list[list[int]]:
        return _tokenise_plain(tokeniser, [(prompt + text).rstrip() for text in batch])

    if not head:
        return tokenise_whole
    start = _tokenise_plain(tokeniser, [head])[0]

    def tokenise_parts(batch: Sequence[str]) -> list[list[int]]:
        ends = _tokenise_plain(tokeniser, [(tail + text).rstrip() for text in batch])
        return [start + end for end in ends]

    sample = texts[:: max(1, len(texts) // TOKENISED_SAMPLES)]
    return tokenise_parts if tokenise_parts(sample) == tokenise_whole(sample) else tokenise_whole


Values = npt.NDArray[np.float64]

MIN_CACHED_TOKENS = 16
"""Minimum number of tokens of a common prefix to store in the model's cache. Reading a shorter
prefix again in each tree is cheaper."""

TOLERANCE = {"float32": 1e-4, "bfloat16": 0.3, "float16": 0.05}
"""Maximum difference between a token's log-probabilities in a tree and in a separately read text,
by precision. If the difference is larger, the architecture can't read trees."""

_REJECTIONS = (TypeError, ValueError, AttributeError, IndexError, RuntimeError, NotImplementedError)
"""Exceptions raised by architectures that don't accept a mask, positions or a cache."""


class _NoTreesError(Exception):
    """The architecture can't read a tree. The message is the reason."""


@dataclass
class TextReader:
    """Reads sorted texts, if possible as trees, and collects their log-probabilities.

    Attributes:
        tokens_fed: number of tokens that the model read, including padding.
        values: the requested log-probabilities of each text.
    """

    model: CausalModel
    texts: Sequence[Ids]
    starts: Sequence[int]
    tokens_fed: int = 0
    _is_tree_checked: bool = False
    _cache: Any = None
    _cached_tokens: int = 0

    def __post_init__(self) -> None:
        self.network = self.model.network
        self.values: list[Values] = [np.empty(0)] * len(self.texts)

    def read_all(self, budget: int, on_progress: OnProgress | None) -> None:
        if self.model.can_read_trees:
            try:
                self._read_trees(budget, on_progress)
            except _NoTreesError as error:
                self.model.can_read_trees = False
                warnings.warn(
                    f"{self.network.config.model_type} can't read texts as a tree ({error}); they "
                    "are read separately, which takes longer and gives the same values",
                    stacklevel=4,
                )
        if not self.model.can_read_trees:
            _network.run_by_length(
                list(map(len, self.texts)), budget, self._read_batch, on_progress
            )

    def _read_trees(self, budget: int, on_progress: OnProgress | None) -> None:
        # The tree must contain the token before each requested one.
        shared = min(count_common_prefix(self.texts[0], self.texts[-1]), min(self.starts) - 1)
        if shared >= MIN_CACHED_TOKENS:
            self._cache_prefix(self.texts[0][:shared])
        rest = [ids[self._cached_tokens :] for ids in self.texts]
        starts = [start - self._cached_tokens for start in self.starts]

        def take_tree(first: int, tokens: int) -> tuple[tuple[int, Tree], int, int]:
            tree, count = build_tree(rest, starts, first, tokens)
            return (first, tree), count, len(tree.tokens)

        _network.run_batches(
            len(rest), budget, take_tree, lambda batch: self._read_tree(*batch), on_progress
        )

    def _cache_prefix(self, prefix: Ids) -> None:
        torch = require("torch", "models")
        inputs = {"input_ids": self._make_tensor([prefix]), "use_cache": True}
        try:
            with torch.inference_mode():
                base = self.network.base_model
                self._cache = getattr(base(**inputs), _get_cache_argument(base))
        except _REJECTIONS as error:
            raise _classify_error(error, self._is_tree_checked) from error
        if self._cache is None:
            raise _NoTreesError("it has no cache")
        self._cached_tokens = len(prefix)
        self.tokens_fed += len(prefix)

    def _read_tree(self, first: int, tree: Tree) -> None:
        try:
            read = self._compute_tree_values(tree)
        except _REJECTIONS as error:
            raise _classify_error(error, self._is_tree_checked) from error
        self.tokens_fed += len(tree.tokens)
        values = [read[places] for places in tree.indices]
        last = first + len(values) - 1
        if not self._is_tree_checked:
            separate = self._read_separately([last])[0]
            tolerance = TOLERANCE[str(self.network.dtype).removeprefix("torch.")]
            if not np.allclose(values[-1], separate, rtol=0, atol=tolerance, equal_nan=True):
                raise _NoTreesError("it attends to other branches")
            self._is_tree_checked = last > first
        self.values[first : last + 1] = values

    def _compute_tree_values(self, tree: Tree) -> Values:
        torch = require("torch", "models")
        if not tree.requested:
            return np.empty(0)
        kind = self.network.dtype
        mask = torch.zeros((len(tree.tokens), self._cached_tokens + len(tree.tokens)), dtype=kind)
        masked = torch.from_numpy(~tree.make_attention_mask())
        mask[:, self._cached_tokens :].masked_fill_(masked, torch.finfo(kind).min)
        inputs = {
            "input_ids": self._make_tensor([tree.tokens]),
            "attention_mask": mask[None, None].to(self.model.device),
            "position_ids": self._make_tensor([tree.depths]) + self._cached_tokens,
            "use_cache": self._cache is not None,
        }
        if self._cache is not None:
            # Copied because the call modifies the cache.
            inputs[_get_cache_argument(self.network)] = copy.deepcopy(self._cache)
        askers = sorted({node for node, _ in tree.requested})
        place = {node: at for at, node in enumerate(askers)}
        columns = self._make_tensor(askers)
        with torch.inference_mode():
            logits = compute_logits_at(self.network, inputs, columns * 0, columns)
            return _compute_log_probabilities(
                logits,
                self._make_tensor([place[node] for node, _ in tree.requested]),
                self._make_tensor([token for _, token in tree.requested]),
            )

    def _read_batch(self, batch: _network.Rows) -> None:
        for row, values in zip(batch, self._read_separately(batch), strict=True):
            self.values[row] = values

    def _read_separately(self, batch: Sequence[int] | _network.Rows) -> list[Values]:
        torch = require("torch", "models")
        texts = [self.texts[row] for row in batch]
        longest = max(max(map(len, texts)) - 1, 1)  # the last token is only predicted
        requested = [
            (row, at - 1, ids[at])
            for row, ids in enumerate(texts)
            for at in range(self.starts[batch[row]], len(ids))
        ]
        if not requested:
            return [np.empty(0)] * len(batch)
        inputs = {
            "input_ids": self._make_tensor(
                [(*ids[:-1], *[0] * longest)[:longest] for ids in texts]
            ),
            "attention_mask": self._make_tensor(
                [([1] * (len(ids) - 1) + [0] * longest)[:longest] for ids in texts]
            ),
            "use_cache": False,
        }
        self.tokens_fed += longest * len(batch)
        rows, columns, tokens = map(self._make_tensor, zip(*requested, strict=True))
        with torch.inference_mode():
            logits = compute_logits_at(self.network, inputs, rows, columns)
            places = torch.arange(len(requested), device=self.model.device)
            flat = _compute_log_probabilities(logits, places, tokens)
        ends = np.cumsum(
            [len(ids) - self.starts[row] for row, ids in zip(batch, texts, strict=True)]
        )
        return np.split(flat, ends[:-1])

    def _make_tensor(self, values: Any) -> Any:
        return require("torch", "models").tensor(values, device=self.model.device)


def _classify_error(error: Exception, checked: bool) -> Exception:
    if checked or _network.is_out_of_memory(error):
        return error
    return _NoTreesError(type(error).__name__)


def _compute_log_probabilities(logits: Any, rows: Any, tokens: Any) -> Values:
    """Return the log-probabilities of tokens in the given rows of the logits, shape (pairs,)."""
    torch = require("torch", "models")
    values = torch.log_softmax(logits, -1)[rows, tokens]  # five times as fast as logsumexp
    found: Values = values.double().cpu().numpy()
    return found


Ids = Sequence[int]
"""The token ids of one text."""


@dataclass
class Tree:
    """A prefix tree of token sequences, as one row of tokens.

    Attributes:
        tokens: The token of each node. Parents precede their children.
        depths: The position of each node in its sequences, from 0.
        parents: The parent of each node, or -1 for a first token.
        requested: The distinct (node, next token) pairs, mapped to their indices.
        indices: For each sequence, the indices of its pairs in `requested`.
    """

    tokens: list[int] = field(default_factory=list)
    depths: list[int] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    requested: dict[tuple[int, int], int] = field(default_factory=dict)
    indices: list[list[int]] = field(default_factory=list)

    def make_attention_mask(self) -> npt.NDArray[np.bool_]:
        """Return a mask, (nodes, nodes), in which each node attends to itself and its ancestors."""
        seen = np.zeros((len(self.tokens), len(self.tokens)), np.bool_)
        for node, parent in enumerate(self.parents):
            if parent >= 0:
                seen[node] = seen[parent]
            seen[node, node] = True
        return seen


def count_common_prefix(first: Ids, second: Ids) -> int:
    """Return the length of the common prefix of two sequences.

    >>> count_common_prefix([5, 6, 7], [5, 6, 8, 9])
    2
    """
    return next(
        (at for at, (a, b) in enumerate(zip(first, second, strict=False)) if a != b),
        min(len(first), len(second)),
    )


def build_tree(
    sequences: Sequence[Ids], starts: Sequence[int], first: int, budget: int
) -> tuple[Tree, int]:
    """Build a tree of as many sorted sequences as the budget allows, starting at index `first`.

    `starts` are the indices of the first requested token of each sequence, 1 or more. `budget` is
    the maximum number of nodes, but at least one sequence is always included. The number of
    sequences in the tree is also returned.

    >>> tree, count = build_tree([[1, 2, 3, 4], [1, 2, 5, 6]], [3, 3], 0, 100)
    >>> tree.tokens, tree.parents, count  # 4 and 6 are only predicted
    ([1, 2, 3, 5], [-1, 0, 1, 1], 2)
    """
    tree, path, previous = Tree(), [], []  # type: Tree, list[int], Ids
    for at in range(first, len(sequences)):
        ids = sequences[at]
        shared = min(count_common_prefix(previous, ids), len(path), max(0, len(ids) - 1))
        if at > first and len(tree.tokens) + len(ids) - 1 - shared > budget:
            return tree, at - first
        path, previous = path[:shared], ids
        for depth in range(shared, len(ids) - 1):  # the last token is requested, but never read
            tree.parents.append(path[-1] if path else -1)
            path.append(len(tree.tokens))
            tree.tokens.append(ids[depth])
            tree.depths.append(depth)
        pairs = ((path[place - 1], ids[place]) for place in range(starts[at], len(ids)))
        known = tree.requested
        tree.indices.append([known.setdefault(pair, len(known)) for pair in pairs])
    return tree, len(sequences) - first


def _get_cache_argument(network: Any) -> str:
    known = inspect.signature(network.forward).parameters
    return "cache" if "cache" in known else "past_key_values"


def compute_logits_at(network: Any, inputs: Mapping[str, Any], rows: Any, columns: Any) -> Any:
    """Return the logits at the requested positions, a float32 tensor of (positions, vocabulary).

    The output layer is as wide as the vocabulary and takes most of the time of a small model, so it
    runs only on the requested positions. `inputs` are the keyword arguments of the network's call.
    The index tensors `rows` and `columns`, (positions,), contain the row of each position in the
    batch and its index in this row.
    """
    cut: list[bool] = []

    def keep_requested(_module: Any, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        cut.append(True)
        return (arguments[0][rows, columns].unsqueeze(1), *arguments[1:])

    output = network.get_output_embeddings()
    if output is None:
        return network(**inputs).logits[rows, columns].float()
    hook = output.register_forward_pre_hook(keep_requested)
    try:
        logits = network(**inputs).logits
    finally:
        hook.remove()
    return (logits[:, 0] if cut else logits[rows, columns]).float()
