"""A solver on the data sets of table 5: what it solves of each, with intervals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from winosmith.dataset import Dataset
from winosmith.errors import SameInputError
from winosmith.metrics import GenderGap, Proportion, gender_gap, grade, proportion, score
from winosmith.problem import Claim
from winosmith.report import Signature
from winosmith.solve import EncoderSolver, Solver, predict_to_file
from winosmith.study._claims import judge, lone_claims
from winosmith.study._targets import Target

__all__ = ["Solved", "solve_target"]


@dataclass(frozen=True)
class Solved:
    """What a solver made of a data set.

    Attributes:
        data: its name, one of `TARGETS`.
        accuracy: over its problems or claims.
        comparisons: the share of two-way comparisons won, where problems have more than two
            options: table 6 counts the 60 PDPs as 80 of them.
        p_value: the probability that guessing does as well; None for claims.
        gap: the gender gap, in the reading of table 7; None but for Winogender, and for a solver
            that does not see the pronoun, which the notes tell.
        notes: what a reader must know of the figure.
        signature: what determines it.
    """

    data: str
    accuracy: Proportion
    comparisons: Proportion | None
    p_value: float | None
    gap: GenderGap | None
    notes: tuple[str, ...]
    signature: Signature

    @property
    def beside_printed(self) -> Proportion:
        """The share that stands beside the printed ones: of comparisons where these are counted."""
        return self.comparisons or self.accuracy

    def record(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {
            "data": self.data,
            "accuracy": self.accuracy.record(),
            "comparisons": self.comparisons and self.comparisons.record(),
            "p_value_of_guessing": self.p_value,
            "gender_gap": self.gap and self.gap.record(),
            "notes": list(self.notes),
            "signature": str(self.signature),
        }


def solve_target(
    target: Target,
    solver: Solver,
    out: str | Path,
    *,
    women: Mapping[str, float] | None = None,
    seed: int = 0,
    force: bool = False,
    on_progress: Callable[[int], None] | None = None,
) -> Solved:
    """Solve a data set of table 5, and measure what was solved.

    Predictions go to `out`/NAME.jsonl, and work that was stopped goes on. Claims are judged anew
    each time.

    Args:
        target: from `read_target`.
        solver: any; it sees no answer.
        out: an existing folder for the predictions.
        women: occupation → percentage or share of women, for Winogender's gap.
        seed: of the bootstrap.
        force: replace predictions of another solver.
        on_progress: is told how many problems are done.

    Raises:
        OutputError: the folder holds predictions of another solver.
    """
    if not isinstance(target.asked, Dataset):
        return _judged(target, target.asked, solver)
    found = predict_to_file(
        solver,
        target.asked,
        Path(out) / f"{target.name}.jsonl",
        force=force,
        on_progress=on_progress,
    )
    graded = grade(target.asked, found.predictions, parameters=found.parameters)
    scored = score(graded, seed=seed)
    gap, notes = None, _notes(target)
    if found.parameters.get("sees") == "pronoun":
        notes = (*notes, "the pronoun was seen, and whom it refers to was asked")
    if target.name == "winogender" and women:
        try:
            gap = gender_gap(graded, women, seed=seed)
        except SameInputError as error:
            notes = (*notes, f"there is no gender gap: {error}")
        else:
            notes = (*notes, gap.of_pronoun, *filter(None, [gap.note]))
    return Solved(
        target.name,
        scored.accuracy,
        scored.comparisons,
        scored.p_value,
        gap,
        notes,
        scored.signature,
    )


def _judged(target: Target, claims: tuple[Claim, ...], solver: Solver) -> Solved:
    from hashlib import sha256

    from winosmith.records import canonical, claim_record

    held = judge(solver, claims)
    right = [said == claim.holds for said, claim in zip(held, claims, strict=True)]
    texts = [claim.sentence.replace("_", claim.pronoun or "_") for claim in claims]
    labels = [texts.index(text) for text in texts]
    lines = "\n".join(canonical(claim_record(claim)) for claim in claims)
    parameters = dict(getattr(solver, "parameters", {"solver": type(solver).__name__}))
    signature = Signature(sha256(lines.encode()).hexdigest(), len(claims), parameters)
    share = sum(claim.holds is False for claim in claims) / len(claims)
    notes = [f"always saying false gives {100 * max(share, 1 - share):.1f}"]
    if not (isinstance(solver, EncoderSolver) and solver.judges_claims):
        lone = lone_claims(claims)
        notes.append(
            "candidates of one blank were compared with each other, which SuperGLUE does not "
            f"provide for; {lone:,} claims alone on theirs were said to be false"
        )
    accuracy = proportion(right, labels, chance=0.5)
    return Solved(target.name, accuracy, None, None, None, (*notes, *_notes(target)), signature)


def _notes(target: Target) -> tuple[str, ...]:
    if not target.unreadable:
        return ()
    return (f"{target.unreadable:,} records of the file are no problems and were left out",)
