"""The signature that every reported figure carries, as sacreBLEU's scores do (Post 2018)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from winosmith._version import __version__
from winosmith.dataset import Dataset

__all__ = ["Signature", "sign"]


@dataclass(frozen=True)
class Signature:
    """What determines a figure: data, number of problems, parameters, seed and version.

    >>> print(Signature("0123456789abcdef", 40, {"threshold": 0.75}, seed=0, version="1.0"))
    data:0123456789ab|n:40|threshold:0.75|seed:0|version:1.0
    """

    data: str
    n: int
    parameters: Mapping[str, Any] = field(default_factory=dict)
    seed: int | None = None
    version: str = __version__

    def __str__(self) -> str:
        parts = {"data": self.data[:12], "n": self.n, **self.parameters}
        if self.seed is not None:
            parts["seed"] = self.seed
        parts["version"] = self.version
        return "|".join(f"{key}:{value}" for key, value in parts.items())


def sign(dataset: Dataset, seed: int | None = None, **parameters: Any) -> Signature:
    """Return the signature of a figure that was measured on `dataset` with these parameters."""
    return Signature(dataset.digest, len(dataset), parameters, seed)
