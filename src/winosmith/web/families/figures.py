"""The stability of models on one family, and the files of all families.

The results are those of `winosmith.metrics.measure_stability`, computed for each request, without
intervals and p-values, which need many families. `winosmith score` computes these from the
downloaded problems and predictions.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from django.db import connection
from django.db.models import Count, F, QuerySet
from django.utils.translation import gettext as _

from winosmith import Dataset, Prediction, __version__, answers
from winosmith.metrics import DepthKind, error_depth, round_count
from winosmith.prediction import find_best_options
from winosmith.records import dump_json
from winosmith.web.families.trees import DEPTHS, Bools, Floats, Ints, Tree
from winosmith.web.pages import make_bar_chart, to_fixed
from winosmith.web.predict.models import Model, Prediction as Row, Status
from winosmith.web.problems.models import Problem
from winosmith.web.problems.records import as_public, iter_public_rows, load_keys
from winosmith.web.problems.states import get_public_problems
from winosmith.web.read.downloads import HeadedFile, encode_for_digest

UNASKED, WAITING, STUCK, RIGHT, WRONG, TIED = range(6)
"""States of a model's answer to a version; `STUCK` marks a failed prediction."""

STATE_FACTOR = 8
"""Factor that packs a version's key and its state into one number: key * STATE_FACTOR + state."""

_ANSWERS = f"""SELECT JOINED(CAST(r.problem_id * {STATE_FACTOR} + CASE
        WHEN r.stand = %s AND r.tie THEN {TIED}
        WHEN r.stand = %s AND r."right" THEN {RIGHT}
        WHEN r.stand = %s AND NOT r."right" THEN {WRONG}
        WHEN r.stand = %s THEN {WAITING}
        ELSE {STUCK} END AS text), ',')
    FROM perturb_version v JOIN predict_prediction r ON r.problem_id = v.problem_id
    WHERE v.root_id = %s AND r.model_id = %s"""  # noqa: S608 - only constants are inserted
"""SQL that returns all rows as a single string, which halves the time."""


@dataclass(frozen=True, eq=False)
class Answers:
    """A model's answers to the versions of a family.

    Attributes:
        states: `UNASKED`, `WAITING`, `STUCK`, `RIGHT`, `WRONG` or `TIED` for each version, (n,).
        ties: The credit of each tied version, by the version's number: 1 / (number of tied options)
            if the correct option is among them, otherwise 0.
    """

    tree: Tree
    states: npt.NDArray[np.int8]
    ties: Mapping[int, float] = field(default_factory=dict)

    def select(self, *states: int) -> Bools:
        """Return the mask of the public versions whose state is one of `states`; shape (n,)."""
        return self.tree.public & np.isin(self.states, states)

    @cached_property
    def answered_mask(self) -> Bools:
        """Mask of the public versions with an answer, including ties; shape (n,)."""
        return self.select(RIGHT, WRONG, TIED)

    @cached_property
    def credit(self) -> Floats:
        """Credit of each public answer, (n,): 1 if correct, a fraction for a tie, otherwise 0."""
        found = self.select(RIGHT).astype(np.float64)
        for number, credit in self.ties.items():
            found[number] = credit if self.tree.public[number] else 0.0
        return found

    @property
    def unanswered_count(self) -> int:
        return int(self.tree.public.sum() - self.answered_mask.sum())

    @cached_property
    def incorrect_counts_below(self) -> list[int]:
        """For each version, the number of public descendants with an incorrect answer."""
        return self.tree.sum_below(self.select(WRONG)).tolist()


