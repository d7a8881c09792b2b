"""Template contexts of the perturbation pages: the list, the form, and the models' results."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django import forms
from django.conf import settings
from django.db.models import Count
from django.http import Http404, QueryDict
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.utils.translation import gettext as _, gettext_lazy

from winosmith.lineage import find_edits
from winosmith.problem import BLANK
from winosmith.text import diff_text, tokenize
from winosmith.web.pages import round_percent
from winosmith.web.people.models import Person
from winosmith.web.perturb import rules
from winosmith.web.perturb.rules import Position, SentenceInput
from winosmith.web.predict.asking import check_model, get_current_models, get_current_predictions
from winosmith.web.predict.models import Model, Prediction, Status
from winosmith.web.problems import checks
from winosmith.web.problems.association import softmax
from winosmith.web.problems.family import fold_steps, get_visible_steps, may_perturb
from winosmith.web.problems.lookalikes import Half
from winosmith.web.problems.models import Problem, State, Version
from winosmith.web.problems.states import get_public_problems, is_visible_to
from winosmith.web.read.public import Filters


class SentenceFilters(Filters):
    """Filters for choosing a sentence to perturb; by default, only originals are shown."""

    kind = forms.ChoiceField(
        label=gettext_lazy("Show"),
        required=False,
        choices=[
            ("original", gettext_lazy("originals")),
            ("perturbed", gettext_lazy("perturbed sentences")),
            ("", gettext_lazy("both")),
        ],
    )

    def __init__(self, data: QueryDict):
        self.chosen = "kind" in data
        filled = data.copy()
        filled.setdefault("kind", "original")
        super().__init__(filled)

    @property
    def is_active(self) -> bool:
        return any(self.data.get(name) for name in self.fields if name != "kind" or self.chosen)

    @property
    def detail_fields(self) -> list[forms.BoundField]:
        """Return the fields shown in the collapsible section."""
        return [field for field in self if field.name not in ("q", "kind")]

    def select_perturbed(self) -> SentenceFilters:
        data = self.get_params()
        data["kind"] = "perturbed"
        return SentenceFilters(data)


def list_problems_with_families(problems: list[Problem]) -> list[dict[str, Any]]:
    """Return each problem with information on its family, using two queries.

    `root` is the id of the root, or None if nobody has perturbed the problem; `step` is the number
    of steps from the root; `versions` is the number of public problems in the family, including the
    root.
    """
    rows = Version.objects.filter(problem__in=problems).select_related("root")
    versions: dict[Any, Version] = {version.problem_id: version for version in rows}
    public = get_public_problems().select_related(None)
    counts = public.filter(version__root__in={version.root_id for version in versions.values()})
    counted = dict(counts.order_by().values_list("version__root").annotate(n=Count("pk")))
    return [
        {
            "problem": problem,
            "root": at.root.ref if (at := versions.get(problem.pk)) else None,
            "step": at.step if at else 0,
            "versions": counted.get(at.root_id, 0) if at else 1,
        }
        for problem in problems
    ]


def get_examples() -> dict[str, list[dict[str, Any]]]:
    """Return the translated examples for the start page.

    `good` contains the steps of a family, each perturbed from the previous sentence, and `bad`
    contains failed perturbations of the root.
    """
    family = (
        (
            "Nora thanked Judith because _ had carried the heavy boxes upstairs.",
            "Judith",
            _("The original. A model that knows who thanks whom answers it correctly."),
        ),
        (
            "Nora thanked Judith although _ had carried the heavy boxes upstairs.",
            "Nora",
            _("One word is replaced, and the answer flips: now the thanks are a surprise."),
        ),
        (
            "Nora thanked Judith although _ had not carried the heavy boxes upstairs.",
            "Judith",
            _(
                "One word is inserted, and the answer flips back. The model has to follow both "
                "changes."
            ),
        ),
        (
            "Nora thanked Judith although _ had not carried the heavy sofa upstairs.",
            "Judith",
            _(
                "One object is replaced by another, and the answer stays: a model should not be "
                "misled."
            ),
        ),
    )
    good = [
        {
            "pieces": diff_text(before[0], sentence),
            "options": [(name, name == answer) for name in ("Nora", "Judith")],
            "flipped": answer != before[1],
            "why": why,
        }
        for before, (sentence, answer, why) in zip((family[0], *family), family, strict=False)
    ]
    return {"good": good, "bad": _list_bad_examples(family[0][0])}


def _list_bad_examples(root_sentence: str) -> list[dict[str, Any]]:
    failing = (
        (
            "Nora thanked Judith because _ was in a good mood.",
            _("Both options fit. Ask yourself whether anybody could choose the other one."),
        ),
        (
            "Nora paid the porter because _ had carried the heavy boxes upstairs.",
            _("Judith is no longer in the sentence, but still an option: change the option, too."),
        ),
        (
            "Nora thank Judith because _ carried heavy the boxes upstairs.",
            _("This is not correct English, so a model’s error is not informative."),
        ),
        (
            "Nora ate the soup before the bread since _ was getting cold.",
            _("This is a new sentence, not a changed one: write a twin instead."),
        ),
    )
    return [{"pieces": diff_text(root_sentence, sentence), "why": why} for sentence, why in failing]


def explain_unavailability(model: Model) -> str:
    """Return a message for users on why a model can't answer now; "" if it can."""
    alive, why = check_model(model)
    return "" if alive else why


