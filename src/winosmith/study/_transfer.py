"""Measure the accuracy of a solver on the data sets of WinoGrande's table 5, with intervals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from winosmith import formats
from winosmith.dataset import Dataset
from winosmith.errors import DataError, FormatError, InputError, SameInputError
from winosmith.metrics import GenderGap, Proportion, grade, measure_gender_gap, proportion, score
from winosmith.problem import Claim, Problem
from winosmith.records import dump_json, make_claim_record
from winosmith.report import Signature, to_fixed
from winosmith.results import Result
from winosmith.solve import EncoderSolver, Solver, predict, predict_to_file
from winosmith.study._solvers import get_text

TARGETS = {
    "wsc": "WSC (Levesque et al. 2011)",
    "pdp": "PDP (Morgenstern et al. 2016)",
    "superglue-wsc": "SuperGLUE-WSC (Wang et al. 2019)",
    "dpr": "DPR (Rahman and Ng 2012)",
    "knowref": "KnowRef (Emami et al. 2019)",
    "copa": "COPA (Roemmele et al. 2011)",
    "winogender": "Winogender (Rudinger et al. 2018)",
    "winogrande-dev": "WinoGrande, dev (Sakaguchi et al. 2020)",
    "winogrande-test": "WinoGrande, test (Sakaguchi et al. 2020)",
}
"""The data sets by name, in the order of table 6."""

WSC_SIZE, PDP_SIZE = 273, 60
"""Numbers of Winograd schemas (the first of 285) and of PDPs (of 2016) in published results."""

_BY_FORMAT = {
    "wsc-xml": "wsc",
    "wsc-csv": "wsc",
    "wsc273-jsonl": "wsc",
    "pdp-xml": "pdp",
    "superglue-wsc": "superglue-wsc",
    "dpr": "dpr",
    "dpr-tsv": "dpr",
    "knowref": "knowref",
    "copa-xml": "copa",
    "superglue-copa": "copa",
    "winogender": "winogender",
    "winogrande": "winogrande-dev",
}

TEST_FILES = {
    "WSCollection.xml": "wsc",
    "PDPChallenge2016.xml": "pdp",
    "WSC/val.jsonl": "superglue-wsc",
    "superglue_wsc/val.jsonl": "superglue-wsc",
    "test.c.txt": "dpr",
    "knowref_test.json": "knowref",
    "copa-test.xml": "copa",
    "all_sentences.tsv": "winogender",
    "winogrande_1.1/dev.jsonl": "winogrande-dev",
    "winogrande/dev.jsonl": "winogrande-dev",
}
"""Path suffixes of the test files that `winosmith data get` downloads."""


@dataclass(frozen=True)
class Target:
    """A data set to solve.

    Attributes:
        name: one of `TARGETS`.
        items: its problems, or its claims in the order of the file.
        file: path of its file.
        unreadable: number of records in the file that are not problems, and were omitted.
    """

    name: str
    items: Dataset | tuple[Claim, ...]
    file: str
    unreadable: int = 0

    def __len__(self) -> int:
        return len(self.items)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for readers: the number of omitted records, if there are any."""
        omitted = f"{self.unreadable:,} records in the file are not problems and were removed"
        return (omitted,) if self.unreadable else ()


