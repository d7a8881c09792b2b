"""Encoders: load them, batch them by length, train them. The only door to torch and transformers.

Weights are read from safetensors alone, and no code of a model's author is ever run. Nothing
heavy is imported, and nothing is downloaded, before a function is called.
"""

from __future__ import annotations

from winosmith.models._batches import length_batches, shuffled_batches
from winosmith.models._chance import chance_p_value
from winosmith.models._choice import ChoiceModel, load_choice_model, new_choice_model
from winosmith.models._encoder import Encoder, Pooling, load_encoder
from winosmith.models._folder import model_folder, weights_digest
from winosmith.models._outcome import Epoch, FineTuned, TrainingSettings
from winosmith.models._texts import SplitPoint, Text, filled_text
from winosmith.models._train import train_multiple_choice

__all__ = [
    "ChoiceModel",
    "Encoder",
    "Epoch",
    "FineTuned",
    "Pooling",
    "SplitPoint",
    "Text",
    "TrainingSettings",
    "chance_p_value",
    "filled_text",
    "length_batches",
    "load_choice_model",
    "load_encoder",
    "model_folder",
    "new_choice_model",
    "shuffled_batches",
    "train_multiple_choice",
    "weights_digest",
]
