"""The model `Version`: its table belongs to this application, and `problems` defines it."""

from __future__ import annotations

from winosmith.web.problems.models import Version

__all__ = ["Version"]
