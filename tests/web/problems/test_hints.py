"""Hints: what each reports, ignores and hides."""

from typing import Any

import pytest

from tests.web.making import single
from winosmith import Dataset, Problem, formats, practice
from winosmith.web.problems.checks import (
    find_contact_data,
    find_contributor_hints,
    find_flagged_words,
    find_foreign_lookalikes,
    find_full_names,
    find_invisible,
    find_moderator_hints,
    find_shouting,
    find_text_hints,
)
from winosmith.web.problems.lookalikes import Half, index_problems, index_published_dataset
from winosmith.web.problems.models import Problem as Row

pytestmark = pytest.mark.usefixtures("site")


@pytest.mark.parametrize(
    "text",
    [
        "What an idiot he is.",
        "What an IDIOT!",
        "What an іdiοt he is.",  # a Cyrillic і, a Greek ο
        "What an id\u200biot he is.",
        "What an id\u00adiot he is.",
        "What an ｉｄｉｏｔ he is.",
        "What an 𝐢𝐝𝐢𝐨𝐭 he is.",
        "idiot",
    ],
)
def test_listed_word_is_found_in_every_spelling_but_not_inside_other_words(text):
    assert find_flagged_words(text, ["idiot"]) == ["idiot"]
    for other in ("idiotic", "It was idiosyncratic.", "", "an id iot"):
        assert find_flagged_words(other, ["idiot"]) == []


def test_phrases_and_prefixes_can_be_listed():
    """A phrase matches over any whitespace; a final star matches every word with the prefix."""
    text = "The old  geezer babbled (a*b)."
    listed = ["Old Geezer", "babb*", "a*b"]
    assert find_flagged_words(text, [*listed, "*", " "]) == listed


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Write to ann.b+c@mail.example.org.", ["ann.b+c@mail.example.org"]),
        ("See https://example.org/a?b=c, please.", ["https://example.org/a?b=c"]),
        ("See www.example.org or example.com/shop.", ["www.example.org", "example.com/shop"]),
        ("Ask @ann_b about it.", ["@ann_b"]),
        ("Call +49 30 1234567 now.", ["+49 30 1234567"]),
        ("Call (212) 555-0134 or 555-0134.", ["(212) 555-0134", "555-0134"]),
        ("Call 212.555.0134.", ["212.555.0134"]),
        ("From 1990-2000 it cost 1,000,000 dollars at 10:30 on 2020-11-21.", []),
        ("He got up at 7.30 and ran 12.5 miles.", []),
        ("It ended.Then it began, e.g. in Ann's car etc. and so on.", []),
        ("They won 3-1 (2-0) against 11 players.", []),
    ],
)
def test_contact_data_is_found_but_not_dates_prices_and_scores(text, found):
    assert find_contact_data(text) == found


@pytest.mark.parametrize("many", ["x", "a-", "1"])
def test_search_for_contact_data_takes_linear_time(many):
    """A quadratic search of these texts would take hours."""
    assert find_contact_data(f"{many * 500_000} ann@example.org") == ["ann@example.org"]


@pytest.mark.parametrize(
    ("text", "options", "found"),
    [
        ("The judge praised Barack Obama because _ won.", ["judge", "man"], ["Barack Obama"]),
        ("Angela Merkel met the press and _ smiled.", ["press"], ["Angela Merkel"]),
        ("He met Jean-Luc Picard's crew.", [], ["Jean-Luc Picard"]),
        ("Ann met J. Smith.", ["Ann"], ["J. Smith"]),
        ("Robert thanked Samuel because _ was kind.", ["Robert", "Samuel"], []),
        ("Yesterday Robert met Samuel.", ["Robert", "Samuel"], []),
        ("After Ann left, Maria came. When Bob slept, Ben read.", [], []),
        ("Ann, Bob and Mr. Smith went to New York on Christmas Eve.", [], []),
        ("On Monday Morning they saw Lake Erie and Aunt Mary.", [], []),
        ('It was late. Robert slept. "Maria," Ann said.', [], []),
    ],
)
def test_full_names_are_found_but_not_first_names_titles_and_places(text, options, found):
    assert find_full_names(text, options) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("He SHOUTED VERY LOUDLY.", ["SHOUTED", "VERY", "LOUDLY"]),
        ("Really?! No!!", ["?!", "!!"]),
        ("NASA and UNICEF met the FBI in the USA.", []),
        ("He was happy!", []),
    ],
)
def test_shouting_is_found(text, found):
    assert find_shouting(text) == found


