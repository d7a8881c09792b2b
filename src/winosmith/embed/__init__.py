"""Embedders, which turn problems into vectors: the light one, Hugging Face encoders, and arrays.

Every embedder has `embed(problems) -> (n, d) float32` and never uses answers.

>>> from winosmith import Problem, embed
>>> halves = [
...     Problem("a", "Ann beat Beth because _ was strong.", ("Ann", "Beth"), 0, "t"),
...     Problem("b", "Ann beat Beth because _ was weak.", ("Ann", "Beth"), 1, "t"),
... ]
>>> embed.LightEmbedder(dimensions=8).embed(halves).shape
(2, 1)
"""

from __future__ import annotations

from winosmith.embed._array import ArrayEmbedder, load_array, save_array
from winosmith.embed._embedder import Combine, Embedder, OptionsEmbedder, TextEmbedder, Vectors
from winosmith.embed._encoder import (
    EncoderEmbedder,
    finetune_embedder,
    get_cache_folder,
    split_for_finetuning,
)
from winosmith.embed._light import HashedEmbedder, LightEmbedder

__all__ = [
    "ArrayEmbedder",
    "Combine",
    "Embedder",
    "EncoderEmbedder",
    "HashedEmbedder",
    "LightEmbedder",
    "OptionsEmbedder",
    "TextEmbedder",
    "Vectors",
    "finetune_embedder",
    "get_cache_folder",
    "load_array",
    "save_array",
    "split_for_finetuning",
]
