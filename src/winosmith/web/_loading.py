"""What every worker needs sooner or later, loaded once before they part: they share its memory."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path


def load_all() -> None:
    """Load every view, every template, and what the association meter learns with.

    The API is loaded where somebody has a token for it: it takes half a second and 13 MB, which a
    site whose API nobody uses does not pay.
    """
    from django.db import connection
    from django.urls import get_resolver

    from winosmith import practice
    from winosmith.solve import WordAssociation  # noqa: F401 - loaded for all
    from winosmith.web.api.models import Token

    get_resolver().reverse_dict  # noqa: B018 - every view is loaded to know its address
    practice.handwritten()
    _load_templates()
    if Token.objects.exists():
        import_module("winosmith.web.api.v1.app")
    connection.close()  # a worker must not inherit one


def _load_templates() -> None:
    from django.template import engines
    from django.template.utils import get_app_template_dirs

    engine = engines["django"].engine
    for folder in map(Path, (*engine.dirs, *get_app_template_dirs("templates"))):
        if Path(__file__).parent in folder.parents:
            for path in folder.rglob("*.html"):
                engine.get_template(str(path.relative_to(folder)))
