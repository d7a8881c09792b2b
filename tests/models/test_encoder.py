"""Encoders: loading from safetensors, pooling, truncation and refused models."""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from winosmith.errors import InputError
from winosmith.models import Text, load_encoder
from winosmith.testing import make_twins

pytestmark = pytest.mark.models

MakeEncoder = Callable[..., Path]

TEXTS: list[Text] = [problem.fill(option) for problem in make_twins(20) for option in (0, 1)]


def test_pooling_takes_the_mean_or_the_first_token(tiny_encoder: Path) -> None:
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


def test_vectors_do_not_depend_on_the_batches(tiny_encoder: Path) -> None:
    encoder = load_encoder(tiny_encoder)
    alone = encoder.encode(TEXTS, tokens_per_batch=1)
    np.testing.assert_allclose(encoder.encode(TEXTS), alone, atol=1e-5)
    np.testing.assert_allclose(encoder.encode(TEXTS[::-1])[::-1], alone, atol=1e-5)


def test_two_segments_differ_from_one_text(tiny_encoder: Path) -> None:
    encoder = load_encoder(tiny_encoder)
    whole = encoder.encode(["the basket stood beside the drawer."])
    halves = encoder.encode([("the basket stood", "beside the drawer.")])
    assert np.abs(whole - halves).max() > 1e-3


def test_empty_list_gives_an_empty_array(tiny_encoder: Path) -> None:
    assert load_encoder(tiny_encoder).encode([]).shape == (0, 16)


def test_long_texts_lose_their_start_with_a_warning(tiny_encoder: Path) -> None:
    encoder = load_encoder(tiny_encoder, max_length=8)
    with pytest.warns(UserWarning, match="2 of 2 texts fill all 8 tokens"):
        long = encoder.encode(["candle " * 30 + "amber basket drawer kettle needle yarn"] * 2)
    exact = load_encoder(tiny_encoder).encode(["amber basket drawer kettle needle yarn"])
    np.testing.assert_allclose(long[:1], exact, atol=1e-5)


@pytest.mark.parametrize(
    "architecture", ["albert", "electra", "roberta", "mpnet", "modernbert", "deberta-v2"]
)
def test_architectures_give_finite_and_distinct_vectors(
    make_encoder: MakeEncoder, architecture: str
) -> None:
    changes = {"embedding_size": 16} if architecture in ("albert", "electra") else {}
    if architecture == "modernbert":
        changes = dict.fromkeys(("bos_token_id", "eos_token_id", "cls_token_id", "sep_token_id"), 2)
    vectors = load_encoder(make_encoder(architecture, **changes)).encode(TEXTS)
    assert vectors.shape == (len(TEXTS), 16)
    assert np.isfinite(vectors).all()
    assert len(np.unique(vectors.round(6), axis=0)) == len(set(TEXTS))


def test_missing_weights_are_refused(tiny_encoder: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    folder = shutil.copytree(tiny_encoder, tmp_path / "lacking")
    tensors = load_file(folder / "model.safetensors")
    del tensors["encoder.layer.0.output.dense.weight"]
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(InputError, match=r"1 tensors are missing, such as 'encoder\.layer\.0"):
        load_encoder(folder)


def test_code_in_a_model_folder_is_never_run(tiny_encoder: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(tiny_encoder, tmp_path / "foreign")
    config = '{"model_type": "mine", "auto_map": {"AutoConfig": "m.C", "AutoModel": "m.M"}}'
    (folder / "config.json").write_text(config, "utf-8")
    proof = tmp_path / "ran"
    (folder / "m.py").write_text(f"open({str(proof)!r}, 'w')\nclass C: pass\n", "utf-8")
    with pytest.raises(InputError, match="the configuration can't be used"):
        load_encoder(folder)
    assert not proof.exists()


def test_models_with_a_decoder_are_refused(make_encoder: MakeEncoder) -> None:
    with pytest.raises(InputError, match="t5 is not an encoder"):
        load_encoder(make_encoder("t5", d_model=16, d_kv=8, d_ff=32, num_layers=1, num_heads=2))


def test_unknown_pooling_is_refused(tiny_encoder: Path) -> None:
    with pytest.raises(InputError, match="unknown pooling 'max'; use 'mean' or 'cls'"):
        load_encoder(tiny_encoder).encode(TEXTS, pooling="max")


def test_minilm_puts_paraphrases_nearer_than_other_topics(minilm_folder: Path) -> None:
    sentences: list[Text] = [
        "The cat sleeps on the sofa.",
        "A kitten is napping on the couch.",
        "Interest rates rose again in March.",
    ]
    vectors = load_encoder(minilm_folder).encode(sentences)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    assert unit[0] @ unit[1] > 0.5 > unit[0] @ unit[2]