def test_invisible_and_foreign_characters_are_found():
    """Whole words in another script are allowed."""
    assert find_invisible("a\u200b\u202eb\x07\ufeff") == [
        "RIGHT-TO-LEFT OVERRIDE",
        "U+0007",
        "ZERO WIDTH NO-BREAK SPACE",
        "ZERO WIDTH SPACE",
    ]
    assert find_foreign_lookalikes("a pοt") == ["GREEK SMALL LETTER OMICRON"]
    assert find_foreign_lookalikes("Кот сидит на столе, а _ пуст.") == []
    assert find_foreign_lookalikes("café, naïve Zoë, π and Ω, “quoted” – 50 €") == []
    assert find_invisible("café — “quoted”\ttab\n") == []


def test_handwritten_twins_give_no_text_hints(db):
    for problem in practice.read_handwritten():
        assert find_text_hints([problem]) == []


def test_under_one_percent_of_winogrande_gives_text_hints(db, data_dir):
    data = formats.read(data_dir / "winogrande" / "dev.jsonl")
    assert sum(bool(find_text_hints([problem])) for problem in data) < 0.01 * len(data)


def _make_half(sentence: str) -> Any:
    return Half(sentence, ("cup", "jug"), 0)


TEXT = "The cup hit the jug on the table near the window, and because it was thin the _ broke."


def test_each_kind_of_hint_lists_at_most_three_findings(db, rules):
    """Both halves contain the same text, but each kind is reported once."""
    text = f"{TEXT} Call 555-0134, 555-0135, 555-0136 or 555-0137, you clod."
    rules(words_to_flag=("clod",))
    assert find_moderator_hints([_make_half(text), _make_half(text + " ")]) == [
        "words on this site's list: clod",
        "possible contact data: 555-0134, 555-0135, 555-0136, …",
    ]
    assert find_moderator_hints([_make_half(TEXT)]) == []


def test_full_name_as_an_option_gives_a_hint(db):
    text = "{0} met {1} and _ smiled."
    full, first = ("Ada Lovelace", "Alan Turing"), ("Ada", "Alan")
    assert find_moderator_hints([Half(text.format(*full), full, 0)]) == [
        "a possible full name of a real person: Ada Lovelace, Alan Turing"
    ]
    assert find_moderator_hints([Half(text.format(*first), first, 0)]) == []


def test_near_duplicates_give_hints_by_what_the_reader_may_see(db, ann):
    """Only moderators get the hint of an embargoed problem."""
    index_published_dataset(Dataset([Problem("w-1", TEXT, ("cup", "jug"))]), "WinoGrande")
    for ref, fields in (
        ("open", {"state": "valid"}),
        ("held", {"state": "held"}),
        ("embargoed", {"state": "valid", "embargo": True}),
    ):
        index_problems(single(ref, TEXT.replace("thin", ref), **fields))
    hidden = "shares most of its words with a problem on this site that is not public"
    known = [
        "shares 100 % of its words with w-1 in WinoGrande",
        "shares 95 % of its words with open on this site",
    ]
    assert find_contributor_hints([_make_half(TEXT), _make_half(TEXT)], ann) == [*known, hidden]
    assert find_moderator_hints([_make_half(TEXT), _make_half(TEXT)], ann) == [*known, hidden]
    Row.objects.filter(ref="held").update(state="withdrawn")
    assert find_contributor_hints([_make_half(TEXT)], ann) == known
    assert find_moderator_hints([_make_half(TEXT)], ann) == [*known, hidden]
    for told in (
        find_contributor_hints([_make_half(TEXT)], ann),
        find_moderator_hints([_make_half(TEXT)], ann),
    ):
        assert "embargoed" not in " ".join(told)


@pytest.mark.parametrize(
    "halves",
    [
        [],
        [("", (), None)],
        [("_", ("",), 5), ("\ud800", ("a", "a"), None)],
        [("_ " * 2000, ("x" * 5000, "\x00"), 1)],
    ],
    ids=["none", "nothing", "half characters", "long"],
)
def test_unfinished_input_raises_no_error(db, halves):
    assert isinstance(find_contributor_hints([Half(*half) for half in halves]), list)
    assert isinstance(find_moderator_hints([Half(*half) for half in halves]), list)
