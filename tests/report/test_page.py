"""The page: escaped everywhere, complete in itself, the same every time."""

import re
from collections import Counter
from collections.abc import Callable
from html.parser import HTMLParser
from itertools import pairwise
from typing import Any

from hypothesis import given, strategies as st
from markupsafe import escape

from winosmith import report
from winosmith.escape import escape_page

Sections = Callable[[str], list[report.Section]]


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
        """Note one element."""
        self.elements.append((tag, *(name for name, _ in attrs)))
        for name, value in attrs:
            if name == "id":
                self.ids.append(str(value))
            if name in ("aria-labelledby", "href") and value != "data:,":
                self.labels.extend(str(value).replace("#", "").split())


def whole(text: str, sections: Sections) -> str:
    """Return a page with the same text in every slot."""
    return report.render_page(text, sections(text), subtitle=text, signature="data:0", footer=text,
                       language=text)  # fmt: skip


@given(text=st.one_of(
    st.text(min_size=1),
    st.sampled_from(["<script>alert(1)</script>", "'\"><img src=x>", "{{ 7*7 }}", "]]>", "\x00<",
                     "<!--", "</style><b>", "&lt;b&gt;", "{% raw %}", "\ud800"]),
))  # fmt: skip
def test_no_text_becomes_markup_in_any_slot(text: str, sections: Sections) -> None:
    """Whatever stands in every slot, the elements and attributes are those of a plain page."""
    html = whole(text, sections)
    assert Shape(html).elements == Shape(whole("plain", sections)).elements
    assert str(escape(escape_page(text))) in html
    html.encode("utf-8")


@given(st.one_of(st.text(), st.sampled_from(["<b>|<i>", "a|</p>", "&|\"'"])))
def test_a_signature_is_text_too(text: str) -> None:
    """A signature adds no element but the parts that it is cut into."""
    plain, hostile = (
        Counter(Shape(report.render_page("t", [], signature=s)).elements)
        for s in ("a", text or "a")
    )
    bars = text.count("|")
    assert hostile - plain == Counter({("span",): bars, ("wbr",): bars}) - Counter()


def test_a_page_is_the_same_every_time(full_page: str, sections: Sections) -> None:
    """The same input gives the same text, with no date and no address of an object in it."""
    assert whole("x", sections) == whole("x", sections)
    assert not re.search(r"0x[0-9a-f]{6,}|20\d\d-\d\d-\d\d", full_page)


def test_a_page_needs_nothing_else(full_page: str) -> None:
    """No script, no address to load from, and a policy that forbids both."""
    tags = {element[0] for element in Shape(full_page).elements}
    assert not tags & {"script", "img", "iframe", "object", "embed", "form", "base", "video"}
    assert not re.search(r'(?:src|href)="(?!#|data:,)', full_page)
    assert "url(" not in re.sub(r"url\(#[\w-]+\)", "", full_page)
    assert "default-src 'none'" in full_page
    assert len(full_page.encode()) < 500_000


def test_ids_are_unique_and_every_label_finds_one(full_page: str, sections: Sections) -> None:
    """Equal titles, and several drawings, still have ids of their own."""
    for html in (full_page, whole("Equal", sections)):
        shape = Shape(html)
        assert len(shape.ids) == len(set(shape.ids))
        assert set(shape.labels) <= set(shape.ids)


def test_headings_descend_one_at_a_time(full_page: str) -> None:
    """There is one h1, and no heading skips a level."""
    levels = [int(e[0][1]) for e in Shape(full_page).elements if re.fullmatch(r"h\d", e[0])]
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


def test_tables_have_captions_and_scopes(full_page: str) -> None:
    """Every table has a caption, and every heading cell says what it heads."""
    elements = Shape(full_page).elements
    tables = [element for element in elements if element[0] == "table"]
    assert len(tables) == [element[0] for element in elements].count("caption")
    assert all("scope" in element for element in elements if element[0] == "th")


def test_columns_of_numbers_align_right() -> None:
    """Numbers stand under each other; text, and the rows' names, stay left."""
    table = report.Table("t", ["name", "n", report.Column("share", ".0%"), "word"],
                         [[1, 2, 0.5, "a"], [3, None, 0.25, "b"]])  # fmt: skip
    assert [head.numeric for head in table.headings] == [True, True, True, False]
    html = report.render_page("t", [report.Section("s", [table])])
    assert '<td class="number">50\u00a0%</td>' in html
    assert '<th scope="row">1</th>' in html
    assert "<td>a</td>" in html


def test_marks_are_told_apart_without_colour() -> None:
    """A marked word carries a sign, "+" or "−", beside its colour."""
    parts = [report.Part("big", "toward"), report.Part(" and "), report.Part("small", "away")]
    passages = report.Passages("t", [[report.Passage(parts, ["a", "b"], 0)]])
    html = report.render_page("t", [report.Section("s", [passages])])
    assert '<mark class="toward">big<sup>+</sup></mark> and ' in html
    assert '<mark class="away">small<sup>−</sup></mark>' in html
    assert '<strong class="answer">✓ a</strong> / <span>b</span>' in html


def test_the_language_is_a_tag_or_english() -> None:
    """What is no language tag never reaches the page."""
    for given_, written in (("de", "de"), ("pt-BR", "pt-BR"), ('en" onload="x', "en"), ("", "en")):
        assert f'<html lang="{written}">' in report.render_page("t", [], language=given_)


def test_contents_are_listed_when_there_are_some() -> None:
    """A page of three sections or more begins with their list."""

    def of(count: int) -> Any:
        return report.render_page("t", [report.Section(f"S {n}", []) for n in range(count)])

    assert "<nav" not in of(2)
    assert '<a href="#s-2">S 2</a>' in of(3)
