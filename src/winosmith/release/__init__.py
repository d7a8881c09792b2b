"""Releases of a benchmark, their verification, and tasks for other harnesses.

>>> from winosmith.release import inspect_task, lm_eval_task, release, verify
"""

from __future__ import annotations

from winosmith.release._about import TEMPLATE, About, DataSource, about_of, read_about
from winosmith.release._content import Content, Tombstone
from winosmith.release._interchange import inspect_task, lm_eval_task
from winosmith.release._responsible import missing_fields
from winosmith.release._source import Fault
from winosmith.release._verify import Verified, verify
from winosmith.release._write import Released, Splitting, release

__all__ = [
    "TEMPLATE",
    "About",
    "Content",
    "DataSource",
    "Fault",
    "Released",
    "Splitting",
    "Tombstone",
    "Verified",
    "about_of",
    "inspect_task",
    "lm_eval_task",
    "missing_fields",
    "read_about",
    "release",
    "verify",
]
