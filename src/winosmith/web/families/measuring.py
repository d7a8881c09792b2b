"""What is measured outside of requests, and kept in the database: stability, and kinds of edits.

The figures over all families are those of `winosmith.metrics.stability`. A look at their page
starts a thread where something else would come out now; nobody waits for it. One process measures
at a time. The data are files, too: `winosmith score` gives the same figures for the problems and
the predictions that are downloaded here.

A one-token edit makes a model fail that was right about the sentence before it and is wrong about
the one after it; a tie is an error for what it is not worth. Each kind of edit stands beside all of
them, in one family and over all: what is frequent is frequent among failures. Of what kind an edit
is, is told in the background: tagging a sentence takes about a millisecond.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary
from xml.etree.ElementTree import tostring

import numpy as np
from django.db import connection
from django.db.models import Count, F, QuerySet
from django.utils import timezone
from rapidfuzz.distance import Levenshtein

from winosmith import Dataset, Prediction, __version__, formats, metrics
from winosmith.answers import best_of
from winosmith.errors import DataError, MissingExtraError
from winosmith.metrics import Graded, Proportion, Stability, proportion, stability_drawings
from winosmith.records import canonical, problem_record
from winosmith.text import tokens
from winosmith.web._background import Background
from winosmith.web._lock import writing
from winosmith.web.families.figures import Answers, worth
from winosmith.web.families.models import EditKind, Measured
from winosmith.web.families.trees import DEPTHS, Bools, Floats, Ints, Tree
from winosmith.web.predict.asking import current_models
from winosmith.web.predict.models import Model, Stand
from winosmith.web.predict.models import Prediction as Row
from winosmith.web.problems.models import Problem, Version
from winosmith.web.problems.records import as_public, lean, numbers, rows
from winosmith.web.problems.states import public_problems
from winosmith.web.read.downloads import Aside


def in_families() -> QuerySet[Problem]:
    """Return the public problems of families, the roots included."""
    return public_problems().filter(version__isnull=False).alias(place=F("id"))


def written_against() -> list[tuple[str, int]]:
    """Return against which models public versions were written, and how many, most first.

    Their contributors chose the model to fool and saw its answers, so these versions were chosen
    by them: beside others such a model seems worse than it is.
    """
    rows = in_families().filter(version__against__isnull=False).order_by()
    counts = dict(rows.values_list("version__against__name").annotate(n=Count("pk")))
    return sorted(counts.items(), key=lambda one: (-one[1], one[0]))


def answered_by(model: Model, *, families: bool = True) -> QuerySet[Problem]:
    """Return the public problems with an answer about which a model has predicted something.

    Args:
        model: any revision.
        families: those of families alone.
    """
    public = in_families() if families else public_problems().alias(place=F("id"))
    return public.filter(
        answer__isnull=False,
        predictions__model=model,
        predictions__stand=Stand.DONE,
        predictions__choice__isnull=False,
    )


def predictions_of(model: Model, problems: dict[int, str]) -> list[Prediction]:
    """Return what a model predicted about problems, given their rows and ids."""
    found = Row.objects.filter(model=model, problem__in=list(problems), stand=Stand.DONE)
    return [
        _prediction(problems[number], choice, tuple(scores))
        for number, choice, scores in found.order_by("problem").values_list(
            "problem", "choice", "scores"
        )
        if choice is not None
    ]


def _prediction(ref: str, choice: int, scores: tuple[float, ...]) -> Prediction:
    best = best_of(scores) if scores else ()
    return Prediction(ref, choice, scores, best if len(best) > 1 and choice in best else ())


def parameters(model: Model) -> dict[str, str]:
    """Return what a file of predictions tells of the model that made them."""
    return {"solver": model.solver, "revision": model.revision, "digest": model.digest}


def predictions_file(model: Model, *, families: bool = True) -> tuple[str, Aside]:
    """Return a digest of a model's file of predictions, and its bytes, to be closed.

    The file is that of `winosmith.formats.write_predictions`, written in constant memory.
    """
    query = answered_by(model, families=families)
    aside = tempfile.TemporaryFile()  # noqa: SIM115 - it is closed when it has been sent
    seen, said, count = hashlib.sha256(), hashlib.sha256(), 0
    for chunk in rows(numbers(query.order_by("place")), lean(public_problems())):
        blind = Dataset(as_public(chunk)).blind()
        known = {row.pk: row.ref for row in chunk}
        for prediction in predictions_of(model, known):
            line = f"{formats.prediction_record(prediction)}\n".encode("utf-8", "surrogatepass")
            said.update(line)
            aside.write(line)
        for problem in blind:
            seen.update(
                (canonical(problem_record(problem)) + "\n").encode("utf-8", "surrogatepass")
            )
        count += len(blind)
    header = {
        "predictions": model.name,
        "parameters": parameters(model),
        "data": seen.hexdigest(),
        "n": count,
        "version": __version__,
    }
    first = f"{canonical(header)}\n".encode()
    said.update(first)
    return said.hexdigest(), Aside(first, aside)


EVERY = 15.0
"""Seconds between two looks of a process at whether something has changed."""

PATIENCE = 0.3
"""Seconds that the first look waits for the first figures."""

SEED = 0
"""Of bootstraps and nulls: what `winosmith score` takes by itself."""


def measured(depth: str) -> Measured | None:
    """Return what was measured last; None before the first time. Starts measuring anew when due."""
    found = Measured.objects.filter(depth=depth).first()
    _AT_WORK.start_when_due()
    if found is None:
        _AT_WORK.wait(PATIENCE)
        found = Measured.objects.filter(depth=depth).first()
    return found


def look_again() -> None:
    """Start to measure, and to tell the kinds of new edits, when that is due."""
    _AT_WORK.start_when_due()


def stamp() -> str:
    """Return a digest of what the figures hang on: versions, answers, models, kinds, winosmith."""
    with connection.cursor() as cursor:
        cursor.execute(_STAMP)
        counted = [[int(value) for value in row] for row in cursor.fetchall()]
    names = [(model.pk, model.name) for model in current_models()]
    said = repr((names, sorted(counted), EditKind.objects.count(), __version__))
    return hashlib.sha256(said.encode()).hexdigest()


_STAMP = """SELECT r.model_id, count(*), sum(v.problem_id), sum(v.problem_id * v.problem_id),
    sum(CASE WHEN r."right" THEN v.problem_id ELSE 0 END),
    sum(CASE WHEN r.tie THEN v.problem_id ELSE 0 END)
    FROM perturb_version v
    JOIN problems_problem p ON p.id = v.problem_id
    JOIN predict_prediction r ON r.problem_id = v.problem_id
    WHERE p.public AND r.stand = 'done'
    GROUP BY r.model_id"""


def measure() -> bool:
    """Measure what has changed since the last time; return whether something had."""
    now = stamp()
    known = Measured.objects.filter(stamp=now).count()
    if known == len(DEPTHS):
        return False
    start = time.monotonic()
    graded = [(model, *_graded(model)) for model in current_models()]
    made = [_measured(depth, graded) for depth in DEPTHS]
    for one in made:
        one.stamp, one.made_at, one.seconds = now, timezone.now(), time.monotonic() - start
    with writing():
        Measured.objects.bulk_create(
            made,
            update_conflicts=True,
            unique_fields=["depth"],
            update_fields=["stamp", "made_at", "seconds", "answers", "drawings", "fault"],
        )
    return True


def _graded(model: Model) -> tuple[Graded | None, str]:
    """Return a model's answers beside what is right; None and why where there are none."""
    found = list(answered_by(model).order_by("place"))
    dataset = Dataset(as_public(found))
    predictions = predictions_of(model, {row.pk: row.ref for row in found})
    try:
        return metrics.grade(dataset, predictions), ""
    except DataError as error:
        return None, str(error)


