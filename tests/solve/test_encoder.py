"""Solving with trained encoders, and refused models."""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from winosmith import Claim, Dataset, Problem, formats, solve
from winosmith.errors import InputError
from winosmith.models import (
    InputFormat,
    TrainingSettings,
    batch_by_length,
    create_choice_model,
    fill_option,
    load_encoder,
    train_multiple_choice,
)
from winosmith.testing import make_twins

pytestmark = pytest.mark.models

ARCHITECTURES = ["bert", "roberta", "albert", "electra", "modernbert", "deberta", "deberta-v2"]


@pytest.fixture(scope="module")
def trained(make_encoder: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a run that learned that amber is correct and basket is not."""
    places, options = ("garden", "tunnel", "kettle", "marble"), ("amber", "basket")
    problems = [
        Problem(f"{at}", f"they say that beside the {places[at % 4]} {at} the _ stood.",
                options if at % 3 else options[::-1], 0 if at % 3 else 1)
        for at in range(180)
    ]  # fmt: skip
    out = tmp_path_factory.mktemp("trained")
    tuned = train_multiple_choice(
        Dataset(problems[:120]),
        Dataset(problems[120:]),
        model=make_encoder("bert"),
        out=out / "run",
        settings=TrainingSettings(learning_rate=2e-2, epochs=2),
    )
    assert tuned.dev_accuracy == 1.0
    return out / "run"


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_scores_do_not_depend_on_batch_or_order(make_encoder, tmp_path, architecture):
    data = make_twins(24)
    tuned = train_multiple_choice(
        data[:32],
        data[32:],
        model=make_encoder(architecture),
        out=tmp_path / "run",
        settings=TrainingSettings(epochs=1, learning_rate=1e-3, batch_size=8),
    )
    solver = solve.EncoderSolver(tuned.folder)
    together = np.array(solver.score(data[32:]))
    assert np.isfinite(together).all()
    alone = np.array([solver.score([problem])[0] for problem in data[32:]])
    turned = np.array(
        solve.EncoderSolver(tuned.folder, tokens_per_batch=64).score(data[32:][::-1])
    )[::-1]
    np.testing.assert_allclose(together, alone, atol=1e-4)
    np.testing.assert_allclose(together, turned, atol=1e-4)


def test_model_of_two_options_solves_up_to_five(trained):
    options = ("basket", "kettle", "amber", "basket kettle", "marble")
    problems = [
        Problem(str(n), "they say that beside the garden 7 the _ stood.", options[:n])
        for n in (3, 4, 5)
    ]
    scores = solve.EncoderSolver(trained).score(problems)
    assert [len(own) for own in scores] == [3, 4, 5]
    np.testing.assert_allclose(scores[2][:3], scores[0], atol=1e-4)
    assert all(own[2] > own[0] for own in scores)


def test_run_folder_and_model_folder_give_the_same_solver(trained):
    data = make_twins(3)
    first, second = solve.EncoderSolver(trained), solve.EncoderSolver(trained / "model")
    assert first.score(data) == second.score(data)
    assert first.parameters == second.parameters


def test_input_format_of_training_is_the_default(make_encoder, tmp_path):
    """It has the width of the local context and the split point."""
    how = InputFormat("after_option", local=2)
    create_choice_model(make_encoder("bert"), seed=0, input_format=how).save(tmp_path / "m")
    solver = solve.EncoderSolver(tmp_path / "m")
    data = make_twins(4)
    assert solver.score(data) == solver.score(solve.cut_to_local_context(data))
    assert solver.score(data) == solve.EncoderSolver(tmp_path / "m", how=how).score(data)
    whole = solve.EncoderSolver(tmp_path / "m", how=InputFormat())
    assert whole.score(data) != solver.score(data)
    assert whole.parameters["split_point"] == "before_option"


def test_claims_need_a_model_that_was_trained_on_claims(trained):
    """A model of options has no threshold above which a claim holds."""
    with pytest.raises(InputError, match="was not trained on claims"):
        solve.EncoderSolver(trained).judge([Claim("c", "the _ stood.", "amber")])


def test_damaged_input_format_is_reported(trained, tmp_path):
    shutil.copytree(trained / "model", tmp_path / "m")
    (tmp_path / "m" / "winosmith_choice.json").write_text('{"split": 1}')
    with pytest.raises(InputError, match=r"winosmith_choice.json can't be read"):
        solve.EncoderSolver(tmp_path / "m").score(make_twins(1))


def test_a_batch_that_does_not_fit_is_halved(trained):
    """Memory is enough for 40 tokens; smaller batches give the same scores."""
    import torch

    data = make_twins(6)
    expected = solve.EncoderSolver(trained).score(data)
    solver = solve.EncoderSolver(trained)

    def short(module: object, args: object, inputs: dict[str, torch.Tensor]) -> None:
        if inputs["input_ids"].numel() > 40:
            raise torch.OutOfMemoryError("out of memory")

    solver._model.network.register_forward_pre_hook(short, with_kwargs=True)
    with pytest.warns(UserWarning, match="out of memory with"):
        found = solver.score(data)
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_at_most_15_percent_of_tokens_is_padding(trained):
    """The texts have 10 to 60 tokens."""
    import torch

    words = ("they", "say", "that", "beside", "the")
    problems = [
        Problem(str(at), " ".join([*words * (at % 10), "the _ stood."]), ("amber", "basket"))
        for at in range(120)
    ]
    fed: list[tuple[int, int]] = []

    def count(module: object, args: object, inputs: dict[str, torch.Tensor]) -> None:
        fed.append((inputs["input_ids"].numel(), int(inputs["attention_mask"].sum())))

    solver = solve.EncoderSolver(trained)
    solver._model.network.register_forward_pre_hook(count, with_kwargs=True)
    solver.score(problems)
    read, needed = map(sum, zip(*fed, strict=True))
    assert read < 1.15 * needed


def test_winogrande_needs_far_fewer_tokens_than_fixed_padding(minilm_folder, data_dir):
    """WinoGrande's code pads to 80 tokens; its dev set needs less than 1 / 2.5 of these."""
    reader = load_encoder(minilm_folder, device="cpu").reader
    dev = formats.read(data_dir / "winogrande" / "dev.jsonl")
    texts = [fill_option(problem, option, "before_option") for problem in dev for option in (0, 1)]
    lengths = [len(row["input_ids"]) for row in reader.tokenise(texts)]
    fed = sum(len(batch) * lengths[batch[0]] for batch in batch_by_length(lengths, reader.budget))
    assert sum(lengths) <= fed < 80 * len(texts) / 2.5