def read_target(
    path: str | Path, name: str | None = None, scan_options: Mapping[str, Any] | None = None
) -> Target:
    """Read a data set of WinoGrande's table 5.

    Only the first 273 of the Winograd Schema Challenge's 285 schemas are used, as in all published
    results. Records that are not problems (two in KnowRef) are omitted and counted.

    Args:
        path: path of the file.
        name: one of `TARGETS`; by default derived from the format.
        scan_options: arguments of `formats.scan`, if the content does not determine the format.

    Raises:
        FormatError: the file can't be read, or contains no problem.
        InputError: the name is unknown, or no data set has this format.
        DataError: answers are withheld.
    """
    if name is not None and name not in TARGETS:
        raise InputError(f"unknown data set {name!r}; use one of {', '.join(TARGETS)}")
    try:
        contents = formats.scan(path)
    except FormatError:
        if not any((scan_options or {}).values()):
            raise
        contents = formats.scan(path, **(scan_options or {}))
    contents.warn()
    if not contents.items:
        raise FormatError("the file contains no readable record", path)
    file_format = contents.format.name
    if file_format == "substitutions":
        name = name or ("pdp" if len(contents.items) == PDP_SIZE else "wsc")
    name = name or _BY_FORMAT.get(file_format)
    if name is None:
        raise InputError(
            f"no data set of WinoGrande's table 5 has the format {file_format} of {path}; write "
            f"NAME={path}, where NAME is one of {', '.join(TARGETS)}"
        )
    claims = [item for item in contents.items if isinstance(item, Claim)]
    problems = [item for item in contents.items if isinstance(item, Problem)]
    items: Dataset | tuple[Claim, ...]
    if claims:
        withheld = [claim.problem_id for claim in claims if claim.holds is None]
        items = tuple(claims)
    else:
        items = Dataset(problems[:WSC_SIZE] if name == "wsc" else problems, Path(path).stem)
        withheld = [problem.id for problem in items if problem.answer is None]
    if withheld:
        raise DataError(
            f"{path}: {len(withheld):,} of {len(items):,} answers are withheld; use a file with "
            "answers, such as the dev or val part"
        )
    return Target(name, items, str(path), len(contents.bad))


def list_test_files(folder: str | Path) -> list[tuple[str, Path]]:
    """Return the name and path of each data set of WinoGrande's table 5 below a folder.

    Files are recognized by the path suffixes in `TEST_FILES`; the first path for each name is used.

    Raises:
        InputError: the folder contains no such file.
    """
    found: dict[str, Path] = {}
    for file in sorted(Path(folder).rglob("*")):
        name = next(
            (name for end, name in TEST_FILES.items() if file.as_posix().endswith(f"/{end}")), None
        )
        if name and file.is_file():
            found.setdefault(name, file)
    if not found:
        raise InputError(
            f"{folder} contains none of the data sets in WinoGrande's Table 5; download some with: "
            "winosmith data get"
        )
    return [(name, found[name]) for name in TARGETS if name in found]


@dataclass(frozen=True)
class TransferResult(Result):
    """A solver's results on a data set.

    Attributes:
        data: name of the data set, one of `TARGETS`.
        accuracy: accuracy over its problems or claims.
        comparisons: fraction of correct two-way comparisons, if problems have more than two
            options: table 6 counts the 60 PDPs as 80 comparisons.
        p_value: probability that guessing has at least this accuracy; None for claims.
        gap: the gender gap, as defined for table 7; only for Winogender, and only if the solver
            sees the pronoun.
        notes: caveats for readers.
        signature: signature of the data and the solver.
    """

    data: str
    accuracy: Proportion
    comparisons: Proportion | None
    p_value: float | None
    gap: GenderGap | None
    notes: tuple[str, ...]
    signature: Signature

    @property
    def comparable_accuracy(self) -> Proportion:
        """The accuracy to compare with published ones: that of two-way comparisons, if any."""
        return self.comparisons or self.accuracy


def solve_target(
    target: Target,
    solver: Solver,
    out: str | Path,
    *,
    women: Mapping[str, float] | None = None,
    force: bool = False,
    on_progress: Callable[[int], None] | None = None,
) -> TransferResult:
    """Solve a data set of WinoGrande's table 5, and score the predictions.

    Predictions are saved in `out`/NAME.jsonl, so that an interrupted run can resume. Claims are
    judged again in each run.

    Args:
        target: the data set, from `read_target`.
        solver: the solver; it does not see the answers.
        out: an existing folder for the predictions.
        women: percentage or fraction of women in each occupation, for Winogender's gap.
        force: whether to replace predictions of another solver.
        on_progress: called with the number of solved problems.

    Raises:
        OutputError: the folder contains predictions of another solver.
    """
    if not isinstance(target.items, Dataset):
        return _solve_claims(target, target.items, solver)
    found = predict_to_file(
        solver,
        target.items,
        Path(out) / f"{target.name}.jsonl",
        force=force,
        on_progress=on_progress,
    )
    graded = grade(target.items, found.predictions, parameters=found.parameters)
    scored = score(graded)
    gap, notes = None, target.notes
    if found.parameters.get("sees") == "pronoun":
        notes = (*notes, "the solver saw the pronoun and chose its referent")
    if target.name == "winogender" and women:
        try:
            gap = measure_gender_gap(graded, women)
        except SameInputError as error:
            notes = (*notes, f"the gender gap can't be measured: {error}")
        else:
            notes = (*notes, gap.pronoun_effect, *filter(None, [gap.note]))
    return TransferResult(
        target.name,
        scored.accuracy,
        scored.comparisons,
        scored.p_value,
        gap,
        notes,
        scored.signature,
    )


