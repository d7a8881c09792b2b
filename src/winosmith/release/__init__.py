"""Make and verify releases of a benchmark, and write tasks for other harnesses.

>>> from winosmith.release import write_inspect_task, write_lm_eval_task, release, verify
"""

from __future__ import annotations

from winosmith.release._about import TEMPLATE, About, DataSource, parse_about, read_about
from winosmith.release._content import Content, Splitting, Tombstone
from winosmith.release._files import find_missing_fields
from winosmith.release._interchange import write_inspect_task, write_lm_eval_task
from winosmith.release._source import Fault
from winosmith.release._verify import VerificationResult, verify
from winosmith.release._write import ReleaseResult, release

__all__ = [
    "TEMPLATE",
    "About",
    "Content",
    "DataSource",
    "Fault",
    "ReleaseResult",
    "Splitting",
    "Tombstone",
    "VerificationResult",
    "find_missing_fields",
    "parse_about",
    "read_about",
    "release",
    "verify",
    "write_inspect_task",
    "write_lm_eval_task",
]