def load_answers(root: Problem, tree: Tree, model: Model) -> Answers:
    done = str(Status.DONE)
    with connection.cursor() as cursor:
        join = "string_agg" if connection.vendor == "postgresql" else "group_concat"
        query = _ANSWERS.replace("JOINED", join)
        cursor.execute(query, [done, done, done, str(Status.WAITING), root.pk, model.pk])
        joined = cursor.fetchone()[0] or ""
    found = np.full(len(tree), UNASKED, dtype=np.int8)
    keys, states = np.divmod(np.fromstring(joined, dtype=np.int64, sep=","), STATE_FACTOR)
    numbers = tree.get_version_numbers(keys)
    in_tree = numbers >= 0
    found[numbers[in_tree]] = states[in_tree]
    tied = {int(tree.rows[number]): int(number) for number in np.flatnonzero(found == TIED)}
    rows = Row.objects.filter(model=model, problem__in=list(tied))
    answers = rows.values_list("problem", "choice", "scores", "problem__answer")
    ties = {tied[problem]: compute_tie_credit(*answer) for problem, *answer in answers}
    return Answers(tree, found, ties)


def compute_tie_credit(choice: int | None, scores: Sequence[float], answer: int | None) -> float:
    """Return a tie's credit: 1 / (number of tied options) if one is correct, otherwise 0."""
    return Prediction("", choice or 0, tuple(scores)).credit(answer)


@dataclass(frozen=True, slots=True)
class ErrorDepth:
    """A summary of the depths of a model's errors on one family, for one kind of depth.

    Attributes:
        n: The number of public versions with an answer and a known depth.
        errors: The number of incorrect answers; a tie counts as 1 minus its credit.
        mean: The mean depth of the errors; None if there are none.
        chance_mean: The mean depth expected from random guessing; None if there are no versions. If
            all versions have the same number of options, this is the versions' mean depth.
        first: The minimum depth of an error; None if there are no errors.
        chance_first: The expected minimum depth of an error if answers are guessed at random and at
            least one is incorrect; None if there are no versions.
    """

    kind: DepthKind
    n: int
    errors: float
    mean: float | None
    chance_mean: float | None
    first: float | None
    chance_first: float | None


@dataclass(frozen=True, slots=True)
class DepthAccuracy:
    """A model's accuracy at one depth.

    Attributes:
        n: The number of public versions with an answer.
        right: The number of correct answers; each tie adds its credit (`compute_tie_credit`).
    """

    depth: int
    n: int
    right: float
    ties: int = 0

    @property
    def percent(self) -> float:
        return 100 * self.right / self.n


def compute_error_depths(answers: Answers) -> list[ErrorDepth]:
    found = []
    for kind in DEPTHS:
        depths, known = _get_depths(answers, kind)
        known[0] = False
        depths, wrong = depths[known], 1 - answers.credit[known]
        chance_wrong = 1 - answers.tree.chance[known]
        found.append(
            ErrorDepth(
                kind,
                len(depths),
                round_count(float(wrong.sum())),
                error_depth(depths, wrong, "mean"),
                error_depth(depths, chance_wrong, "mean"),
                error_depth(depths, wrong, "first"),
                error_depth(depths, chance_wrong, "first"),
            )
        )
    return found


def measure_accuracy(answers: Answers, kind: DepthKind) -> list[DepthAccuracy]:
    """Return the accuracy at each depth, in ascending order; the root has depth 0."""
    depths, known = _get_depths(answers, kind)
    depths = depths[known]
    counts = np.bincount(depths)
    right = np.bincount(depths, answers.credit[known], len(counts))
    ties = np.bincount(depths, answers.select(TIED)[known], len(counts))
    return [
        DepthAccuracy(depth, int(counts[depth]), round_count(float(right[depth])), int(ties[depth]))
        for depth in np.flatnonzero(counts).tolist()
    ]


def _get_depths(answers: Answers, kind: DepthKind) -> tuple[Ints, Bools]:
    """Return the depths (0 for the root), and a mask of the versions with a depth and an answer."""
    depths = answers.tree.depths[kind].copy()
    depths[0] = 0
    return depths, answers.answered_mask & (depths >= 0)


MAX_BARS = 40
"""Maximum number of depths in the chart; the table shows all depths."""

MAX_LABELS = 14
"""Maximum number of labelled depths in the chart."""

PALE_BELOW = 5
"""Bars for fewer versions than this are drawn in a pale colour."""