_SIGNS = {"substitute": "{old} → {new}", "insert": "+ {new}", "delete": "− {old}"}


def make_form_context(
    position: Position,
    typed: SentenceInput,
    key: str,
    *,
    faults: dict[str, list[str]] | None = None,
    error: str = "",
) -> dict[str, Any]:
    faults = faults or {}
    steps = get_visible_steps(position.path, position.person)
    return {
        "parent": position.parent,
        "root": position.root,
        "revises": position.revises,
        **fold_steps(steps),
        "typed": typed,
        "key": key,
        **checks.make_form_context(typed.options, faults),
        "sentence_faults": faults.get("sentence", []),
        "answer_faults": faults.get("answer", []),
        "declared_faults": faults.get("declared", []),
        "error": error,
        "models": [(model, explain_unavailability(model)) for model in get_current_models()],
        **make_checks_context(position, typed, faults),
    }


def make_checks_context(
    position: Position, typed: SentenceInput, faults: dict[str, list[str]] | None = None
) -> dict[str, Any]:
    """Return the template context for the checks that are updated while the user types."""
    results = checks.mark_rejected(rules.run_checks(typed, position), faults or {})
    parent, read = position.parent, typed.without_long_texts()
    edits = find_edits(tokenize(parent.sentence), tokenize(read.sentence)) if read.sentence else ()
    seen = is_visible_to(position.person, parent)
    changed = diff_text(parent.sentence, read.sentence) if read.sentence and seen else []
    before, _blank, after = read.sentence.partition(BLANK)
    readable = read.sentence.count(BLANK) == 1 and checks.has_usable_options(read.options)
    return {
        "parent": parent,
        "typed": typed,
        "changed": changed,
        "edits": [_SIGNS[edit.op].format(old=edit.old, new=edit.new) for edit in edits],
        "depths": rules.measure_input_depths(read, position),
        "before": position.parent.answer,
        "checks": results,
        **checks.summarize(results),
        "readings": [
            (before, option, after, number == read.answer)
            for number, option in enumerate(read.options)
            if readable
        ],
        "hints": _get_hints(position, read),
    }


def _get_hints(position: Position, typed: SentenceInput) -> list[str]:
    same = typed.sentence == position.parent.sentence
    if same or settings.RULES.review == "none":
        return []
    half = Half(typed.sentence, tuple(option for option in typed.options if option))
    without = position.revises.twin_id if position.revises else None
    found = checks.find_contributor_hints(
        [half], position.person, skip_twin=without, family=position.root
    )
    if settings.RULES.review == "all":
        return [_("this site’s moderators check everything first"), *found]
    if position.person is None or position.person.anonymous:
        return [_("you are writing without an account"), *found]
    return found


