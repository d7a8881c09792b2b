"""Human tests of Winograd materials: sheets, assignment, answers, results, the reliable subset.

>>> from winosmith import formats, humans
>>> humans.Rules(size=60).per_text
3
"""

from __future__ import annotations

from winosmith.humans._answers import Answer, Noted, Sitting, check_sittings, responses_of
from winosmith.humans._answers_csv import read_answer_table
from winosmith.humans._answers_form import answers_record, read_answer_form
from winosmith.humans._answers_people import read_subjects
from winosmith.humans._answers_subjects import Remark, Subject, Taken, subject_record, subjects_of
from winosmith.humans._assign import assign
from winosmith.humans._assign_ledger import Given, Ledger, ledger_held, read_ledger, write_ledger
from winosmith.humans._assign_schemas import Dealt, deal, schemas
from winosmith.humans._counts import UNTOLD, Chance, Counts, chance, counts
from winosmith.humans._crossfit import CrossFit, cross_fit
from winosmith.humans._entry import SKIP, UNDO, Difference, Entry, compare_entries
from winosmith.humans._form import form
from winosmith.humans._grim import Grim, PrintedTest, grim
from winosmith.humans._item import AMBIGUOUS, LETTERS, Item
from winosmith.humans._matrix import MatrixFit, fit_matrix, matrix_of_margins, repairs
from winosmith.humans._publish import CANARY, Published, canary, publish
from winosmith.humans._results import Halves, Results, results
from winosmith.humans._results_groups import Groups, Without, compare_groups
from winosmith.humans._results_order import Course, Pace, Slope, paces
from winosmith.humans._results_rows import ItemRow, SubjectRow
from winosmith.humans._results_share import crossed_share
from winosmith.humans._results_test import TestResult
from winosmith.humans._rules import BALANCED, Rules
from winosmith.humans._select import Selection, select
from winosmith.humans._sheet import COMMON, Sheet
from winosmith.humans._sheet_json import read_sheet, sheet_of, sheet_record
from winosmith.humans._sheet_key import answer_key
from winosmith.humans._sheet_make import TITLE, Sheets, make_sheets
from winosmith.humans._sheet_words import DECLARED, Declared, has_blanks
from winosmith.humans._sheet_words import words as instructions
from winosmith.humans._tally import Tally, tally, tally_of_counts
from winosmith.humans._text import text_of
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
