"""What a visitor looks at in a family: which models, which depth, which version."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import Http404, HttpRequest

from winosmith.metrics import DepthKind
from winosmith.web.families.tree import DEPTHS, Tree
from winosmith.web.people.models import Person
from winosmith.web.predict.asking import current_models
from winosmith.web.predict.models import Model
from winosmith.web.problems.models import Problem
from winosmith.web.problems.public import public_problems, visible_to

__all__ = ["Look", "look_of", "place_of", "root_of"]

ALL = "all"
"""In an address: all models side by side."""


@dataclass(frozen=True, slots=True)
class Look:
    """What is looked at.

    Attributes:
        models: the current ones, in the order of `site.toml`.
        chosen: those whose answers are shown: one, or all.
        name: of the one; "all" for all, "" where there is no model.
        kind: the depth by which accuracies and first errors are shown.
        after: how many children of the version were shown already.
    """

    models: Sequence[Model]
    chosen: Sequence[Model]
    name: str
    kind: DepthKind
    after: int

    @property
    def several(self) -> bool:
        """Whether models are looked at side by side."""
        return len(self.chosen) > 1

    def query(self, **changes: str | int) -> str:
        """Return the query of an address that keeps what is looked at, but for the changes."""
        kept = {"model": self.name, "depth": self.kind} | changes
        return urlencode({key: value for key, value in kept.items() if value not in ("", 0)})


def look_of(request: HttpRequest, tree: Tree) -> Look:
    """Return what an address asks for; the first model and the tree's own depth by default.

    Raises:
        Http404: there is no such model, or depth.
    """
    models = current_models()
    name = request.GET.get("model", models[0].name if models else "")
    chosen = models if name == ALL else [model for model in models if model.name == name]
    kind = next((k for k in DEPTHS if k == request.GET.get("depth", tree.kind)), None)
    if kind is None or (name and not chosen):
        raise Http404
    return Look(models, chosen, name, kind, _number(request.GET.get("after", "")))


def root_of(ref: str, person: Person | None) -> Problem:
    """Return the problem of an address; to who may not see it, it does not exist.

    A root that is not to be seen has a page while a version of it is public: the data name it, and
    nothing but its id is told.

    Raises:
        Http404: there is none that this person may see, and no public version of it.
    """
    found = Problem.objects.select_related("twin", "version__root__twin").filter(ref=ref).first()
    if found is None or not (visible_to(person, found) or _has_public_versions(found)):
        raise Http404
    return found


def _has_public_versions(root: Problem) -> bool:
    return bool(public_problems().filter(version__root=root).exclude(pk=root.pk).exists())


def place_of(tree: Tree, ref: str) -> int:
    """Return the number of a version in a tree.

    Raises:
        Http404: the tree has none of that name: nobody has, or not this visitor.
    """
    row = Problem.objects.filter(ref=ref).values_list("pk", flat=True).first()
    if row not in tree.places:
        raise Http404
    return tree.places[row]


def _number(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 9 else 0
