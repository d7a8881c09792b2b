"""Template tags whose text is put together once."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("django")


def test_kept_texts_follow_the_language(site: Any) -> None:
    """A text that was kept in one language is told anew in each other one, and found again."""
    from django.template import engines
    from django.utils import translation

    source = "{% load i18n %}{% translate 'Monday' %} {% kept %}{% translate 'May' %}{% endkept %}"
    template = engines["django"].from_string(source)
    expected = {"en": "Monday May", "de": "Montag Mai", "fr": "lundi mai"}
    for language in ("en", "de", "fr", "de", "en"):
        with translation.override(language):
            assert template.render({}).casefold() == expected[language].casefold()


def test_a_stretch_is_kept_for_each_set_of_values(site: Any) -> None:
    """What stands between the tags is told once for the values of its names, and escaped."""
    from django.template import engines

    source = "{% kept one %}{{ one }} {{ other }}{% endkept %}"
    template = engines["django"].from_string(source)
    assert template.render({"one": "<a>", "other": 1}) == "&lt;a&gt; 1"
    assert template.render({"one": "<a>", "other": 2}) == "&lt;a&gt; 1"
    assert template.render({"one": "b", "other": 2}) == "b 2"


def test_what_hangs_on_more_is_told_anew(site: Any) -> None:
    """Variables in a text, arguments of an address, and names for later are as Django has them."""
    from django.template import engines

    source = (
        "{% load i18n %}{% blocktranslate %}{{ n }} of them{% endblocktranslate %} "
        "{% translate word %} {% translate 'July' as later %}{{ later }} "
        "{% url 'read:home' as home %}{{ home }} {% url 'read:problem' ref %}"
    )
    template = engines["django"].from_string(source)
    for n, word, ref in ((1, "<one>", "a"), (2, "two", "b")):
        told = template.render({"n": n, "word": word, "ref": ref})
        shown = word.replace("<", "&lt;").replace(">", "&gt;")
        assert told.startswith(f"{n} of them {shown} July / ")
        assert told.endswith(f"/{ref}/")
