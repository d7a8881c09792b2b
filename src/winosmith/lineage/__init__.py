"""How a perturbed problem came about: its edits, its three depths, and whether they hold.

>>> from winosmith import Dataset, Problem
>>> root = Problem("r", "Sue beat Sally because _ ran well.", ("Sue", "Sally"), 0)
>>> child = perturbed(root, "Sue beat Sally although _ ran well.", root.options, 1, source="person")
>>> [str(edit.op) + ": " + edit.old + " → " + edit.new for edit in child.lineage.edits]
['substitute: because → although']
>>> depths(Dataset([root, child]))[1]
Depths(declared=None, lineage=1, edit=1)
"""

from __future__ import annotations

from winosmith.lineage._check import check_lineages
from winosmith.lineage._depths import MEASURED, Depths, depths
from winosmith.lineage._edits import apply_edits, edit_script
from winosmith.lineage._explain import explain
from winosmith.lineage._perturbed import UNVALIDATED, perturbed

__all__ = [
    "MEASURED",
    "UNVALIDATED",
    "Depths",
    "apply_edits",
    "check_lineages",
    "depths",
    "edit_script",
    "explain",
    "perturbed",
]
