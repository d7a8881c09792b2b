"""Whether a model depends on the coins of a keyed release.

A keyed release publishes each block in one of two equivalent presentations, by a secret coin.

>>> from winosmith.exposure import detectable_shift
>>> round(detectable_shift(618), 2)
0.1
"""

from __future__ import annotations

from winosmith.exposure._power import LEVEL, detectable_shift, level_of_look

__all__ = ["LEVEL", "detectable_shift", "level_of_look"]
