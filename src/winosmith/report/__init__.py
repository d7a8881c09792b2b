"""How figures are shown: signatures, SVG figures, and the page they stand on."""

from __future__ import annotations

from winosmith.report._signature import Signature, sign

__all__ = ["Signature", "sign"]
