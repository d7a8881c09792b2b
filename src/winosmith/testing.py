"""Helpers for tests of winosmith and of projects that use it.

They provide a chat server whose replies come from a function, synthetic twins and families, and
tiny untrained language models.
"""

from __future__ import annotations

import http.server
import json
import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from winosmith.chat import Message, Reply
from winosmith.dataset import Dataset
from winosmith.errors import require
from winosmith.problem import Lineage, Problem

Responder = Callable[[list[Message]], Reply | str | int | None]
"""A function that returns the answer to a conversation: a reply, its text, the HTTP status of an
error, or None to drop the connection."""


@contextmanager
def chat_server(respond: Responder) -> Iterator[str]:
    """Serve the OpenAI-compatible chat protocol on localhost, and yield the base URL.

    Args:
        respond: called with each conversation. An HTTP status (429, 500) is sent as an error, and
            None drops the connection in the middle of the response.

    >>> import urllib.request
    >>> with chat_server(lambda messages: messages[-1].content.upper()) as url:
    ...     asked = json.dumps({"messages": [{"role": "user", "content": "hm"}]}).encode()
    ...     with urllib.request.urlopen(f"{url}/chat/completions", asked) as answer:
    ...         json.load(answer)["choices"][0]["message"]["content"]
    'HM'
    """
    handler = type("Handler", (_ChatHandler,), {"author": staticmethod(respond)})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/v1"
        finally:
            server.shutdown()
            thread.join()