def _solve_claims(target: Target, claims: tuple[Claim, ...], solver: Solver) -> TransferResult:
    judged = judge(solver, claims)
    correct = [said == claim.holds for said, claim in zip(judged, claims, strict=True)]
    texts = [get_text(claim) for claim in claims]
    labels = [texts.index(text) for text in texts]
    lines = "\n".join(dump_json(make_claim_record(claim)) for claim in claims)
    parameters = dict(getattr(solver, "parameters", {"solver": type(solver).__name__}))
    signature = Signature(sha256(lines.encode()).hexdigest(), len(claims), parameters)
    share = sum(claim.holds is False for claim in claims) / len(claims)
    usual = "false" if share >= 0.5 else "true"
    notes = [f"always answering {usual} gives {to_fixed(100 * max(share, 1 - share))} %"]
    if not (isinstance(solver, EncoderSolver) and solver.judges_claims):
        lone = count_lone_claims(claims)
        notes.append(
            "claims about the same blank were compared with each other, although SuperGLUE judges "
            f"each by itself; {lone:,} claims without a competitor were judged false"
        )
    accuracy = proportion(correct, labels, chance=0.5)
    return TransferResult(
        target.name, accuracy, None, None, None, (*notes, *target.notes), signature
    )


def judge(solver: Solver, claims: Sequence[Claim]) -> tuple[bool, ...]:
    """Return a solver's judgement of whether each claim is true.

    A model that was trained on claims judges each by itself, as in SuperGLUE. Any other solver
    compares the candidates of a blank, and judges only the best candidate's claims true. This is
    easier than SuperGLUE's task, as at most one candidate is true. Claims without a competing
    candidate, and ties, are judged false, the more frequent label. The claims' labels are not used.

    >>> from winosmith.solve import Random
    >>> judge(Random(3), [Claim("1", "A _ b.", c) for c in "xy"] + [Claim("2", "C _ d.", "z")])
    (False, True, False)
    """
    if isinstance(solver, EncoderSolver) and solver.judges_claims:
        return tuple(score > 0 for score in solver.judge(claims))
    blanks = [(rows, tuple(sorted(own))) for rows, own in _group_by_blank(claims) if len(own) > 1]
    asked = [
        Problem(str(at), claims[rows[0]].sentence, options, pronoun=claims[rows[0]].pronoun)
        for at, (rows, options) in enumerate(blanks)
    ]
    holds = [False] * len(claims)
    for (rows, options), said in zip(blanks, predict(solver, asked), strict=True):
        best = [options[option] for option in said.chosen]
        for row in rows:
            holds[row] = best == [claims[row].candidate.strip()]
    return tuple(holds)


def count_lone_claims(claims: Sequence[Claim]) -> int:
    """Return the number of claims without a competing candidate for the same blank."""
    return sum(len(rows) for rows, options in _group_by_blank(claims) if len(options) == 1)


def _group_by_blank(claims: Sequence[Claim]) -> list[tuple[list[int], list[str]]]:
    blanks: dict[tuple[str, str], list[int]] = {}
    for row, claim in enumerate(claims):
        blanks.setdefault((claim.problem_id, claim.sentence), []).append(row)
    return [
        (rows, list(dict.fromkeys(claims[row].candidate.strip() for row in rows)))
        for rows in blanks.values()
    ]
