"""Encoders and multiple-choice models: pooling, heads, folders, digests and refused models."""

import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from winosmith import Dataset
from winosmith.errors import InputError
from winosmith.models import (
    InputFormat,
    Text,
    create_choice_model,
    digest_weights,
    find_model_folder,
    load_causal_model,
    load_choice_model,
    load_encoder,
    load_masked_model,
)
from winosmith.testing import make_twins

pytestmark = pytest.mark.models
TEXTS: list[Text] = [problem.fill(option) for problem in make_twins(20) for option in (0, 1)]


def test_pooling_takes_the_mean_or_the_first_token(tiny_encoder):
    import torch
    import transformers

    model = transformers.AutoModel.from_pretrained(str(tiny_encoder)).eval()
    tokeniser = transformers.AutoTokenizer.from_pretrained(str(tiny_encoder))
    with torch.inference_mode():
        hidden = [
            model(**tokeniser(text, return_tensors="pt")).last_hidden_state[0].numpy()
            for text in TEXTS
        ]
    encoder = load_encoder(tiny_encoder)
    np.testing.assert_allclose(encoder.encode(TEXTS), [h.mean(0) for h in hidden], atol=1e-5)
    np.testing.assert_allclose(
        encoder.encode(TEXTS, pooling="cls"), [h[0] for h in hidden], atol=1e-5
    )


def test_vectors_do_not_depend_on_the_batches(tiny_encoder):
    encoder = load_encoder(tiny_encoder)
    alone = encoder.encode(TEXTS, tokens_per_batch=1)
    np.testing.assert_allclose(encoder.encode(TEXTS), alone, atol=1e-5)
    np.testing.assert_allclose(encoder.encode(TEXTS[::-1])[::-1], alone, atol=1e-5)


def test_two_segments_differ_from_one_text(tiny_encoder):
    encoder = load_encoder(tiny_encoder)
    whole = encoder.encode(["the basket stood beside the drawer."])
    halves = encoder.encode([("the basket stood", "beside the drawer.")])
    assert np.abs(whole - halves).max() > 1e-3


def test_empty_list_gives_an_empty_array(tiny_encoder):
    """An unknown pooling is refused."""
    encoder = load_encoder(tiny_encoder)
    assert encoder.encode([]).shape == (0, 16)
    with pytest.raises(InputError, match="unknown pooling 'max'; use 'mean' or 'cls'"):
        encoder.encode(TEXTS, pooling="max")


def test_long_texts_lose_their_start_with_a_warning(tiny_encoder):
    encoder = load_encoder(tiny_encoder, max_length=8)
    with pytest.warns(UserWarning, match="2 of 2 texts fill all 8 tokens"):
        long = encoder.encode(["candle " * 30 + "amber basket drawer kettle needle yarn"] * 2)
    exact = load_encoder(tiny_encoder).encode(["amber basket drawer kettle needle yarn"])
    np.testing.assert_allclose(long[:1], exact, atol=1e-5)


@pytest.mark.parametrize(
    "architecture", ["albert", "electra", "roberta", "mpnet", "modernbert", "deberta-v2"]
)
def test_architectures_give_finite_and_distinct_vectors(make_encoder, architecture):
    changes = {"embedding_size": 16} if architecture in ("albert", "electra") else {}
    if architecture == "modernbert":
        changes = dict.fromkeys(("bos_token_id", "eos_token_id", "cls_token_id", "sep_token_id"), 2)
    vectors = load_encoder(make_encoder(architecture, **changes)).encode(TEXTS)
    assert vectors.shape == (len(TEXTS), 16)
    assert np.isfinite(vectors).all()
    assert len(np.unique(vectors.round(6), axis=0)) == len(set(TEXTS))


def test_missing_weights_are_refused(tiny_encoder, tmp_path):
    from safetensors.torch import load_file, save_file

    folder = shutil.copytree(tiny_encoder, tmp_path / "lacking")
    tensors = load_file(folder / "model.safetensors")
    del tensors["encoder.layer.0.output.dense.weight"]
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(InputError, match=r"1 tensors are missing, such as 'encoder\.layer\.0"):
        load_encoder(folder)


def test_code_in_a_model_folder_is_never_run(tiny_encoder, tmp_path):
    folder = shutil.copytree(tiny_encoder, tmp_path / "foreign")
    config = '{"model_type": "mine", "auto_map": {"AutoConfig": "m.C", "AutoModel": "m.M"}}'
    (folder / "config.json").write_text(config, "utf-8")
    proof = tmp_path / "ran"
    (folder / "m.py").write_text(f"open({str(proof)!r}, 'w')\nclass C: pass\n", "utf-8")
    with pytest.raises(InputError, match="the configuration can't be used"):
        load_encoder(folder)
    assert not proof.exists()


def test_models_with_a_decoder_are_refused(make_encoder):
    with pytest.raises(InputError, match="t5 is not an encoder"):
        load_encoder(make_encoder("t5", d_model=16, d_kv=8, d_ff=32, num_layers=1, num_heads=2))


