"""A language model's logits, at the places that are asked for and nowhere else.

The output layer is as wide as the vocabulary: for a small model it is most of the work. So the
hidden states are cut down to the places asked for before it runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["logits_at"]


def logits_at(network: Any, inputs: Mapping[str, Any], rows: Any, columns: Any) -> Any:
    """Return the logits at some places of a batch as a float32 tensor (places, vocabulary).

    Args:
        network: a causal or masked language model of transformers.
        inputs: what it is called with.
        rows: an index tensor (places,), which row of the batch.
        columns: an index tensor (places,), which token of the row.
    """
    cut: list[bool] = []

    def keep(_module: Any, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        cut.append(True)
        return (arguments[0][rows, columns].unsqueeze(1), *arguments[1:])

    output = network.get_output_embeddings()
    if output is None:
        return network(**inputs).logits[rows, columns].float()
    hook = output.register_forward_pre_hook(keep)
    try:
        logits = network(**inputs).logits
    finally:
        hook.remove()
    return (logits[:, 0] if cut else logits[rows, columns]).float()