POLL_MS = ((timedelta(seconds=8), 500), (timedelta(minutes=1), 2000), (timedelta(minutes=10), 5000))
"""Pairs of a request's maximum age and its page's polling interval in milliseconds."""

MAX_POLL_MS = 30_000


VOID_STATES = (State.REJECTED, State.WITHDRAWN, State.REVISED)
"""States in which a version is not counted as fooling a model, whatever the model predicts."""


def make_predictions_context(person: Person | None, version: Version) -> dict[str, Any]:
    """Return the template context for the models' predictions on a version.

    `pace` is the polling interval in milliseconds, or 0. Each shown prediction contains:

    - `target`: whether the contributor tried to fool the model
    - `waits`: whether the prediction is pending
    - `fooled`: whether the model's choice differs from the contributor's answer; None if unknown,
      and for a tie
    - `bars`: the options in order; empty until the prediction is done
    - `down`: why the model can't answer now
    - `parent`: whether the model was correct on the parent; None if unknown, or if the reader may
      not see the parent
    """
    problem, parent, before = version.problem, version.parent, dict[int, bool | None]()
    if parent and is_visible_to(person, parent):
        before = {row.model_id: row.right for row in get_current_predictions(parent)}
    shown: list[dict[str, Any]] = []
    for row in get_current_predictions(problem):
        done, waits = row.stand == Status.DONE, row.stand == Status.WAITING
        shown.append(
            {
                "prediction": row,
                "target": row.model_id == version.against_id,
                "waits": waits,
                "fooled": None if row.right is None or not done else not row.right,
                "bars": _make_option_bars(row, problem) if done else [],
                "down": explain_unavailability(row.model) if waits else "",
                "parent": before.get(row.model_id),
            }
        )
    shown.sort(key=lambda context: not context["target"])
    waiting = [context for context in shown if context["waits"]]
    pace = 0
    if waiting:
        age = timezone.now() - max(context["prediction"].asked_at for context in waiting)
        pace = next((pace for until, pace in POLL_MS if age < until), MAX_POLL_MS)
    return {
        "problem": problem,
        "shown": shown,
        "done": len(shown) - len(waiting),
        "waiting": waiting,
        "judged": [context for context in shown if context["fooled"] is not None],
        "answered": [one for one in shown if one["fooled"] is not None or one["prediction"].tie],
        "fooled": [context for context in shown if context["fooled"]],
        "undecided": [context for context in shown if context["prediction"].tie],
        "own": person is not None and problem.twin.contributor_id == person.pk,
        "void": problem.state in VOID_STATES,
        "confirmed": problem.state == State.VALID and not problem.embargo,
        "pace": pace,
    }


def _make_option_bars(row: Prediction, problem: Problem) -> list[dict[str, Any]]:
    known = len(row.scores) == len(problem.options)
    shares = [round_percent(share) for share in softmax(row.scores)] if known else None
    chosen = None if row.tie else row.choice
    return [
        {
            "option": option,
            "percent": shares[n] if shares else None,
            "chosen": n == chosen,
            "answer": n == problem.answer,
        }
        for n, option in enumerate(problem.options)
    ]


def get_perturbable_problem(person: Person | None, ref: str) -> Problem:
    found = get_object_or_404(Problem.objects.select_related("twin__contributor"), ref=ref)
    if not may_perturb(person, found):
        raise Http404
    return found


def get_own_version(person: Person | None, ref: str) -> Problem:
    rows = Problem.objects.filter(gold=False, version__parent__isnull=False)
    rows = rows.exclude(twin__contributor=None).filter(twin__contributor=person)
    return get_object_or_404(rows.select_related("twin__contributor"), ref=ref)