def test_minilm_puts_paraphrases_nearer_than_other_topics(minilm_folder):
    sentences: list[Text] = [
        "The cat sleeps on the sofa.",
        "A kitten is napping on the couch.",
        "Interest rates rose again in March.",
    ]
    vectors = load_encoder(minilm_folder).encode(sentences)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    assert unit[0] @ unit[1] > 0.5 > unit[0] @ unit[2]


PROBLEMS = make_twins(12)


def _score(folder: Path, **settings: Any) -> np.ndarray:
    """Return the scores of a new multiple-choice model."""
    model = create_choice_model(folder, **{"seed": 0, **settings})
    return np.stack(model.score_problems(PROBLEMS))


def test_seed_determines_the_head(tiny_encoder):
    """Torch's global random state stays unchanged."""
    import torch

    torch.manual_seed(7)
    expected = torch.rand(1)
    torch.manual_seed(7)
    first, again, other = (_score(tiny_encoder, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.allclose(first, other)
    assert torch.equal(torch.rand(1), expected)


@pytest.mark.parametrize("architecture", ["bert", "roberta", "deberta"])
def test_saved_model_scores_and_encodes_as_before(make_encoder, tmp_path, architecture):
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
def test_loading_an_encoder_without_trained_head_is_refused(make_encoder, architecture):
    """Otherwise, a random head would answer."""
    with pytest.raises(InputError, match="was not trained for multiple choice"):
        load_choice_model(make_encoder(architecture))


def test_split_point_changes_scores_and_must_be_known(tiny_encoder):
    before, after = (
        _score(tiny_encoder, input_format=InputFormat(at))
        for at in ("before_option", "after_option")
    )
    assert not np.allclose(before, after)
    with pytest.raises(InputError, match="unknown split point 'middle'; use 'before_option'"):
        _score(tiny_encoder, input_format=InputFormat("middle"))


def test_zero_dropout_scores_the_same_in_training_mode(make_encoder):
    folder = make_encoder("bert", hidden_dropout_prob=0.5)
    for dropout, same in ((0.0, True), (None, False)):
        model = create_choice_model(folder, seed=0, dropout=dropout)
        at_rest = np.stack(model.score_problems(Dataset(PROBLEMS)))
        model.network.train()
        rows = model.make_inputs(PROBLEMS)
        training = model.forward(rows).detach().numpy().reshape(-1, 2)
        assert np.allclose(at_rest, training, atol=1e-5) is same


def test_folders_without_config_or_safetensors_are_refused(tmp_path):
    """A name that can't be a hub id is not looked up on the hub."""
    with pytest.raises(InputError, match="no such folder, and it can't be a hub id"):
        find_model_folder("./models/roberta/large")
    with pytest.raises(InputError, match=r"there is no config\.json"):
        find_model_folder(tmp_path)
    (tmp_path / "config.json").write_text("{}", "utf-8")
    (tmp_path / "pytorch_model.bin").write_bytes(b"")
    with pytest.raises(InputError, match="winosmith does not read pickles"):
        find_model_folder(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"")
    assert find_model_folder(tmp_path) == find_model_folder(str(tmp_path)) == tmp_path


def test_model_is_found_in_the_hub_cache_or_the_hub_is_asked(
    quiet_models, monkeypatch, tmp_path, tiny_encoder
):
    """An unreachable hub is reported with a remedy."""
    import huggingface_hub.constants

    repository = tmp_path / "models--someone--tiny"
    revision = "0123456789abcdef0123456789abcdef01234567"
    shutil.copytree(tiny_encoder, repository / "snapshots" / revision)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(revision, "utf-8")
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    assert find_model_folder("someone/tiny") == repository / "snapshots" / revision
    with pytest.raises(InputError, match=r"could not be downloaded .*give the model's folder"):
        find_model_folder("winosmith-tests/no-such-model")


@pytest.mark.parametrize(
    ("load", "architecture"),
    [(load_encoder, "bert"), (load_masked_model, "bert"), (load_causal_model, "gpt2")],
)
def test_truncated_weights_are_refused(make_language_model, tmp_path, load, architecture):
    made = make_language_model(architecture, masked=architecture == "bert")
    folder = shutil.copytree(made, tmp_path / "cut")
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1000])
    with pytest.raises(InputError, match=f"{re.escape(str(folder))}: the model can't be loaded"):
        load(folder)


def test_digest_covers_weights_config_and_vocabulary(tmp_path):
    """A README does not change it."""
    for name in ("config.json", "model.safetensors", "vocab.txt"):
        (tmp_path / name).write_text(name, "utf-8")
    digests = [digest_weights(tmp_path)]
    (tmp_path / "README.md").write_text("hello", "utf-8")
    assert digest_weights(tmp_path) == digests[0]
    for name in ("config.json", "model.safetensors", "vocab.txt"):
        (tmp_path / name).write_text("changed", "utf-8")
        digests.append(digest_weights(tmp_path))
    assert len(set(digests)) == 4
