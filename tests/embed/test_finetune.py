"""An encoder is fine-tuned on whole twins, which are left out of what it embeds."""

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
def test_the_three_parts_are_the_whole_in_whole_twins(
    twins: int, singles: int, seed: int, draw: st.DataObject
) -> None:
    """Train, dev and rest share nothing, miss nothing, part no twin, and keep to their size."""
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


def test_the_draw_depends_on_what_is_read_and_the_seed_alone() -> None:
    """Another order, other ids or answers draw the same problems; another seed draws others."""
    data = make_twins(30, singles=4)
    turned = Dataset(
        replace(p, id=f"x{at}", answer=1 - (p.answer or 0)) for at, p in enumerate(data[::-1])
    )
    drawn = [
        [sorted(p.sentence for p in part) for part in split_for_finetuning(d, 20, 10, seed=seed)]
        for d, seed in ((data, 0), (turned, 0), (data, 1))
    ]
    assert drawn[0] == drawn[1] != drawn[2]


def test_what_looks_like_a_twin_is_not_parted() -> None:
    """Twins whose ids got lost stay together, as in a build."""
    data = Dataset(replace(problem, twin_id=None) for problem in make_twins(30))
    for part in split_for_finetuning(data, 21, 10):
        assert all(count == 2 for count in Counter(p.options for p in part).values())


@pytest.mark.parametrize("sizes", [(5, 5), (0, 4), (4, 0), (9, 9), (7, 2)])
def test_sizes_that_do_not_fit_are_refused(sizes: tuple[int, int]) -> None:
    """Each part and the rest must hold something."""
    with pytest.raises(DataError, match="10 problems can't be divided"):
        split_for_finetuning(make_twins(5), *sizes)


@pytest.mark.models
def test_the_embedder_reads_as_the_model_was_trained(tiny_encoder: Path, tmp_path: Path) -> None:
    """It embeds with the fine-tuned weights, cut at the split point of training, from [CLS]."""
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
