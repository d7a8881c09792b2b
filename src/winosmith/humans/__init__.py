"""Human tests of Winograd materials: sheets, assignment, answers, results, the reliable subset.

>>> from winosmith import formats, humans
>>> humans.Rules(size=60).per_text
3
"""

from __future__ import annotations

from winosmith.humans._answers import (
    Answer,
    Noted,
    Sitting,
    answers_record,
    check_sittings,
    read_answer_form,
    read_answer_table,
    responses_of,
)
from winosmith.humans._assign import Given, Ledger, assign, ledger_held, read_ledger, write_ledger
from winosmith.humans._course import Course, Pace, Slope, paces
from winosmith.humans._entry import SKIP, UNDO, Difference, Entry, compare_entries
from winosmith.humans._form import form
from winosmith.humans._grim import (
    Grim,
    MatrixFit,
    PrintedTest,
    fit_matrix,
    grim,
    matrix_of_margins,
    repairs,
)
from winosmith.humans._groups import Groups, Without, compare_groups
from winosmith.humans._instructions import DECLARED, Declared, has_blanks
from winosmith.humans._instructions import words as instructions
from winosmith.humans._publish import CANARY, Published, canary, publish
from winosmith.humans._results import Halves, ItemRow, Results, SubjectRow, TestResult, results
from winosmith.humans._select import BALANCED, CrossFit, Rules, Selection, cross_fit, select
from winosmith.humans._sheet import (
    AMBIGUOUS,
    COMMON,
    LETTERS,
    Item,
    Sheet,
    answer_key,
    read_sheet,
    sheet_of,
    sheet_record,
    text_of,
)
from winosmith.humans._sheet_make import TITLE, Dealt, Sheets, deal, make_sheets, schemas
from winosmith.humans._subjects import (
    Remark,
    Subject,
    Taken,
    read_subjects,
    subject_record,
    subjects_of,
)
from winosmith.humans._tally import (
    UNTOLD,
    Chance,
    Counts,
    Tally,
    chance,
    counts,
    crossed_share,
    tally,
    tally_of_counts,
)
from winosmith.humans._typst import check_glyphs, pages, pdf

__all__ = [
    "AMBIGUOUS",
    "BALANCED",
    "CANARY",
    "COMMON",
    "DECLARED",
    "LETTERS",
    "SKIP",
    "TITLE",
    "UNDO",
    "UNTOLD",
    "Answer",
    "Chance",
    "Counts",
    "Course",
    "CrossFit",
    "Dealt",
    "Declared",
    "Difference",
    "Entry",
    "Given",
    "Grim",
    "Groups",
    "Halves",
    "Item",
    "ItemRow",
    "Ledger",
    "MatrixFit",
    "Noted",
    "Pace",
    "PrintedTest",
    "Published",
    "Remark",
    "Results",
    "Rules",
    "Selection",
    "Sheet",
    "Sheets",
    "Sitting",
    "Slope",
    "Subject",
    "SubjectRow",
    "Taken",
    "Tally",
    "TestResult",
    "Without",
    "answer_key",
    "answers_record",
    "assign",
    "canary",
    "chance",
    "check_glyphs",
    "check_sittings",
    "compare_entries",
    "compare_groups",
    "counts",
    "cross_fit",
    "crossed_share",
    "deal",
    "fit_matrix",
    "form",
    "grim",
    "has_blanks",
    "instructions",
    "ledger_held",
    "make_sheets",
    "matrix_of_margins",
    "paces",
    "pages",
    "pdf",
    "publish",
    "read_answer_form",
    "read_answer_table",
    "read_ledger",
    "read_sheet",
    "read_subjects",
    "repairs",
    "responses_of",
    "results",
    "schemas",
    "select",
    "sheet_of",
    "sheet_record",
    "subject_record",
    "subjects_of",
    "tally",
    "tally_of_counts",
    "text_of",
    "write_ledger",
]
