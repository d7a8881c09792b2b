"""Encoders and language models: load, batch, train. The only door to torch and transformers.

Weights are read from safetensors alone, and no code of a model's author is ever run. Nothing
heavy is imported, and nothing is downloaded, before a function is called.
"""

from __future__ import annotations

from winosmith.models._batches import length_batches, shuffled_batches
from winosmith.models._causal import CausalModel, Likelihoods, load_causal_model
from winosmith.models._causal_texts import Passage, passages
from winosmith.models._chance import chance_p_value
from winosmith.models._choice import (
    ChoiceModel,
    HowRead,
    how_read,
    load_choice_model,
    new_choice_model,
)
from winosmith.models._encoder import Encoder, Pooling, load_encoder
from winosmith.models._folder import model_folder, weights_digest
from winosmith.models._grid import GRIDS, Grid, Trained, train_grid
from winosmith.models._language import Precision
from winosmith.models._masked import Hidden, MaskedModel, load_masked_model
from winosmith.models._masked_texts import hidden_one_by_one, hidden_options
from winosmith.models._memory import OnProgress
from winosmith.models._outcome import Epoch, FineTuned, TrainingRun, TrainingSettings
from winosmith.models._proposals import Gap, Proposal, Proposer
from winosmith.models._questions import claimed, questions
from winosmith.models._texts import SplitPoint, Text, filled_text
from winosmith.models._train import train_multiple_choice
from winosmith.models._wording import referring, sentence_parts, solved_text, worded

__all__ = [
    "GRIDS",
    "CausalModel",
    "ChoiceModel",
    "Encoder",
    "Epoch",
    "FineTuned",
    "Gap",
    "Grid",
    "Hidden",
    "HowRead",
    "Likelihoods",
    "MaskedModel",
    "OnProgress",
    "Passage",
    "Pooling",
    "Precision",
    "Proposal",
    "Proposer",
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
