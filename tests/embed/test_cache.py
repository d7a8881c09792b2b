"""Cached arrays: returned whole, or ignored."""

from pathlib import Path

import numpy as np
import pytest

from winosmith.embed import get_cache_folder
from winosmith.embed._encoder import load_cached_vectors, save_vectors

X = np.arange(600, dtype=np.float32).reshape(20, 30)


def test_cache_folder_follows_xdg_cache_home(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert get_cache_folder() == tmp_path / "winosmith"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert get_cache_folder() == tmp_path / ".cache" / "winosmith"


def test_cached_arrays_round_trip(tmp_path: Path) -> None:
    """No temporary file is left."""
    save_vectors(tmp_path / "new" / "x.npz", X)
    found = load_cached_vectors(tmp_path / "new" / "x.npz", 20)
    assert found is not None
    assert found.tobytes() == X.tobytes()
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["x.npz"]


def test_damaged_files_are_ignored(tmp_path: Path) -> None:
    """They are truncated, or one byte of their data is changed."""
    path = tmp_path / "x.npz"
    save_vectors(path, X)
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


def test_unexpected_arrays_are_ignored(tmp_path: Path) -> None:
    save_vectors(tmp_path / "x.npz", X)
    assert load_cached_vectors(tmp_path / "x.npz", 20) is not None
    assert load_cached_vectors(tmp_path / "x.npz", 21) is None
    save_vectors(tmp_path / "x.npz", X[:, :, None])
    assert load_cached_vectors(tmp_path / "x.npz", 20) is None
    save_vectors(tmp_path / "x.npz", X.astype(np.float64))
    assert load_cached_vectors(tmp_path / "x.npz", 20) is None
    save_vectors(tmp_path / "x.npz", np.full((20, 30), np.nan, np.float32))
    assert load_cached_vectors(tmp_path / "x.npz", 20) is None