def _measured(depth: Any, graded: list[tuple[Model, Graded | None, str]]) -> Measured:
    found: dict[str, Stability] = {}
    answers = []
    for model, answered, fault in graded:
        record: dict[str, Any] = {"name": model.name, "revision": model.revision, "fault": fault}
        if answered is not None:
            try:
                of = metrics.stability(answered, depth=depth, seed=SEED)
            except MissingExtraError as error:
                return Measured(depth=depth, fault=str(error))
            except DataError as error:
                record["fault"] = str(error)
            else:
                found[model.name] = of
                record["stability"] = {k: v for k, v in of.record().items() if k != "families"}
                record["families"] = len(of.families)
                record["kinds"] = kinds_over_all(model)
        answers.append(record)
    return Measured(depth=depth, answers=answers, drawings=drawings(found) if found else [])


def drawings(found: Mapping[str, Stability]) -> list[str]:
    """Return the survival curves and the accuracies by depth, as SVG for a page.

    Args:
        found: of each model by its name, all by one way of counting depths.
    """
    made = [svg for panels in stability_drawings(found) for svg in panels]
    return [without_styles(svg.inline(f"d{at}")) for at, svg in enumerate(made)]


def without_styles(markup: str) -> str:
    """Return an SVG with the properties of its styles as attributes, which the policy lets pass.

    >>> without_styles('<svg><path style="fill: none; stroke-width: 0.8" /></svg>')
    '<svg><path fill="none" stroke-width="0.8" /></svg>'
    """
    from defusedxml.ElementTree import fromstring

    root = fromstring(markup.replace(' xmlns="http://www.w3.org/2000/svg"', "", 1))
    for element in root.iter():
        for part in element.attrib.pop("style", "").split(";"):
            name, colon, value = part.partition(":")
            if colon:
                element.set(name.strip(), value.strip())
    return tostring(root, encoding="unicode")


