"""The data card: what the data are, how they were made, what is known of their limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.template.loader import render_to_string
from django.utils import translation

from winosmith import __version__
from winosmith.web._rules import SiteRules
from winosmith.web.people.agree import current_documents
from winosmith.web.people.models import Document
from winosmith.web.read.agreement import Agreement, agreement
from winosmith.web.read.figures import Figures, figures

__all__ = ["Card", "card_markdown", "card_of"]


@dataclass(frozen=True, slots=True)
class Card:
    """What the card is made of.

    Attributes:
        figures: what is public.
        agreement: of the judges, about public problems; None where nobody judged.
        rules: the site's settings.
        documents: what contributors agree to, in the versions that hold now.
    """

    figures: Figures
    agreement: Agreement | None
    rules: SiteRules
    documents: list[Document]


def card_of() -> Card:
    """Return the card of the site as it stands."""
    return Card(figures(), agreement(), settings.RULES, current_documents())


def card_markdown(card: Card, address: str) -> str:
    """Return the card as Markdown, in the site's language whoever asks for it.

    Args:
        card: from `card_of`.
        address: of the site.
    """
    context: dict[str, Any] = {"card": card, "address": address, "version": __version__}
    with translation.override(settings.LANGUAGE_CODE):
        return render_to_string("read/card.md", context)
