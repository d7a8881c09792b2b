"""Fine-tuned embedders: the split into train, dev and rest, and the resulting vectors."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from winosmith import Dataset
from winosmith.embed import finetune_embedder, split_for_finetuning
from winosmith.errors import DataError
from winosmith.models import TrainingSettings, load_choice_model
from winosmith.testing import make_twins


@given(st.integers(4, 40), st.integers(0, 20), st.integers(0, 5), st.data())
def test_parts_divide_the_data_into_whole_twins(
    twins: int, singles: int, seed: int, draw: st.DataObject
) -> None:
    data = make_twins(twins, singles=singles)
    n_train = draw.draw(st.integers(1, len(data) - 5))
    n_dev = draw.draw(st.integers(1, len(data) - n_train - 4))
    parts = split_for_finetuning(data, n_train, n_dev, seed=seed)
    ids = [set(part.ids) for part in parts]
    assert sum(map(len, ids)) == len(data)
    assert set.union(*ids) == set(data.ids)
    assert n_train <= len(ids[0]) <= n_train + 1
    assert n_dev <= len(ids[1]) <= n_dev + 1
    for first, second in data.twins:
        assert any({data.ids[first], data.ids[second]} <= part for part in ids)


def test_split_depends_only_on_texts_and_seed() -> None:
    data = make_twins(30, singles=4)
    turned = Dataset(
        replace(p, id=f"x{at}", answer=1 - (p.answer or 0)) for at, p in enumerate(data[::-1])
    )
    drawn = [
        [sorted(p.sentence for p in part) for part in split_for_finetuning(d, 20, 10, seed=seed)]
        for d, seed in ((data, 0), (turned, 0), (data, 1))
    ]
    assert drawn[0] == drawn[1] != drawn[2]


def test_twins_without_twin_ids_are_not_split() -> None:
    """As in a build."""
    data = Dataset(replace(problem, twin_id=None) for problem in make_twins(30))
    for part in split_for_finetuning(data, 21, 10):
        assert all(count == 2 for count in Counter(p.options for p in part).values())


@pytest.mark.parametrize("sizes", [(5, 5), (0, 4), (4, 0), (9, 9), (7, 2)])
def test_sizes_that_leave_a_part_empty_are_refused(sizes: tuple[int, int]) -> None:
    with pytest.raises(DataError, match="10 problems can't be divided"):
        split_for_finetuning(make_twins(5), *sizes)


@pytest.mark.models
def test_embedder_uses_the_input_format_of_training(tiny_encoder: Path, tmp_path: Path) -> None:
    """It pools [CLS], as the fine-tuned model does."""
    import torch

    train, dev, rest = split_for_finetuning(make_twins(40), 40, 20)
    embedder, tuned = finetune_embedder(
        train,
        dev,
        model=tiny_encoder,
        out=tmp_path,
        settings=TrainingSettings(learning_rate=1e-2, epochs=1, split_point="after_option"),
        cache=False,
    )
    assert embedder.parameters["split_point"] == "after_option"
    assert embedder.parameters["pooling"] == "cls"
    model = load_choice_model(tuned.folder)
    with torch.inference_mode():
        inputs = model.reader.make_batch(model.make_inputs(rest))
        first = model.network.bert(**inputs).last_hidden_state[:, 0].numpy().reshape(-1, 2, 16)
    np.testing.assert_allclose(embedder.embed(rest), first[:, 0] - first[:, 1], atol=1e-5)
    assert tuned.at_chance