def _work() -> None:
    measure()
    if tell_kinds():
        measure()


_AT_WORK = Background("families", EVERY, _work)


MOST = 8
"""Kinds that a page shows by themselves; the rest are one more row."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of edit, beside each model that is looked at.

    Attributes:
        name: "+NN", "−NN" or "NN → JJ", by Penn tags; "" for several kinds together.
        edits: how many edits are of that kind.
        failed: for each model, of the edits that it was right before the share that made it wrong;
            None where there is none. A tie after it counts for what it is not worth.
    """

    name: str
    edits: int
    failed: Sequence[Proportion | None]


@dataclass(frozen=True, slots=True)
class Kinds:
    """The kinds of one-token edits.

    Attributes:
        all: all of them together, the base rate.
        rows: by themselves, those with the most failures first.
        rest: what is not among the rows; None where nothing is.
        rest_kinds: how many kinds these are.
        untold: how many public versions have not been looked at yet.
    """

    all: Kind
    rows: Sequence[Kind]
    rest: Kind | None
    rest_kinds: int
    untold: int


@dataclass(frozen=True, slots=True)
class _Told:
    """What is told of a tree: the kinds by name, that of each version or -1, how many are told."""

    names: Sequence[str]
    of: Ints
    count: int


_QUERY = """SELECT v.problem_id, v.parent_id, k.kind FROM perturb_version v
    JOIN families_editkind k ON k.problem_id = v.problem_id WHERE v.root_id = %s"""
_TOLD: WeakKeyDictionary[Tree, _Told] = WeakKeyDictionary()


def kinds_in(root: Problem, tree: Tree, answers: Sequence[tuple[Model, Answers]]) -> Kinds | None:
    """Return the kinds of edits in a family; None where none is told.

    The edits are those between a public version and its public parent. Intervals know that the
    versions of one sentence go together.
    """
    told = _told(root, tree)
    public = int(tree.public[1:].sum())
    if not told.names:
        return None
    clusters = tree.parents
    sides = [_side(tree, of) for _model, of in answers]
    return _kinds(told.names, told.of, clusters, sides, public - told.count)


