"""Encoders that choose, for tests and trials."""

from __future__ import annotations

from pathlib import Path

__all__ = ["choosing"]


def choosing(encoder: Path, folder: Path) -> Path:
    """Put a head for choices on an encoder, never trained, and return the folder of the result."""
    from winosmith.models import create_choice_model

    folder.mkdir(parents=True)
    create_choice_model(encoder, seed=0, device="cpu").save(folder)
    return folder
