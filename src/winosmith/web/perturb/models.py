"""The table `perturb_version` is of this application, whose migrations made it."""

from __future__ import annotations

from winosmith.web.problems.models import Version

__all__ = ["Version"]
