"""Encoders as embedders: pooling, cache, resuming, fine-tuning and refused problems."""

import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from winosmith import Dataset, Problem
from winosmith.embed import (
    EncoderEmbedder,
    _encoder as module,
    finetune_embedder,
    get_cache_folder,
    split_for_finetuning,
)
from winosmith.embed._encoder import load_cached_vectors, save_vectors
from winosmith.errors import DataError, InputError, Interrupted
from winosmith.models import Encoder, TrainingSettings, load_choice_model, load_encoder
from winosmith.testing import make_twins

pytestmark = pytest.mark.models
PROBLEMS = make_twins(12)


def test_split_point_gives_two_segments(tiny_encoder):
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


def test_cached_vectors_are_not_computed_again(tiny_encoder, tmp_path, monkeypatch):
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


def _change_weights(encoder: Path, folder: Path, change: Callable[[Any], None]) -> Path:
    """Copy an encoder to a folder with changed tensors."""
    from safetensors.torch import load_file, save_file

    shutil.copytree(encoder, folder)
    tensors = load_file(folder / "model.safetensors")
    change(tensors)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


def test_changed_weights_are_another_cache_entry(tiny_encoder, tmp_path):
    def change(tensors: Any) -> None:
        words = tensors["embeddings.word_embeddings.weight"]
        words += 0.1 * words.flip(0)

    before = EncoderEmbedder(tiny_encoder, cache=tmp_path).embed(PROBLEMS)
    folder = _change_weights(tiny_encoder, tmp_path / "model", change)
    assert not np.allclose(before, EncoderEmbedder(folder, cache=tmp_path).embed(PROBLEMS))


def test_damaged_cache_files_are_rewritten(tiny_encoder, tmp_path):
    embedder = EncoderEmbedder(tiny_encoder, cache=tmp_path)
    first = embedder.embed(PROBLEMS)
    (entry,) = (tmp_path / "embeddings").iterdir()
    whole = entry.read_bytes()
    entry.write_bytes(whole[:100])
    assert np.array_equal(replace(embedder).embed(PROBLEMS), first)
    assert entry.read_bytes() == whole


def test_interrupted_work_resumes_after_the_last_chunk(tiny_encoder, tmp_path, monkeypatch):
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


def test_progress_ends_at_the_number_of_problems(tiny_encoder, tmp_path):
    """With an empty cache and with a full one."""
    for _ in range(2):
        told: list[tuple[int, int]] = []
        EncoderEmbedder(
            tiny_encoder, cache=tmp_path, on_progress=lambda done, of, t=told: t.append((done, of))
        ).embed(PROBLEMS)
        assert told[-1] == (24, 24)


def test_models_are_loaded_at_the_first_use():
    """So a missing folder is reported only then."""
    embedder = EncoderEmbedder("./no/such/folder", cache=False)
    with pytest.raises(InputError, match="there is no such folder"):
        embedder.embed(PROBLEMS)


def test_parameters_have_the_digest_of_the_weights(tiny_encoder):
    """Not their path."""
    told = EncoderEmbedder(tiny_encoder, split_point="after_option").parameters
    assert len(told.pop("model")) == 12
    assert told == {
        "embedder": "encoder",
        "pooling": "mean",
        "combine": "difference",
        "split_point": "after_option",
    }


def test_what_can_not_be_embedded_is_refused(tiny_encoder):
    embedder = EncoderEmbedder(tiny_encoder, cache=False)
    three = [*PROBLEMS, Problem("p3", "A _ b.", ("x", "y", "z"))]
    with pytest.raises(DataError, match=r"1 of 25 problems don't have two options \('p3'\)"):
        embedder.embed(three)
    with pytest.raises(DataError, match="there are no problems to embed"):
        embedder.embed([])


def test_weights_with_nan_are_refused(tiny_encoder, tmp_path):
    def change(tensors: Any) -> None:
        tensors["embeddings.LayerNorm.weight"][0] = float("nan")

    folder = _change_weights(tiny_encoder, tmp_path / "model", change)
    message = r"non-finite values, first for '0-0'; its weights are damaged"
    with pytest.raises(DataError, match=message):
        EncoderEmbedder(folder, cache=False).embed(PROBLEMS)


def test_minilm_puts_halves_nearer_than_other_problems(minilm_folder):
    X = EncoderEmbedder(minilm_folder, cache=False).embed(PROBLEMS)
    assert X.shape == (24, 384)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    likeness = unit @ unit.T
    twins = [likeness[a, b] for a, b in PROBLEMS.twins]
    assert min(twins) > 0.8 > np.median(np.abs(likeness[::2, ::2][np.triu_indices(12, 1)]))


VECTORS = np.arange(600, dtype=np.float32).reshape(20, 30)


def test_cache_folder_follows_xdg_cache_home(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert get_cache_folder() == tmp_path / "winosmith"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert get_cache_folder() == tmp_path / ".cache" / "winosmith"


def test_cached_arrays_round_trip_unless_they_are_unexpected(tmp_path):
    """No temporary file is left."""
    path = tmp_path / "new" / "x.npz"
    save_vectors(path, VECTORS)
    found = load_cached_vectors(path, 20)
    assert found is not None
    assert found.tobytes() == VECTORS.tobytes()
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["x.npz"]
    assert load_cached_vectors(path, 21) is None
    for other in (VECTORS[:, :, None], VECTORS.astype(np.float64), VECTORS * np.float32(np.nan)):
        save_vectors(path, other)
        assert load_cached_vectors(path, 20) is None, (other.shape, other.dtype)


def test_damaged_files_are_ignored(tmp_path):
    """They are truncated, or one byte of their data is changed."""
    path = tmp_path / "x.npz"
    save_vectors(path, VECTORS)
    whole = path.read_bytes()
    assert load_cached_vectors(tmp_path / "none.npz", 20) is None
    for end in range(0, len(whole), 97):
        path.write_bytes(whole[:end])
        assert load_cached_vectors(path, 20) is None, end
    for at in range(200, 2400, 211):
        damaged = bytearray(whole)
        damaged[at] ^= 1
        path.write_bytes(bytes(damaged))
        assert load_cached_vectors(path, 20) is None, at


@given(st.integers(4, 40), st.integers(0, 20), st.integers(0, 5), st.data())
def test_parts_divide_the_data_into_whole_twins(twins, singles, seed, draw):
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


def test_split_depends_only_on_texts_and_seed():
    data = make_twins(30, singles=4)
    turned = Dataset(
        replace(p, id=f"x{at}", answer=1 - (p.answer or 0)) for at, p in enumerate(data[::-1])
    )
    drawn = [
        [sorted(p.sentence for p in part) for part in split_for_finetuning(d, 20, 10, seed=seed)]
        for d, seed in ((data, 0), (turned, 0), (data, 1))
    ]
    assert drawn[0] == drawn[1] != drawn[2]


def test_twins_without_twin_ids_are_not_split():
    """As in a build."""
    data = Dataset(replace(problem, twin_id=None) for problem in make_twins(30))
    for part in split_for_finetuning(data, 21, 10):
        assert all(count == 2 for count in Counter(p.options for p in part).values())


@pytest.mark.parametrize("sizes", [(5, 5), (0, 4), (4, 0), (9, 9), (7, 2)])
def test_sizes_that_leave_a_part_empty_are_refused(sizes):
    with pytest.raises(DataError, match="10 problems can't be divided"):
        split_for_finetuning(make_twins(5), *sizes)


def test_embedder_uses_the_input_format_of_training(tiny_encoder, tmp_path):
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
