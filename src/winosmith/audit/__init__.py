"""What gives the answers of a multiple-choice set away: the audit of any set.

>>> from winosmith import audit
>>> from winosmith.testing import made_twins
>>> found = audit.audit(made_twins(40), draws=100)
>>> found.parts[0].best is None, found.failures("cue=3pt,duplicates,leak")
(True, [])
"""

from __future__ import annotations

from winosmith.audit._audit import Audit, Part, audit
from winosmith.audit._cues import CUES, Corpus, Cue, View
from winosmith.audit._items import Items
from winosmith.audit._null import Battery, Found, battery
from winosmith.audit._probes import Probe, Word, probes
from winosmith.audit._report import page, sections, signature, verdict
from winosmith.audit._review import OneSided, Review, across, near, review

__all__ = [
    "CUES",
    "Audit",
    "Battery",
    "Corpus",
    "Cue",
    "Found",
    "Items",
    "OneSided",
    "Part",
    "Probe",
    "Review",
    "View",
    "Word",
    "across",
    "audit",
    "battery",
    "near",
    "page",
    "probes",
    "review",
    "sections",
    "signature",
    "verdict",
]
