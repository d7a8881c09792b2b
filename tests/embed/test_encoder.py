"""Encoders as embedders: pooling, cache, resuming and refused problems."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from winosmith import Problem
from winosmith.embed import EncoderEmbedder, _encoder as module
from winosmith.errors import DataError, InputError, Interrupted
from winosmith.models import Encoder, load_encoder
from winosmith.testing import make_twins

pytestmark = pytest.mark.models

PROBLEMS = make_twins(12)


def test_split_point_gives_two_segments(tiny_encoder: Path) -> None:
    encoder = load_encoder(tiny_encoder)
    texts = [
        tuple(part.strip() for part in p.sentence.replace("_", f"|{p.options[0]}").split("|"))
        for p in PROBLEMS
    ]
    expected = encoder.encode(texts, pooling="cls")
    found = EncoderEmbedder(
        tiny_encoder, pooling="cls", split_point="before_option", combine="concat", cache=False
    ).embed(PROBLEMS)
    np.testing.assert_allclose(found[:, :16], expected, atol=1e-5)


def test_cached_vectors_are_not_computed_again(
    tiny_encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Answers and `combine` don't matter."""
    embedder = EncoderEmbedder(tiny_encoder, cache=tmp_path)
    first = embedder.embed(PROBLEMS)
    read: list[int] = []
    real = Encoder.encode

    def counted(self: Encoder, texts: list[str], **settings: object) -> object:
        read.append(len(texts))
        return real(self, texts, **settings)

    monkeypatch.setattr(Encoder, "encode", counted)
    assert np.array_equal(replace(embedder).embed(PROBLEMS.blind()), first)
    both = replace(embedder, combine="concat").embed(PROBLEMS)
    assert np.array_equal(both[:, :16] - both[:, 16:], first)
    assert read == []
    replace(embedder, pooling="cls").embed(PROBLEMS)
    replace(embedder, max_length=40).embed(PROBLEMS)
    embedder.embed(PROBLEMS[1:])
    assert read == [48, 48, 46]


def test_changed_weights_are_another_cache_entry(tiny_encoder: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    folder = shutil.copytree(tiny_encoder, tmp_path / "model")
    before = EncoderEmbedder(folder, cache=tmp_path).embed(PROBLEMS)
    tensors = load_file(folder / "model.safetensors")
    tensors["embeddings.word_embeddings.weight"] += 0.1 * tensors[
        "embeddings.word_embeddings.weight"
    ].flip(0)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    assert not np.allclose(before, EncoderEmbedder(folder, cache=tmp_path).embed(PROBLEMS))


def test_damaged_cache_files_are_rewritten(tiny_encoder: Path, tmp_path: Path) -> None:
    embedder = EncoderEmbedder(tiny_encoder, cache=tmp_path)
    first = embedder.embed(PROBLEMS)
    (entry,) = (tmp_path / "embeddings").iterdir()
    whole = entry.read_bytes()
    entry.write_bytes(whole[:100])
    assert np.array_equal(replace(embedder).embed(PROBLEMS), first)
    assert entry.read_bytes() == whole


def test_interrupted_work_resumes_after_the_last_chunk(
    tiny_encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CHUNK", 5)
    asked: list[int] = []

    def stop(done: int, of: int) -> None:
        asked.append(done)
        if done > 10:
            raise KeyboardInterrupt

    embedder = EncoderEmbedder(tiny_encoder, cache=tmp_path, on_progress=stop)
    with pytest.raises(Interrupted, match="the vectors of 10 of 24 problems are cached"):
        embedder.embed(PROBLEMS)
    assert len(list((tmp_path / "embeddings").iterdir())) == 2
    after = replace(embedder, on_progress=None).embed(PROBLEMS)
    whole = EncoderEmbedder(tiny_encoder, cache=False).embed(PROBLEMS)
    np.testing.assert_allclose(after, whole, atol=1e-5)
    assert asked == sorted(asked)


def test_progress_ends_at_the_number_of_problems(tiny_encoder: Path, tmp_path: Path) -> None:
    """With an empty cache and with a full one."""
    for _ in range(2):
        told: list[tuple[int, int]] = []
        EncoderEmbedder(
            tiny_encoder, cache=tmp_path, on_progress=lambda done, of, t=told: t.append((done, of))
        ).embed(PROBLEMS)
        assert told[-1] == (24, 24)


def test_models_are_loaded_at_the_first_use() -> None:
    """So a missing folder is reported only then."""
    embedder = EncoderEmbedder("./no/such/folder", cache=False)
    with pytest.raises(InputError, match="there is no such folder"):
        embedder.embed(PROBLEMS)


def test_parameters_have_the_digest_of_the_weights(tiny_encoder: Path) -> None:
    """Not their path."""
    told = EncoderEmbedder(tiny_encoder, split_point="after_option").parameters
    assert len(told.pop("model")) == 12
    assert told == {
        "embedder": "encoder",
        "pooling": "mean",
        "combine": "difference",
        "split_point": "after_option",
    }


def test_what_can_not_be_embedded_is_refused(tiny_encoder: Path) -> None:
    embedder = EncoderEmbedder(tiny_encoder, cache=False)
    three = [*PROBLEMS, Problem("p3", "A _ b.", ("x", "y", "z"))]
    with pytest.raises(DataError, match=r"1 of 25 problems don't have two options \('p3'\)"):
        embedder.embed(three)
    with pytest.raises(DataError, match="there are no problems to embed"):
        embedder.embed([])


def test_weights_with_nan_are_refused(tiny_encoder: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    folder = shutil.copytree(tiny_encoder, tmp_path / "model")
    tensors = load_file(folder / "model.safetensors")
    tensors["embeddings.LayerNorm.weight"][0] = float("nan")
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(
        DataError, match=r"non-finite values, first for '0-0'; its weights are damaged"
    ):
        EncoderEmbedder(folder, cache=False).embed(PROBLEMS)


def test_minilm_puts_halves_nearer_than_other_problems(minilm_folder: Path) -> None:
    X = EncoderEmbedder(minilm_folder, cache=False).embed(PROBLEMS)
    assert X.shape == (24, 384)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    likeness = unit @ unit.T
    twins = [likeness[a, b] for a, b in PROBLEMS.twins]
    assert min(twins) > 0.8 > np.median(np.abs(likeness[::2, ::2][np.triu_indices(12, 1)]))
