"""Multiple-choice models: heads, saving, loading, split points and dropout."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from winosmith import Dataset
from winosmith.errors import InputError
from winosmith.models import InputFormat, create_choice_model, load_choice_model, load_encoder
from winosmith.testing import make_twins

pytestmark = pytest.mark.models

MakeEncoder = Callable[..., Path]

PROBLEMS = make_twins(12)


def test_seed_determines_the_head(tiny_encoder: Path) -> None:
    """Torch's global random state stays unchanged."""
    import torch

    torch.manual_seed(7)
    expected = torch.rand(1)
    torch.manual_seed(7)
    first, again, other = (
        np.stack(create_choice_model(tiny_encoder, seed=seed).score_problems(PROBLEMS))
        for seed in (1, 1, 2)
    )
    assert np.array_equal(first, again)
    assert not np.allclose(first, other)
    assert torch.equal(torch.rand(1), expected)


@pytest.mark.parametrize("architecture", ["bert", "roberta", "deberta"])
def test_saved_model_scores_and_encodes_as_before(
    make_encoder: MakeEncoder, tmp_path: Path, architecture: str
) -> None:
    """Some architectures have transformers' head, others ours."""
    folder = make_encoder(architecture)
    model = create_choice_model(folder, seed=0, input_format=InputFormat("after_option"))
    model.save(tmp_path)
    loaded = load_choice_model(tmp_path)
    np.testing.assert_allclose(
        np.stack(loaded.score_problems(PROBLEMS)),
        np.stack(model.score_problems(PROBLEMS)),
        atol=1e-6,
    )
    texts = [problem.fill(0) for problem in PROBLEMS]
    np.testing.assert_allclose(
        load_encoder(tmp_path).encode(texts), load_encoder(folder).encode(texts), atol=1e-6
    )


@pytest.mark.parametrize("architecture", ["bert", "deberta"])
def test_loading_an_encoder_without_trained_head_is_refused(
    make_encoder: MakeEncoder, architecture: str
) -> None:
    """Otherwise, a random head would answer."""
    with pytest.raises(InputError, match="was not trained for multiple choice"):
        load_choice_model(make_encoder(architecture))


def test_split_point_changes_scores_and_must_be_known(tiny_encoder: Path) -> None:
    before, after = (
        np.stack(
            create_choice_model(tiny_encoder, seed=0, input_format=InputFormat(at)).score_problems(
                PROBLEMS
            )
        )
        for at in ("before_option", "after_option")
    )
    assert not np.allclose(before, after)
    with pytest.raises(InputError, match="unknown split point 'middle'; use 'before_option'"):
        create_choice_model(tiny_encoder, seed=0, input_format=InputFormat("middle"))


def test_zero_dropout_scores_the_same_in_training_mode(make_encoder: MakeEncoder) -> None:
    folder = make_encoder("bert", hidden_dropout_prob=0.5)
    for dropout, same in ((0.0, True), (None, False)):
        model = create_choice_model(folder, seed=0, dropout=dropout)
        at_rest = np.stack(model.score_problems(Dataset(PROBLEMS)))
        model.network.train()
        rows = model.make_inputs(PROBLEMS)
        training = model.forward(rows).detach().numpy().reshape(-1, 2)
        assert np.allclose(at_rest, training, atol=1e-5) is same
