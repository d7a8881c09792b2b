"""Audit a multiple-choice data set: find the artifacts that give its answers away.

>>> from winosmith import audit
>>> from winosmith.testing import make_twins
>>> found = audit.audit(make_twins(40), draws=100)
>>> found.parts[0].best is None, found.failures("cue=3pt,duplicates,leak")
(True, [])
"""

from __future__ import annotations

from winosmith.audit._audit import Audit, AuditSettings, Check, Finding, Part, audit, parse_rules
from winosmith.audit._battery import MAX_DRAWS, Battery, CueScore, score_cues
from winosmith.audit._classes import class_cues
from winosmith.audit._cues import CUES, Corpus, Cue, View
from winosmith.audit._findings import annotation_lines, badge, job_summary, read_baseline, sarif
from winosmith.audit._in_place import ShuffledFile, ShuffledFiles, UnchangedItem, fix
from winosmith.audit._items import Items, report_progress
from winosmith.audit._key_check import (
    MIN_CHECKS,
    KeyCheck,
    WrongKeys,
    check_problems,
    check_record,
    count_wrong_keys,
    draw_check,
    read_check,
)
from winosmith.audit._overlap import Overlap, find_overlap
from winosmith.audit._planted import PlantedKeys, WrongKeysBound
from winosmith.audit._probes import Probe, Word, fit_probes
from winosmith.audit._proof import LIMIT, WORDS, Bound, Proof, prove
from winosmith.audit._repair import CueChange, Repair, RepairSettings, repair
from winosmith.audit._repaired import repair_page, repair_splits, repair_to_folder, repair_verdict
from winosmith.audit._report import page, sections, title, verdict
from winosmith.audit._review import Declarations, Review, find_declarations, review
from winosmith.audit._todo import Rewrite, list_rewrites, write_rewrites
from winosmith.audit._triage import (
    ModelAnswers,
    ModelComparison,
    Suspect,
    Triage,
    problems_for_people,
    triage,
)
from winosmith.audit._wrong_keys import Accuracy, Concentration, DoubtedKeys

__all__ = [
    "CUES",
    "LIMIT",
    "MAX_DRAWS",
    "MIN_CHECKS",
    "WORDS",
    "Accuracy",
    "Audit",
    "AuditSettings",
    "Battery",
    "Bound",
    "Check",
    "Concentration",
    "Corpus",
    "Cue",
    "CueChange",
    "CueScore",
    "Declarations",
    "DoubtedKeys",
    "Finding",
    "Items",
    "KeyCheck",
    "ModelAnswers",
    "ModelComparison",
    "Overlap",
    "Part",
    "PlantedKeys",
    "Probe",
    "Proof",
    "Repair",
    "RepairSettings",
    "Review",
    "Rewrite",
    "ShuffledFile",
    "ShuffledFiles",
    "Suspect",
    "Triage",
    "UnchangedItem",
    "View",
    "Word",
    "WrongKeys",
    "WrongKeysBound",
    "annotation_lines",
    "audit",
    "badge",
    "check_problems",
    "check_record",
    "class_cues",
    "count_wrong_keys",
    "draw_check",
    "find_declarations",
    "find_overlap",
    "fit_probes",
    "fix",
    "job_summary",
    "list_rewrites",
    "page",
    "parse_rules",
    "problems_for_people",
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
    "score_cues",
    "sections",
    "title",
    "triage",
    "verdict",
    "write_rewrites",
]
