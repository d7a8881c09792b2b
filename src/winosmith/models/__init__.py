"""Encoders and language models: load, batch, train. The only door to torch and transformers.

Weights are read from safetensors alone, and no code of a model's author is ever run. Nothing
heavy is imported, and nothing is downloaded, before a function is called.
"""

from __future__ import annotations

from winosmith.models._causal import CausalModel, Likelihoods, Passage, load_causal_model, passages
from winosmith.models._encoder import (
    ChoiceModel,
    Encoder,
    HowRead,
    Pooling,
    how_read,
    load_choice_model,
    load_encoder,
    new_choice_model,
)
from winosmith.models._grid import GRIDS, Grid, Trained, train_grid
from winosmith.models._masked import (
    Hidden,
    MaskedModel,
    hidden_one_by_one,
    hidden_options,
    load_masked_model,
)
from winosmith.models._network import (
    OnProgress,
    Precision,
    length_batches,
    model_folder,
    shuffled_batches,
    weights_digest,
)
from winosmith.models._texts import (
    SplitPoint,
    Text,
    chance_p_value,
    claimed,
    filled_text,
    questions,
    referring,
    sentence_parts,
    solved_text,
    worded,
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
    "HowRead",
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
    "chance_p_value",
    "claimed",
    "filled_text",
    "hidden_one_by_one",
    "hidden_options",
    "how_read",
    "length_batches",
    "load_causal_model",
    "load_choice_model",
    "load_encoder",
    "load_masked_model",
    "model_folder",
    "new_choice_model",
    "passages",
    "questions",
    "referring",
    "sentence_parts",
    "shuffled_batches",
    "solved_text",
    "train_grid",
    "train_multiple_choice",
    "weights_digest",
    "worded",
]