def draw_chart(name: str, rows: Sequence[DepthAccuracy], chance: float) -> dict[str, Any] | None:
    """Return the chart of a model's accuracies by depth, or None if there are no accuracies.

    `rows` is in ascending order of depth. `chance` is the accuracy of guessing, 0–1.
    """
    shown = rows[:MAX_BARS]
    if not shown:
        return None
    every = -(-len(shown) // MAX_LABELS)
    description = ", ".join(
        f"{to_fixed(row.percent, 0)} % ({row.right}/{row.n}) · {row.depth}" for row in shown
    )
    return make_bar_chart(
        [[(row.percent, row.n < PALE_BELOW)] for row in shown],
        [str(row.depth) if at % every == 0 else "" for at, row in enumerate(shown)],
        _("Accuracy of %(name)s by depth: %(points)s") % {"name": name, "points": description},
        top=100,
        unit=" %",
        line=100 * chance,
        axis=_("depth"),
    )


def get_family_problems() -> QuerySet[Problem]:
    """Return the public problems of all families, including the roots."""
    return get_public_problems().filter(version__isnull=False).alias(place=F("id"))


def count_versions_by_target_model() -> list[tuple[str, int]]:
    """Count, for each model, the public versions written to fool it; the largest count is first.

    Contributors chose these models and saw their answers. These versions are therefore selected
    against these models, which makes the models look worse than others.
    """
    rows = get_family_problems().filter(version__against__isnull=False).order_by()
    counts = dict(rows.values_list("version__against__name").annotate(n=Count("pk")))
    return sorted(counts.items(), key=lambda one: (-one[1], one[0]))


def get_answered_problems(model: Model, *, families: bool = True) -> QuerySet[Problem]:
    public = get_family_problems() if families else get_public_problems().alias(place=F("id"))
    return public.filter(
        answer__isnull=False,
        predictions__model=model,
        predictions__stand=Status.DONE,
        predictions__choice__isnull=False,
    )


def load_predictions(model: Model, problems: dict[int, str]) -> list[Prediction]:
    """Load a model's predictions for problems; `problems` maps the problems' keys to their ids."""
    rows = Row.objects.filter(model=model, problem__in=list(problems), stand=Status.DONE)
    rows = rows.filter(choice__isnull=False).order_by("problem")
    found = []
    for key, choice, scores in rows.values_list("problem", "choice", "scores"):
        best = find_best_options(scores) if scores else ()
        tied = best if len(best) > 1 and choice in best else ()
        found.append(Prediction(problems[key], choice, tuple(scores), tied))
    return found


def write_predictions_file(model: Model, *, families: bool = True) -> tuple[str, HeadedFile]:
    """Write a model's predictions to a temporary file; return a digest and the open file.

    The caller closes the file. The format is that of `winosmith.answers.write_predictions`. Memory
    use does not grow with the number of problems.
    """
    query = get_answered_problems(model, families=families)
    file = tempfile.TemporaryFile()  # noqa: SIM115 - closed after sending
    data_digest, file_digest, count = hashlib.sha256(), hashlib.sha256(), 0
    for chunk in iter_public_rows(load_keys(query.order_by("place"))):
        blind = Dataset(as_public(chunk)).blind()
        known = {row.pk: row.ref for row in chunk}
        for prediction in load_predictions(model, known):
            line = f"{answers.prediction_record(prediction)}\n".encode("utf-8", "surrogatepass")
            file_digest.update(line)
            file.write(line)
        for problem in blind:
            data_digest.update(encode_for_digest(problem))
        count += len(blind)
    header = {
        "predictions": model.name,
        "parameters": {"solver": model.solver, "revision": model.revision, "digest": model.digest},
        "data": data_digest.hexdigest(),
        "n": count,
        "version": __version__,
    }
    first = f"{dump_json(header)}\n".encode()
    file_digest.update(first)
    return file_digest.hexdigest(), HeadedFile(first, file)