class _Side(NamedTuple):
    """What edits did to a model: where it was right before and answered after, how wrong, ties."""

    asked: Bools
    wrong: Floats
    tied: Bools


def _side(tree: Tree, answers: Answers) -> _Side:
    asked = answers.answered & answers.right[tree.parents]
    asked[0] = False
    return _Side(asked, 1 - answers.credit, answers.tied)


def _told(root: Problem, tree: Tree) -> _Told:
    """Return what is told of a tree; kept with it once that is all."""
    public = int(tree.public[1:].sum())
    known = _TOLD.get(tree)
    if known is not None and known.count == public:
        return known
    with connection.cursor() as cursor:
        cursor.execute(_QUERY, [root.pk])
        rows = cursor.fetchall()
    found = _TOLD[tree] = _placed(tree, rows)
    return found


def _placed(tree: Tree, rows: Sequence[tuple[int, int, str]]) -> _Told:
    of = np.full(len(tree), -1)
    if not rows:
        return _Told((), of, 0)
    numbers, parents, kinds = zip(*rows, strict=True)
    places, above = tree.places_of(np.array(numbers)), tree.places_of(np.array(parents))
    names, codes = np.unique(np.array(kinds), return_inverse=True)
    there = (places > 0) & tree.public[places]
    seen = there & (above >= 0) & tree.public[above] & (np.array(kinds) != "")
    of[places[seen]] = codes[seen]
    used = [str(names[code]) for code in np.unique(of[of >= 0])]
    renumbered = np.searchsorted(np.unique(of[of >= 0]), of)
    return _Told(used, np.where(of >= 0, renumbered, -1), int(there.sum()))


def _kinds(
    names: Sequence[str],
    of: Ints,
    clusters: Ints,
    sides: Sequence[_Side],
    untold: int = 0,
) -> Kinds:
    """Return the kinds of edits with what they did to models.

    Args:
        names: of the kinds.
        of: the kind of each edit, -1 for none.
        clusters: which edits go together.
        sides: for each model what they did to it.
        untold: how many edits are not told yet.
    """
    edited = of >= 0
    edits = np.bincount(of[edited], minlength=len(names))
    failures = np.zeros(len(names))
    for side in sides:
        here = edited & side.asked
        failures += np.bincount(of[here], side.wrong[here], minlength=len(names))
    failures = failures.round(6)  # as `counted` takes them for whole
    order = np.lexsort((np.arange(len(names)), -edits, -failures))
    shown, rest = order[:MOST], order[MOST:]

    def told(name: str, here: Bools) -> Kind:
        return Kind(name, int(here.sum()), [failed(side, here & side.asked) for side in sides])

    def failed(side: _Side, at: Bools) -> Proportion | None:
        if not at.any():
            return None
        return proportion(side.wrong[at], clusters[at], ties=int(side.tied[at].sum()))

    return Kinds(
        told("", edited),
        [told(names[code], of == code) for code in shown],
        told("", np.isin(of, rest)) if len(rest) else None,
        len(rest),
        untold,
    )


_OVER_ALL = """SELECT v.root_id, k.kind, r.tie, r."right", count(*),
    CASE WHEN r.tie THEN r.choice END, CASE WHEN r.tie THEN CAST(r.scores AS text) END,
    CASE WHEN r.tie THEN p.answer END
    FROM families_editkind k
    JOIN perturb_version v ON v.problem_id = k.problem_id
    JOIN problems_problem p ON p.id = v.problem_id
    JOIN problems_problem a ON a.id = v.parent_id
    JOIN predict_prediction r ON r.problem_id = v.problem_id
    JOIN predict_prediction b ON b.problem_id = v.parent_id AND b.model_id = r.model_id
    WHERE k.kind <> '' AND r.model_id = %s AND b."right" AND (r.tie OR r."right" IS NOT NULL)
        AND p.public AND a.public
    GROUP BY 1, 2, 3, 4, 6, 7, 8"""


