"""Encoders and language models: loading, batching, training, with torch and transformers.

Weights are read only from safetensors, and a model's own code is never run. Heavy libraries are
imported, and models downloaded, only when a function is called.
"""

from __future__ import annotations

from winosmith.models._causal import (
    CausalModel,
    Likelihoods,
    Passage,
    load_causal_model,
    make_passages,
)
from winosmith.models._encoder import (
    ChoiceModel,
    Encoder,
    InputFormat,
    Pooling,
    load_choice_model,
    load_encoder,
    load_input_format,
    new_choice_model,
)
from winosmith.models._grid import GRIDS, Grid, Trained, train_grid
from winosmith.models._masked import (
    Hidden,
    MaskedModel,
    hide_options,
    hide_tokens,
    load_masked_model,
)
from winosmith.models._network import (
    OnProgress,
    Precision,
    batch_by_length,
    digest_weights,
    find_model_folder,
)
from winosmith.models._texts import (
    SplitPoint,
    Text,
    ask_referent,
    convert_claim,
    fill_answer,
    fill_option,
    read_questions,
    split_sentence,
    word_options,
)
from winosmith.models._training import (
    Epoch,
    FineTuned,
    TrainingRun,
    TrainingSettings,
    train_multiple_choice,
)

__all__ = [
    "GRIDS",
    "CausalModel",
    "ChoiceModel",
    "Encoder",
    "Epoch",
    "FineTuned",
    "Grid",
    "Hidden",
    "InputFormat",
    "Likelihoods",
    "MaskedModel",
    "OnProgress",
    "Passage",
    "Pooling",
    "Precision",
    "SplitPoint",
    "Text",
    "Trained",
    "TrainingRun",
    "TrainingSettings",
    "ask_referent",
    "batch_by_length",
    "convert_claim",
    "digest_weights",
    "fill_answer",
    "fill_option",
    "find_model_folder",
    "hide_options",
    "hide_tokens",
    "load_causal_model",
    "load_choice_model",
    "load_encoder",
    "load_input_format",
    "load_masked_model",
    "make_passages",
    "new_choice_model",
    "read_questions",
    "split_sentence",
    "train_grid",
    "train_multiple_choice",
    "word_options",
]
