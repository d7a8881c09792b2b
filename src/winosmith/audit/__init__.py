"""The audit of a multiple-choice set: the artifacts that give its answers away.

>>> from winosmith import audit
>>> from winosmith.testing import make_twins
>>> found = audit.audit(make_twins(40), draws=100)
>>> found.parts[0].best is None, found.failures("cue=3pt,duplicates,leak")
(True, [])
"""

from __future__ import annotations

from winosmith.audit._audit import Audit, AuditSettings, Check, Finding, Part, audit, parse_rules
from winosmith.audit._battery import MAX_DRAWS, Battery, Found, battery
from winosmith.audit._classes import class_cues
from winosmith.audit._cues import CUES, Corpus, Cue, View
from winosmith.audit._findings import annotation_lines, badge, job_summary, read_baseline, sarif
from winosmith.audit._in_place import Fixed, FixedFile, Unchanged, fix
from winosmith.audit._items import Items, report_progress
from winosmith.audit._key_check import (
    FEWEST_CHECKS,
    KeyCheck,
    WrongKeys,
    check_problems,
    check_record,
    count_wrong_keys,
    draw_check,
    read_check,
)
from winosmith.audit._overlap import Overlap, overlap
from winosmith.audit._planted import PlantedKeys, WrongKeysBound
from winosmith.audit._probes import Probe, Word, probes
from winosmith.audit._proof import LIMIT, WORDS, Bound, Proof, prove
from winosmith.audit._repair import Changed, Repair, RepairSettings, repair
from winosmith.audit._repaired import repair_page, repair_splits, repair_to_folder, repair_verdict
from winosmith.audit._report import page, sections, title, verdict
from winosmith.audit._review import Declared, Review, find_declared, review
from winosmith.audit._todo import Rewrite, todo, write_todo
from winosmith.audit._triage import Against, ModelAnswers, Suspect, Triage, for_people, triage
from winosmith.audit._wrong_keys import Accuracy, Concentration, Doubts

__all__ = [
    "CUES",
    "FEWEST_CHECKS",
    "LIMIT",
    "MAX_DRAWS",
    "WORDS",
    "Accuracy",
    "Against",
    "Audit",
    "AuditSettings",
    "Battery",
    "Bound",
    "Changed",
    "Check",
    "Concentration",
    "Corpus",
    "Cue",
    "Declared",
    "Doubts",
    "Finding",
    "Fixed",
    "FixedFile",
    "Found",
    "Items",
    "KeyCheck",
    "ModelAnswers",
    "Overlap",
    "Part",
    "PlantedKeys",
    "Probe",
    "Proof",
    "Repair",
    "RepairSettings",
    "Review",
    "Rewrite",
    "Suspect",
    "Triage",
    "Unchanged",
    "View",
    "Word",
    "WrongKeys",
    "WrongKeysBound",
    "annotation_lines",
    "audit",
    "badge",
    "battery",
    "check_problems",
    "check_record",
    "class_cues",
    "count_wrong_keys",
    "draw_check",
    "find_declared",
    "fix",
    "for_people",
    "job_summary",
    "overlap",
    "page",
    "parse_rules",
    "probes",
    "prove",
    "read_baseline",
    "read_check",
    "repair",
    "repair_page",
    "repair_splits",
    "repair_to_folder",
    "repair_verdict",
    "report_progress",
    "review",
    "sarif",
    "sections",
    "title",
    "todo",
    "triage",
    "verdict",
    "write_todo",
]
