"""The report's page: escaped, self-contained, deterministic and accessible."""

import re
from collections import Counter
from html.parser import HTMLParser
from itertools import pairwise
from typing import Any

from hypothesis import given, strategies as st
from markupsafe import escape

from tests.report.conftest import sections_of
from winosmith import report
from winosmith.escape import escape_page


class Shape(HTMLParser):
    """The elements of a page, and the names of their attributes, in order."""

    def __init__(self, html: str):
        super().__init__()
        self.elements: list[tuple[str, ...]] = []
        self.ids: list[str] = []
        self.labels: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Record an element."""
        self.elements.append((tag, *(name for name, _ in attrs)))
        for name, value in attrs:
            if name == "id":
                self.ids.append(str(value))
            if name in ("aria-labelledby", "href") and value != "data:,":
                self.labels.extend(str(value).replace("#", "").split())


def whole(text: str) -> str:
    """Return a page with the same text in every slot."""
    rest = {"subtitle": text, "footer": text, "language": text}
    return report.render_page(text, sections_of(text), signature="data:0", **rest)


@given(text=st.one_of(
    st.text(min_size=1),
    st.sampled_from(["<script>alert(1)</script>", "'\"><img src=x>", "{{ 7*7 }}", "]]>", "\x00<",
                     "<!--", "</style><b>", "&lt;b&gt;", "{% raw %}", "\ud800"]),
))  # fmt: skip
def test_text_never_becomes_markup(text):
    html = whole(text)
    assert Shape(html).elements == Shape(whole("plain")).elements
    assert str(escape(escape_page(text))) in html
    html.encode("utf-8")


@given(st.one_of(st.text(), st.sampled_from(["<b>|<i>", "a|</p>", "&|\"'"])))
def test_signatures_are_escaped(text):
    """They add only elements for their parts."""
    plain, hostile = (
        Counter(Shape(report.render_page("t", [], signature=s)).elements)
        for s in ("a", text or "a")
    )
    bars = text.count("|")
    assert hostile - plain == Counter({("span",): bars, ("wbr",): bars}) - Counter()


def test_pages_are_deterministic(full_page):
    """They have no date and no memory address."""
    assert whole("x") == whole("x")
    assert not re.search(r"0x[0-9a-f]{6,}|20\d\d-\d\d-\d\d", full_page)


def test_page_is_self_contained_and_has_no_script(full_page):
    """Its policy forbids scripts and requests."""
    tags = {element[0] for element in Shape(full_page).elements}
    assert not tags & {"script", "img", "iframe", "object", "embed", "form", "base", "video"}
    assert not re.search(r'(?:src|href)="(?!#|data:,)', full_page)
    assert "url(" not in re.sub(r"url\(#[\w-]+\)", "", full_page)
    assert "default-src 'none'" in full_page
    assert len(full_page.encode()) < 500_000


def test_ids_are_unique_and_labels_refer_to_them(full_page):
    """Even if titles are equal."""
    for html in (full_page, whole("Equal")):
        shape = Shape(html)
        assert len(shape.ids) == len(set(shape.ids))
        assert set(shape.labels) <= set(shape.ids)


def test_headings_skip_no_level(full_page):
    levels = [int(e[0][1]) for e in Shape(full_page).elements if re.fullmatch(r"h\d", e[0])]
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


def test_tables_have_captions_and_scopes(full_page):
    elements = Shape(full_page).elements
    tables = [element for element in elements if element[0] == "table"]
    assert len(tables) == [element[0] for element in elements].count("caption")
    assert all("scope" in element for element in elements if element[0] == "th")


def test_number_columns_are_right_aligned():
    table = report.Table("t", ["name", "n", report.Column("share", ".0%"), "word"],
                         [[1, 2, 0.5, "a"], [3, None, 0.25, "b"]])  # fmt: skip
    assert [head.numeric for head in table.headings] == [True, True, True, False]
    html = report.render_page("t", [report.Section("s", [table])])
    assert '<td class="number">50\u00a0%</td>' in html
    assert '<th scope="row">1</th>' in html
    assert "<td>a</td>" in html


def test_marks_have_a_sign_as_well_as_a_colour():
    parts = [report.Part("big", "toward"), report.Part(" and "), report.Part("small", "away")]
    passages = report.Passages("t", [[report.Passage(parts, ["a", "b"], 0)]])
    html = report.render_page("t", [report.Section("s", [passages])])
    assert '<mark class="toward">big<sup>+</sup></mark> and ' in html
    assert '<mark class="away">small<sup>−</sup></mark>' in html
    assert '<strong class="answer">✓ a</strong> / <span>b</span>' in html


def test_invalid_language_tags_become_english():
    for given_, written in (("de", "de"), ("pt-BR", "pt-BR"), ('en" onload="x', "en"), ("", "en")):
        assert f'<html lang="{written}">' in report.render_page("t", [], language=given_)


def test_pages_of_three_sections_have_contents():
    def of(count: int) -> Any:
        return report.render_page("t", [report.Section(f"S {n}", []) for n in range(count)])

    assert "<nav" not in of(2)
    assert '<a href="#s-2">S 2</a>' in of(3)
