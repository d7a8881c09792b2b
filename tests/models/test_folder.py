"""Finding the folder of a model, and the digest of its weights."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from winosmith.errors import InputError
from winosmith.models import (
    digest_weights,
    find_model_folder,
    load_causal_model,
    load_encoder,
    load_masked_model,
)


def test_model_folder_is_found_without_network(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}", "utf-8")
    (tmp_path / "model.safetensors").write_bytes(b"")
    assert find_model_folder(tmp_path) == find_model_folder(str(tmp_path)) == tmp_path


def test_folders_without_config_or_safetensors_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there is no config\.json"):
        find_model_folder(tmp_path)
    (tmp_path / "config.json").write_text("{}", "utf-8")
    (tmp_path / "pytorch_model.bin").write_bytes(b"")
    with pytest.raises(InputError, match="winosmith does not read pickles"):
        find_model_folder(tmp_path)


def test_missing_folder_is_refused() -> None:
    """Its name can't be a hub id, so the hub isn't asked."""
    with pytest.raises(InputError, match="no such folder, and it can't be a hub id"):
        find_model_folder("./models/roberta/large")


@pytest.mark.models
def test_unreachable_hub_is_reported_with_a_remedy(
    quiet_models: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(InputError, match=r"could not be downloaded .*give the model's folder"):
        find_model_folder("winosmith-tests/no-such-model")


@pytest.mark.models
def test_model_in_the_hub_cache_needs_no_network(
    quiet_models: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tiny_encoder: Path
) -> None:
    import huggingface_hub.constants

    repository = tmp_path / "models--someone--tiny"
    revision = "0123456789abcdef0123456789abcdef01234567"
    shutil.copytree(tiny_encoder, repository / "snapshots" / revision)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(revision, "utf-8")
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    assert find_model_folder("someone/tiny") == repository / "snapshots" / revision


@pytest.mark.models
@pytest.mark.parametrize(
    ("load", "architecture"),
    [(load_encoder, "bert"), (load_masked_model, "bert"), (load_causal_model, "gpt2")],
)
def test_truncated_weights_are_refused(
    make_language_model: Callable[..., Path],
    tmp_path: Path,
    load: Callable[[Path], object],
    architecture: str,
) -> None:
    made = make_language_model(architecture, masked=architecture == "bert")
    folder = shutil.copytree(made, tmp_path / "cut")
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1000])
    with pytest.raises(InputError, match=f"{re.escape(str(folder))}: the model can't be loaded"):
        load(folder)


def test_digest_covers_weights_config_and_vocabulary(tmp_path: Path) -> None:
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