def kinds_over_all(model: Model) -> list[dict[str, Any]]:
    """Return what each kind of edit did to a model, over all families, as JSON can hold it.

    The first row is that of all one-token edits (`kind` is ""). Intervals know of families.
    """
    with connection.cursor() as cursor:
        cursor.execute(_OVER_ALL, [model.pk])
        rows = sorted(
            (root, kind, 1 - _worth(tie, right, *of), bool(tie), count)
            for root, kind, tie, right, count, *of in cursor.fetchall()
        )
    if not rows:
        return []
    counts = [row[-1] for row in rows]
    roots, kinds, wrong, tied = (
        np.repeat([row[at] for row in rows], counts) for at in range(len(rows[0]) - 1)
    )
    found = [
        {
            "kind": name,
            **proportion(wrong[here], roots[here], ties=int(tied[here].sum())).record(),
        }
        for name in ["", *np.unique(kinds).tolist()]
        for here in [kinds == name if name else np.ones(len(kinds), dtype=np.bool_)]
    ]
    return [found[0], *sorted(found[1:], key=lambda one: (-one["right"], -one["n"], one["kind"]))]


def _worth(tie: bool, right: bool | None, choice: int, scores: str, answer: int) -> float:
    """Return what an answer is worth, 0–1."""
    return worth(choice, json.loads(scores), answer) if tie else float(bool(right))


CHUNK = 100
"""Versions that are told in one transaction."""


def can_tell() -> bool:
    """Tell whether the tagger is installed (`pip install 'winosmith[language]'`)."""
    return find_spec("HanTa") is not None


def kind_of(before: str, after: str) -> str:
    """Return the kind of a one-token edit by Penn tags; "" for no edit, or more than one.

    Tokens are those by which depths count. What was put in has the tag that it has in the new
    sentence, what was taken out the one that it had in the old.

    >>> kind_of("The cup hit the _ .", "The red cup hit the _ .")
    '+JJ'
    >>> kind_of("The cup hit the _ .", "The mug hit the _ .")
    'NN → NN'
    >>> kind_of("The cup hit the _ .", "The red mug hit the _ .")
    ''
    """
    old, new = tokens(before), tokens(after)
    ops = list(Levenshtein.editops(old, new))
    if len(ops) != 1:
        return ""
    gone = "" if ops[0].tag == "insert" else _tag(old, ops[0].src_pos)
    here = "" if ops[0].tag == "delete" else _tag(new, ops[0].dest_pos)
    return f"{gone} → {here}" if gone and here else f"−{gone}" if gone else f"+{here}"


def _tag(cut: Sequence[str], at: int) -> str:
    from winosmith.language import tag

    return tag(cut)[at]


def tell_kinds(rest: float = 1.0) -> int:
    """Tell the kinds of edits that have not been told by this release; return how many.

    Those of public versions alone. Nothing is told where the tagger is not installed.

    Args:
        rest: how many times as long as it works it sleeps, so that requests have the processor.
    """
    told = 0
    while can_tell() and (due := list(_due()[:CHUNK])):
        start = time.monotonic()
        made = [
            EditKind(
                problem_id=version.pk,
                kind=kind_of(version.parent.sentence, version.problem.sentence),
                by=__version__,
            )
            for version in due
            if version.parent is not None
        ]
        with writing():
            EditKind.objects.bulk_create(
                made, update_conflicts=True, unique_fields=["problem"], update_fields=["kind", "by"]
            )
        told += len(made)
        time.sleep(rest * (time.monotonic() - start))
    return told


def _due() -> Sequence[Version]:
    rows = Version.objects.filter(problem__public=True, parent__isnull=False)
    rows = rows.exclude(problem__in=EditKind.objects.filter(by=__version__).values("problem"))
    only = "problem__sentence", "parent__sentence"
    found: Sequence[Version] = rows.select_related("problem", "parent").only(*only).order_by("pk")
    return found
