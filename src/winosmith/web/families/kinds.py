"""Which kinds of one-token edits make models fail: in one family, and over all of them.

An edit makes a model fail that was right about the sentence before it and is wrong about the one
after it; a tie is an error for what it is not worth. Each kind stands beside all one-token edits:
what is frequent is frequent among failures.

What kind of edit made a version of its parent is told in the background, and kept in the database:
tagging a sentence takes about a millisecond, so no request waits for it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from django.db import connection
from rapidfuzz.distance import Levenshtein

from winosmith import __version__
from winosmith.metrics import Proportion, proportion
from winosmith.text import tokens
from winosmith.web._lock import writing
from winosmith.web.families.figures import Answers, worth
from winosmith.web.families.models import EditKind
from winosmith.web.families.trees import Bools, Floats, Ints, Tree
from winosmith.web.predict.models import Model
from winosmith.web.problems.models import Problem, Version

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
