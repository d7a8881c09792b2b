"""Tiny language models, made on the spot and never trained."""

from __future__ import annotations

from pathlib import Path
from typing import Any

SIZES = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "max_position_embeddings": 1024,
}

ALSO: dict[str, dict[str, Any]] = {
    "albert": {"embedding_size": 32},
    "bloom": {"n_layer": 2, "n_head": 4},
    "deberta-v2": {"relative_attention": True, "pos_att_type": ["c2p", "p2c"]},
    "distilbert": {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 48},
    "electra": {"embedding_size": 16},
    "gemma2": {"head_dim": 8, "num_key_value_heads": 2, "sliding_window": 64},
    "gpt2": {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 1024},
    "llama": {"num_key_value_heads": 2},
    "mamba": {"state_size": 4},
    "mistral": {"num_key_value_heads": 2},
    "mpt": {"d_model": 32, "n_heads": 4, "n_layers": 2},
    "opt": {"ffn_dim": 48, "word_embed_proj_dim": 32},
    "qwen2": {"num_key_value_heads": 2},
    "roberta": {"max_position_embeddings": 1026, "type_vocab_size": 1},
}
"""What architectures ask for beside the sizes."""

AROUND = {"llama": "<s> $A", "opt": "<s> $A", "gemma2": "<s> $A", "roberta": "<s> $A </s>"}
"""What the tokenisers of some architectures put around every text."""


def byte_pairs(texts: list[str], around: str = "$A", size: int = 700) -> Any:
    """Return a tokeniser like GPT-2's, trained on texts; `around` says what surrounds each."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    tokeniser = Tokenizer(models.BPE())
    tokeniser.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokeniser.decoder = decoders.ByteLevel()
    special = ["<pad>", "<s>", "</s>", "<mask>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokeniser.train_from_iterator(
        texts,
        trainers.BpeTrainer(vocab_size=size, special_tokens=special, initial_alphabet=alphabet),
    )
    surround = processors.TemplateProcessing(
        single=around, special_tokens=[("<s>", 1), ("</s>", 2)]
    )
    tokeniser.post_processor = processors.Sequence(
        [processors.ByteLevel(trim_offsets=True), surround]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokeniser,
        pad_token="<pad>",
        bos_token="<s>" if "<s>" in around else "</s>",
        eos_token="</s>",
        mask_token="<mask>",
    )


def word_pieces(texts: list[str], size: int = 500) -> Any:
    """Return a tokeniser like BERT's, trained on texts."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokeniser = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokeniser.normalizer = normalizers.BertNormalizer()
    tokeniser.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokeniser.train_from_iterator(
        texts, trainers.WordPieceTrainer(vocab_size=size, special_tokens=special)
    )
    tokeniser.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    names = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")}
    return PreTrainedTokenizerFast(tokenizer_object=tokeniser, **names, model_max_length=512)


def make_language_model(
    folder: Path, architecture: str, texts: list[str], *, masked: bool = False, **changes: Any
) -> Path:
    """Save a tiny causal or masked language model that knows the words of some texts.

    Its weights are drawn ten times as wide as usual, so that what it gives a token depends on all
    that it sees.
    """
    import torch
    import transformers

    if masked and architecture != "roberta":
        tokeniser = word_pieces(texts)
    else:
        tokeniser = byte_pairs(texts, AROUND.get(architecture, "$A"))
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
    torch.manual_seed(0)
    auto = transformers.AutoModelForMaskedLM if masked else transformers.AutoModelForCausalLM
    auto.from_config(config).save_pretrained(folder)
    tokeniser.save_pretrained(folder)
    return folder
