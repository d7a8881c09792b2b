"""Tiny language models, made on the spot and never trained."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from winosmith.extras import require

SIZES = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "max_position_embeddings": 1024,
}

ALSO: dict[str, dict[str, Any]] = {
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
"""What architectures ask for beside the sizes."""

AROUND = {"llama": "<s> $A", "opt": "<s> $A", "gemma2": "<s> $A", "roberta": "<s> $A </s>"}
"""What the tokenisers of some architectures put around every text."""


SPECIAL = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")}
"""The tokens of a tokeniser like BERT's that are no words."""


def tiny_language_model(
    folder: str | Path,
    architecture: str = "gpt2",
    *,
    texts: Sequence[str],
    masked: bool = False,
    vocabulary: int = 700,
    **changes: Any,
) -> Path:
    """Save a tiny causal or masked language model that knows the words of some texts.

    It was never trained, and gives each token what depends on all that it sees: its weights are
    drawn ten times as wide as usual. Two layers, 32 wide, unless `changes` says otherwise.

    Args:
        folder: where to save it.
        architecture: as transformers names it ("gpt2", "llama", "mamba"; "bert", "roberta").
        texts: what its tokeniser is trained on.
        masked: whether it fills masks or goes on with a text.
        vocabulary: the tokens that it knows, at most.
        changes: settings of the architecture, such as `hidden_size` and `num_hidden_layers`.

    Returns:
        The folder.
    """
    torch = require("torch", "models")
    transformers = require("transformers", "models")
    if masked and architecture != "roberta":
        tokeniser = _word_pieces(texts, vocabulary)
    else:
        tokeniser = _byte_pairs(texts, vocabulary, AROUND.get(architecture, "$A"))
    config = transformers.AutoConfig.for_model(
        architecture,
        **{**SIZES, **ALSO.get(architecture, {}), **changes},
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


def _byte_pairs(texts: Sequence[str], size: int, around: str) -> Any:
    """Return a tokeniser like GPT-2's, trained on texts; `around` says what surrounds each."""
    tokenizers = require("tokenizers", "models")
    byte_level = tokenizers.pre_tokenizers.ByteLevel
    tokeniser = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokeniser.pre_tokenizer = byte_level(add_prefix_space=False)
    tokeniser.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=["<pad>", "<s>", "</s>", "<mask>"],
        initial_alphabet=byte_level.alphabet(),
        show_progress=False,
    )
    tokeniser.train_from_iterator(texts, trainer)
    surround = tokenizers.processors.TemplateProcessing(
        single=around, special_tokens=[("<s>", 1), ("</s>", 2)]
    )
    tokeniser.post_processor = tokenizers.processors.Sequence(
        [tokenizers.processors.ByteLevel(trim_offsets=True), surround]
    )
    begin = "<s>" if "<s>" in around else "</s>"
    names = {"pad_token": "<pad>", "bos_token": begin, "eos_token": "</s>", "mask_token": "<mask>"}
    fast = require("transformers", "models").PreTrainedTokenizerFast
    return fast(tokenizer_object=tokeniser, **names)


def _word_pieces(texts: Sequence[str], size: int) -> Any:
    """Return a tokeniser like BERT's: the letters of the texts, and their most frequent words.

    It is not trained: the library's trainer breaks ties otherwise in each process.
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
