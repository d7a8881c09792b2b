"""The formats that are known, in the order in which they are named to the user."""

from __future__ import annotations

from winosmith.formats._base import Format
from winosmith.formats._copa import COPA_XML, SUPERGLUE_COPA
from winosmith.formats._csv import CSV
from winosmith.formats._dpr import DPR
from winosmith.formats._dpr_tsv import DPR_TSV
from winosmith.formats._evograd import EVOGRAD
from winosmith.formats._jsonl import JSONL
from winosmith.formats._knowref import KNOWREF
from winosmith.formats._perturbed import PERTURBED_WSC
from winosmith.formats._substitutions import SUBSTITUTIONS
from winosmith.formats._superglue_wsc import SUPERGLUE_WSC
from winosmith.formats._winogender import WINOGENDER, WINOGENDER_TEMPLATES
from winosmith.formats._winogrande import PERTURBED_JSONL, WINOGRANDE, WSC273_JSONL
from winosmith.formats._wsc_csv import WSC_CSV
from winosmith.formats._wsc_xml import PDP_XML, WSC_XML

__all__ = ["FORMATS"]

FORMATS: tuple[Format, ...] = (
    JSONL,
    CSV,
    WINOGRANDE,
    WSC_XML,
    WSC_CSV,
    WSC273_JSONL,
    SUBSTITUTIONS,
    PDP_XML,
    SUPERGLUE_WSC,
    SUPERGLUE_COPA,
    COPA_XML,
    DPR,
    DPR_TSV,
    KNOWREF,
    WINOGENDER,
    WINOGENDER_TEMPLATES,
    PERTURBED_WSC,
    PERTURBED_JSONL,
    EVOGRAD,
)
