"""Audit a multiple-choice data set: find the artifacts that give its answers away.

>>> from winosmith import audit
>>> from winosmith.testing import make_twins
>>> found = audit.audit(make_twins(40), draws=100)
>>> found.parts[0].best_cue is None, found.failures("cue=3pt,duplicates,leak")
(True, [])
"""

from __future__ import annotations

from winosmith.audit._audit import Audit, AuditSettings, audit
from winosmith.audit._battery import MAX_DRAWS, Battery, CueScore, score_cues
from winosmith.audit._cues import CUES, Corpus, Cue, View, make_class_cues
from winosmith.audit._findings import (
    RULE_FORMS,
    Finding,
    Rewrite,
    format_annotations,
    format_job_summary,
    format_sarif,
    list_rewrites,
    parse_rules,
    read_baseline,
    write_rewrites,
)
from winosmith.audit._in_place import ShuffledFile, ShuffledFiles, UnchangedItem, shuffle_files
from winosmith.audit._items import Items, make_reporter
from winosmith.audit._key_check import (
    MIN_CHECKS,
    KeyCheck,
    WrongKeys,
    draw_check,
    estimate_wrong_keys,
    make_check_record,
    make_problems_for_judges,
    read_check,
)
from winosmith.audit._planted import PlantedKeys, WrongKeysBound
from winosmith.audit._probes import Probe, Word, fit_probes
from winosmith.audit._repair import CueChange, Repair, repair
from winosmith.audit._repaired import explain_repair, render_repair, repair_splits, repair_to_folder
from winosmith.audit._report import make_sections, make_title, make_verdict, render_page
from winosmith.audit._review import Review, review
from winosmith.audit._split import SplitAudit
from winosmith.audit._thinning import (
    LIMIT,
    WORDS,
    Bound,
    Concentration,
    Proof,
    RepairSettings,
    bound_accuracies,
)
from winosmith.audit._triage import (
    Accuracy,
    DoubtedKeys,
    ModelAnswers,
    Suspect,
    Triage,
    triage,
)

__all__ = [
    "CUES",
    "LIMIT",
    "MAX_DRAWS",
    "MIN_CHECKS",
    "RULE_FORMS",
    "WORDS",
    "Accuracy",
    "Audit",
    "AuditSettings",
    "Battery",
    "Bound",
    "Concentration",
    "Corpus",
    "Cue",
    "CueChange",
    "CueScore",
    "DoubtedKeys",
    "Finding",
    "Items",
    "KeyCheck",
    "ModelAnswers",
    "PlantedKeys",
    "Probe",
    "Proof",
    "Repair",
    "RepairSettings",
    "Review",
    "Rewrite",
    "ShuffledFile",
    "ShuffledFiles",
    "SplitAudit",
    "Suspect",
    "Triage",
    "UnchangedItem",
    "View",
    "Word",
    "WrongKeys",
    "WrongKeysBound",
    "audit",
    "bound_accuracies",
    "draw_check",
    "estimate_wrong_keys",
    "explain_repair",
    "fit_probes",
    "format_annotations",
    "format_job_summary",
    "format_sarif",
    "list_rewrites",
    "make_check_record",
    "make_class_cues",
    "make_problems_for_judges",
    "make_reporter",
    "make_sections",
    "make_title",
    "make_verdict",
    "parse_rules",
    "read_baseline",
    "read_check",
    "render_page",
    "render_repair",
    "repair",
    "repair_splits",
    "repair_to_folder",
    "review",
    "score_cues",
    "shuffle_files",
    "triage",
    "write_rewrites",
]
