"""Encoders and language models: loading, batching, training, with torch and transformers.

Weights are only read from safetensors, and code from model folders is never run. Heavy libraries
are imported, and models downloaded, only when a function is called.
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
    create_choice_model,
    load_choice_model,
    load_encoder,
    load_input_format,
)
from winosmith.models._grid import GRIDS, Grid, GridResult, train_grid
from winosmith.models._masked import (
    MaskedModel,
    MaskedText,
    load_masked_model,
    mask_options,
    mask_tokens,
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
    inflect_options,
    read_questions,
    split_sentence,
)
from winosmith.models._training import (
    Epoch,
    FinishedRun,
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
    "FinishedRun",
    "Grid",
    "GridResult",
    "InputFormat",
    "Likelihoods",
    "MaskedModel",
    "MaskedText",
    "OnProgress",
    "Passage",
    "Pooling",
    "Precision",
    "SplitPoint",
    "Text",
    "TrainingRun",
    "TrainingSettings",
    "ask_referent",
    "batch_by_length",
    "convert_claim",
    "create_choice_model",
    "digest_weights",
    "fill_answer",
    "fill_option",
    "find_model_folder",
    "inflect_options",
    "load_causal_model",
    "load_choice_model",
    "load_encoder",
    "load_input_format",
    "load_masked_model",
    "make_passages",
    "mask_options",
    "mask_tokens",
    "read_questions",
    "split_sentence",
    "train_grid",
    "train_multiple_choice",
]
