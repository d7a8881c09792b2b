"""Test whether a model's scores depend on the coins of a keyed release.

A keyed release publishes each block in one of two equivalent presentations, chosen by a secret
coin.

>>> from winosmith.exposure import detectable_shift
>>> round(detectable_shift(618), 2)
0.1
"""

from __future__ import annotations

from winosmith.exposure._coins import (
    COINS,
    PRESENTATIONS,
    KeyedRelease,
    Pair,
    coins_text,
    compute_commitment,
    data_digest,
    draw_coins,
    draw_key,
    find_faults,
    presentation_lines,
    read_key,
    read_keyed,
    read_private_files,
)
from winosmith.exposure._exposure import Exposure, ModelExposure, exposure
from winosmith.exposure._power import LEVEL, detectable_shift, level_of_look
from winosmith.exposure._presentations import PresentedBlock, list_presentations, present_blocks
from winosmith.exposure._scores import Scores, read_scores, write_presentations, write_scores
from winosmith.exposure._statistic import (
    SignTest,
    sign_test,
    signed_ranks,
    subtract_fit,
    tail_probability,
)

__all__ = [
    "COINS",
    "LEVEL",
    "PRESENTATIONS",
    "Exposure",
    "KeyedRelease",
    "ModelExposure",
    "Pair",
    "PresentedBlock",
    "Scores",
    "SignTest",
    "coins_text",
    "compute_commitment",
    "data_digest",
    "detectable_shift",
    "draw_coins",
    "draw_key",
    "exposure",
    "find_faults",
    "level_of_look",
    "list_presentations",
    "present_blocks",
    "presentation_lines",
    "read_key",
    "read_keyed",
    "read_private_files",
    "read_scores",
    "sign_test",
    "signed_ranks",
    "subtract_fit",
    "tail_probability",
    "write_presentations",
    "write_scores",
]