class _ChatHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    author: Responder

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = self.author([Message(**message) for message in asked["messages"]])
        if isinstance(answer, int):
            self._send(answer, {"error": {"message": f"scripted trouble {answer}"}})
        elif answer is None:
            self._send(200, {"choices": []}, truncated=True)
        else:
            reply = answer if isinstance(answer, Reply) else Reply(answer)
            usage = {"prompt_tokens": reply.tokens_in, "completion_tokens": reply.tokens_out}
            message = {"role": "assistant", "content": reply.text}
            finish = reply.finish or "stop"
            body = {
                "object": "chat.completion",
                "choices": [{"index": 0, "message": message, "finish_reason": finish}],
                "usage": {key: value for key, value in usage.items() if value is not None},
            }
            self._send(200, body)

    def _send(self, status: int, body: Any, *, truncated: bool = False) -> None:
        raw = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(raw)))
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(raw[: len(raw) // 2] if truncated else raw)
        self.close_connection = self.close_connection or truncated

    def log_message(self, *_: object) -> None:
        """Suppress the log on standard error."""


_WORDS = tuple(
    "amber basket candle drawer engine feather garden hammer island jacket kettle ladder marble "
    "needle orchard pencil quarry ribbon saddle tunnel umbrella velvet window yarn zipper".split()
)


def make_twins(count: int, *, singles: int = 0, seed: int = 0) -> Dataset:
    """Generate `count` twins, followed by `singles` problems that are not in a twin.

    The sentences are distinct, have 18 words and pass the structure rules, but have no meaning. The
    order of halves and their answers are random.

    >>> data = make_twins(3, singles=1)
    >>> len(data), len(data.twins), len(data.singles)
    (7, 3, 1)
    """
    rng = random.Random(seed)  # noqa: S311 - for test data, not secrets
    problems: list[Problem] = []
    for number in range(count + singles):
        first, second, place, left, right = rng.sample(_WORDS, 5)
        first, second = f"{first}{number}", f"{second}{number}"  # no other twin has these options
        answer = rng.randrange(2)
        start = f"They all say that the {first} stood beside the {second} near the {place}"
        for half, word in enumerate((left, right)[: 2 if number < count else 1]):
            problems.append(
                Problem(
                    id=f"{number}-{half}",
                    sentence=f"{start} because the _ was {word}.",
                    options=(first, second),
                    answer=answer ^ half,
                    twin_id=f"t{number}",
                )
            )
    return Dataset(problems, "made")


def make_families(*depths: Sequence[int], include_roots: bool = True) -> Dataset:
    """Generate a family for each sequence of depths.

    Each perturbed problem is a child of the root. It declares its depth, and differs from the root
    in that number of words.

    Args:
        depths: the depths of the perturbed problems of each family.
        include_roots: whether to include the roots.

    >>> data = make_families([1, 3], [2])
    >>> data.ids
    ('r0', 'r0-0', 'r0-1', 'r1', 'r1-0')
    >>> from winosmith.lineage import depths
    >>> depths(data)[2]
    Depths(declared=3, lineage=3, edit=3)
    """
    found = []
    for number, row in enumerate(depths):
        root, options = f"r{number}", (f"cup{number}", f"jug{number}")
        words = [f"of{number}"] * max(row, default=0)
        if include_roots:
            found.append(Problem(root, " ".join(["_", *words]), options, 0))
        for at, depth in enumerate(row):
            changed = [f"w{number}x{at}x{place}" for place in range(depth)]
            sentence = " ".join(["_", *changed, *words[depth:]])
            lineage = Lineage(root, root, declared=int(depth))
            found.append(Problem(f"{root}-{at}", sentence, options, at % 2, lineage=lineage))
    return Dataset(found)


SIZES = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "max_position_embeddings": 1024,
}

EXTRA_SETTINGS: dict[str, dict[str, Any]] = {
    "albert": {"embedding_size": 32},
    "deberta-v2": {"relative_attention": True, "pos_att_type": ["c2p", "p2c"]},
    "distilbert": {"hidden_dim": 48},
    "electra": {"embedding_size": 16},
    "gemma2": {"head_dim": 8, "num_key_value_heads": 2, "sliding_window": 64},
    "llama": {"num_key_value_heads": 2},
    "mamba": {"state_size": 4},
    "mistral": {"num_key_value_heads": 2},
    "opt": {"ffn_dim": 48, "word_embed_proj_dim": 32},
    "qwen2": {"num_key_value_heads": 2},
    "roberta": {"max_position_embeddings": 1026, "type_vocab_size": 1},
}

TEXT_TEMPLATES = {"llama": "<s> $A", "opt": "<s> $A", "gemma2": "<s> $A", "roberta": "<s> $A </s>"}
"""The special tokens around every text ($A), by architecture."""


SPECIAL = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")}
"""The special tokens of a BERT-like tokeniser."""


def tiny_language_model(
    folder: str | Path,
    architecture: str = "gpt2",
    *,
    texts: Sequence[str],
    masked: bool = False,
    vocabulary: int = 700,
    **changes: Any,
) -> Path:
    """Save a tiny untrained causal or masked language model, and return its folder.

    The random weights are ten times as large as usual, so that scores depend on all tokens. By
    default, the model has two layers of width 32.

    Args:
        folder: output folder.
        architecture: the name in transformers ("gpt2", "llama", "mamba"; "bert", "roberta").
        texts: texts that the tokeniser is trained on.
        masked: whether the model is masked instead of causal.
        vocabulary: maximum number of tokens.
        changes: settings of the architecture, such as `hidden_size` and `num_hidden_layers`.
    """
    torch = require("torch", "models")
    transformers = require("transformers", "models")
    if masked and architecture != "roberta":
        tokeniser = _build_wordpiece_tokeniser(texts, vocabulary)
    else:
        tokeniser = _train_bpe_tokeniser(texts, vocabulary, TEXT_TEMPLATES.get(architecture, "$A"))
    config = transformers.AutoConfig.for_model(
        architecture,
        **{**SIZES, **EXTRA_SETTINGS.get(architecture, {}), **changes},
        vocab_size=len(tokeniser),
        pad_token_id=tokeniser.pad_token_id,
        bos_token_id=tokeniser.bos_token_id,
        eos_token_id=tokeniser.eos_token_id,
    )
    for name in ("initializer_range", "init_std"):
        if hasattr(config, name):
            setattr(config, name, 0.2)
    auto = transformers.AutoModelForMaskedLM if masked else transformers.AutoModelForCausalLM
    with torch.random.fork_rng():
        torch.manual_seed(0)
        auto.from_config(config).save_pretrained(folder)
    tokeniser.save_pretrained(folder)
    return Path(folder)


def _train_bpe_tokeniser(texts: Sequence[str], size: int, template: str) -> Any:
    """Train a GPT-2-like tokeniser; `template` puts special tokens around each text."""
    tokenizers = require("tokenizers", "models")
    byte_level = tokenizers.pre_tokenizers.ByteLevel
    tokeniser = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokeniser.pre_tokenizer = byte_level(add_prefix_space=False)
    tokeniser.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=["<pad>", "<s>", "</s>", "<mask>"],
        initial_alphabet=byte_level.alphabet(),
        progress=False,
    )
    tokeniser.train_from_iterator(texts, trainer)
    surround = tokenizers.processors.TemplateProcessing(
        single=template, special_tokens=[("<s>", 1), ("</s>", 2)]
    )
    tokeniser.post_processor = tokenizers.processors.Sequence(
        [tokenizers.processors.ByteLevel(trim_offsets=True), surround]
    )
    begin = "<s>" if "<s>" in template else "</s>"
    names = {"pad_token": "<pad>", "bos_token": begin, "eos_token": "</s>", "mask_token": "<mask>"}
    fast = require("transformers", "models").PreTrainedTokenizerFast
    return fast(tokenizer_object=tokeniser, **names)


def _build_wordpiece_tokeniser(texts: Sequence[str], size: int) -> Any:
    """Build a BERT-like tokeniser from the letters and the most frequent words of the texts.

    It is not trained, because the library's trainer breaks ties differently in each process.
    """
    tokenizers = require("tokenizers", "models")
    normal = tokenizers.normalizers.BertNormalizer()
    cut = tokenizers.pre_tokenizers.BertPreTokenizer()
    words = Counter(
        word for text in texts for word, _ in cut.pre_tokenize_str(normal.normalize_str(text))
    )
    letters = sorted({letter for word in words for letter in word})
    pieces = [*SPECIAL.values(), *letters, *(f"##{letter}" for letter in letters)]
    frequent = sorted(words.keys() - set(letters), key=lambda word: (-words[word], word))
    vocabulary = {piece: number for number, piece in enumerate([*pieces, *frequent][:size])}
    tokeniser = tokenizers.Tokenizer(
        tokenizers.models.WordPiece(vocabulary, unk_token=SPECIAL["unk_token"])
    )
    tokeniser.normalizer, tokeniser.pre_tokenizer = normal, cut
    tokeniser.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    fast = require("transformers", "models").PreTrainedTokenizerFast
    return fast(tokenizer_object=tokeniser, **SPECIAL, model_max_length=512)
