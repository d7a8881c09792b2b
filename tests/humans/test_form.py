"""The HTML form of a sheet contains no answers, ids or markup from sentences."""

import re

import pytest

from tests.humans.conftest import materials
from winosmith import Dataset, Problem
from winosmith.humans import SurveyQuestion, make_instructions, make_sheets, render_form

HOSTILE = '<script>alert("x")</script> <b>bold</b> &amp; </style> {{ 7 * 7 }} שלום'


def test_form_contains_no_answers_or_ids():
    data = materials(6, 10)
    for one, blind in zip(make_sheets(data).sheets, make_sheets(data.blind()).sheets, strict=True):
        page = render_form(one)
        assert page == render_form(blind)
        assert not any(re.search(rf"\b{re.escape(i.problem_id)}\b", page) for i in one.items)


def test_markup_in_texts_and_titles_is_escaped():
    problem = Problem("1", f"{HOSTILE} so _ left.", (HOSTILE, "Sue"), pronoun="<i>he</i>")
    (sheet,) = make_sheets(Dataset([problem]), title=HOSTILE).sheets
    page = render_form(sheet, survey=(SurveyQuestion("x", HOSTILE, (HOSTILE,)),))
    assert page.count("<script>") == 1
    assert "alert(&#34;x&#34;)" in page
    assert "{{ 7 * 7 }}" in page
    assert "<b>bold" not in page


def test_main_instructions_are_bold():
    page = render_form(make_sheets(materials(2)).sheets[0])
    told, _ = page.split("<h2>An example")
    bold = re.findall("<strong>(.*?)</strong>", told)
    assert bold == ["Choose one answer.", "X", "ask what it means"]


def test_paper_has_lines_for_the_final_questions():
    told = make_instructions("pronoun", ())
    assert [(asked.split("?")[0], lines) for asked, lines in told["end"]] == [
        ("Did you recognise any of the texts", 2),
        ("Did you ask about a word", 1),
    ]


def test_form_loads_and_sends_nothing():
    page = render_form(make_sheets(materials(4)).sheets[0])
    assert not re.search(r"https?://|//[a-z]|\bsrc=|@import|url\(", page)
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)
    rules = policy[1].replace("&#39;", "'")
    assert rules.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in rules
    assert "form-action 'none'" in rules


def test_every_question_offers_its_letters_and_x():
    sheet = make_sheets(materials(3, 8)).sheets[0]
    page = render_form(sheet)
    for item in sheet.items:
        offered = re.findall(rf'name="q{item.number}" value="(\w)"', page)
        assert "".join(offered) == item.letters + "X"


def test_sheets_of_questions_do_not_mention_a_blank():
    """A question's blank is only the place of the answer after its end."""
    problems = [Problem(f"{n}", f"What is {n} plus {n}? _", ("1", f"{2 * n}")) for n in (3, 4)]
    page = render_form(make_sheets(Dataset(problems)).sheets[0])
    assert "What is 3 plus 3?" in page
    assert page.count("none, or more than one") == 3
    assert 'class="blank"' not in page
    assert "fills the blank" not in page
    assert "Nobody may explain" not in page


def test_sheets_of_questions_have_a_title_of_their_own_and_no_labels():
    """Only the instructions for schemas explain the labels of similar texts."""
    options = {"red": ("a rose", "grass"), "blue": ("the sky", "mud")}
    problems = [Problem(n, f"Which is always {n}? _", of) for n, of in options.items()]
    (sheet,) = make_sheets(Dataset(problems)).sheets
    assert (sheet.title, [item.label for item in sheet.items]) == (
        "Which option is correct?",
        [None, None],
    )
    assert make_sheets(Dataset(problems), title="Colours").sheets[0].title == "Colours"


def test_a_blank_among_questions_is_shown():
    questions = [Problem(f"{n}", f"What is {n} plus {n}? _", ("1", f"{2 * n}")) for n in (3, 4)]
    sentence = Problem("s", "The cup hit the jug, so the _ broke.", ("cup", "jug"))
    page = render_form(make_sheets(Dataset([*questions, sentence])).sheets[0])
    assert page.count('class="blank"') == 2  # in the text, and in the words around it
    assert "none, or more than one" in page


@pytest.mark.parametrize(
    ("blanks", "pronouns", "missing"), [(0, 1, False), (1, 0, True), (1, 1, False), (2, 1, True)]
)
def test_instructions_describe_most_texts(blanks, pronouns, missing):
    """Texts have either a missing word or a word in bold."""
    names = [("Ann", "Sue"), ("Tom", "his son"), ("the van", "the bus")][: blanks + pronouns]
    problems = [
        Problem(f"{at}", f"{one} met {two}, so _ left.", (one, two),
                pronoun=None if at < blanks else "she")
        for at, (one, two) in enumerate(names)
    ]  # fmt: skip
    (sheet,) = make_sheets(Dataset(problems)).sheets
    assert len(sheet) == len(names)
    page = render_form(sheet)
    assert ("one word is missing" in page) is missing
    assert ("one word is in bold" in page) is not missing
