"""Test whether a model's scores depend on the coins of a keyed release.

A keyed release publishes each block in one of two equivalent presentations, chosen by a secret
coin.

>>> from winosmith.exposure import compute_detectable_shift
>>> round(compute_detectable_shift(618), 2)
0.1
"""

from __future__ import annotations

from winosmith.exposure._coins import (
    COINS,
    PRESENTATIONS,
    KeyedRelease,
    Pair,
    PresentedBlock,
    compute_coins,
    compute_commitment,
    compute_data_digest,
    draw_key,
    find_faults,
    format_coins,
    format_presentations,
    iter_presentations,
    present_blocks,
    read_key,
    read_keyed_release,
    read_private_files,
)
from winosmith.exposure._exposure import (
    LEVEL,
    Exposure,
    ModelExposure,
    SignTest,
    compute_detectable_shift,
    compute_look_level,
    measure_exposure,
    sign_test,
    signed_ranks,
    subtract_fit,
    tail_probability,
)
from winosmith.exposure._scores import Scores, read_scores, score_presentations, write_presentations

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
    "compute_coins",
    "compute_commitment",
    "compute_data_digest",
    "compute_detectable_shift",
    "compute_look_level",
    "draw_key",
    "find_faults",
    "format_coins",
    "format_presentations",
    "iter_presentations",
    "measure_exposure",
    "present_blocks",
    "read_key",
    "read_keyed_release",
    "read_private_files",
    "read_scores",
    "score_presentations",
    "sign_test",
    "signed_ranks",
    "subtract_fit",
    "tail_probability",
    "write_presentations",
]
