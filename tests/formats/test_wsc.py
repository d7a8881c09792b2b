"""The Winograd Schema Challenge in its six files, all with the same problems."""

import json
from pathlib import Path

import pytest

from winosmith import Dataset, Problem, formats
from winosmith.errors import FormatError

XML = "wsc/WSCollection.xml"


@pytest.fixture(scope="module")
def wsc(data_dir: Path) -> Dataset:
    return formats.read(data_dir / XML)


def test_pronoun_becomes_the_blank(wsc):
    assert wsc[0] == Problem(
        id="0",
        sentence=(
            "The city councilmen refused the demonstrators a permit because _ feared violence."
        ),
        options=("The city councilmen", "The demonstrators"),
        answer=0,
        twin_id="twin-0",
        pronoun="they",
        extra=wsc[0].extra,
    )
    assert dict(wsc[0].extra) == {"wsc.quote2": "feared violence", "wsc.source": "(Winograd 1972)"}


def test_numbers_of_answers_are_as_known(wsc):
    """The XML has twelve spellings of A and B."""
    assert [wsc.answers.count(index) for index in (0, 1)] == [143, 142]
    assert [wsc[:273].answers.count(index) for index in (0, 1)] == [137, 136]


def test_remains_of_a_misdecoded_space_are_removed(wsc):
    """Schemas 283 and 284 contain an "Â" from a no-break space."""
    assert all("Â" not in problem.sentence for problem in wsc)
    assert 'from "GrWQWu8JyC" to "willow-towered Canopy' in wsc[283].sentence


def test_all_schemas_are_in_twins_except_254(wsc):
    """It is the third schema on its text. Four twins change an option."""
    assert [problem.id for problem in wsc if problem.twin_id is None] == ["254"]
    changed = [
        (first, second)
        for first, second in wsc.twins
        if set(map(str.lower, wsc[first].options)) != set(map(str.lower, wsc[second].options))
    ]
    assert changed == [(172, 173), (265, 266), (273, 274), (275, 276)]


def test_two_twins_can_share_a_text(wsc):
    """The four schemas on Madonna's trainer are two twins, one for each pronoun."""
    madonna = [problem for problem in wsc if problem.sentence.startswith("Madonna")]
    assert [(problem.pronoun, problem.twin_id) for problem in madonna] == [
        ("she", "twin-267"),
        ("she", "twin-267"),
        ("her", "twin-269"),
        ("her", "twin-269"),
    ]


def test_twins_match_the_pairs_of_abdou_et_al(data_dir, wsc):
    """Abdou et al. (2020) number the pairs. They have one group of three."""
    table = (data_dir / "perturbed_wsc/dataset/enhanced_wsc.tsv").read_text().splitlines()
    at = table[0].split("\t").index("pair_number")
    pairs: dict[str, list[int]] = {}
    for row, line in enumerate(table[1:]):
        pairs.setdefault(line.split("\t")[at], []).append(row)
    published = {tuple(rows) for rows in pairs.values()}
    assert published ^ set(wsc.twins) == {(252, 253, 254), (252, 253)}


def test_table_contains_the_same_problems(data_dir, wsc):
    """Only four sources differ: they lack a space in WSCollection.csv."""
    table = formats.read(data_dir / "wsc/WSCollection.csv")
    lost = formats.find_losses(wsc.problems, table.problems)
    assert (dict(lost.lost), dict(lost.changed), dict(lost.added)) == (
        {},
        {"extra wsc.source": 4},
        {},
    )


@pytest.mark.parametrize(
    ("name", "other_answers"),
    [("wsc273.json", 0), ("wsc-273.jsonl", 0), ("wsc273.txt", None), ("wsc273_test.tsv", 0)],
)
def test_other_files_have_the_twins_and_answers_of_the_first_273(
    data_dir, wsc, name, other_answers
):
    other = formats.read(data_dir / f"wsc/{name}")
    assert other.twins == wsc[:273].twins
    answers = [a != b for a, b in zip(other.answers, wsc[:273].answers, strict=True)]
    if other_answers is None:  # the correct option is always first in that file
        assert set(other.answers) == {0}
        right = [p.options[p.answer or 0].casefold() for p in other]
        assert right == [p.options[p.answer or 0].casefold() for p in wsc[:273]]
    else:
        assert sum(answers) == other_answers


def test_filled_in_problems_are_the_sentences_of_wsc273(data_dir):
    rows = json.loads((data_dir / "wsc/wsc273.json").read_text())
    problems = formats.read(data_dir / "wsc/wsc273.json")
    assert [row["substitution"] for row in rows] == [
        filled for problem in problems for filled in problem.fill_all()
    ]


def test_option_that_starts_with_the_other_is_complete(data_dir):
    problems = formats.read(data_dir / "wsc/wsc273.json")
    assert problems[50].options == ("Joe", "Joe's uncle")


class TestXML:
    SCHEMA = (
        "<schema><text><txt1>Ann hit Eve and</txt1><pron>{pron}</pron><txt2>fell.</txt2></text>"
        "<answers><answer>Ann</answer><answer>Eve</answer></answers>"
        "<correctAnswer>{answer}</correctAnswer></schema>"
    )

    def read(self, tmp_path: Path, body: str, prolog: str = "") -> Dataset:
        """Read a collection with this body."""
        path = tmp_path / "wsc.xml"
        path.write_text(f"{prolog}<collection>\n{body}\n</collection>", "utf-8")
        return formats.read(path, "wsc-xml")

    def test_missing_answer_is_none(self, tmp_path):
        body = self.SCHEMA.format(pron=" she ", answer=" ")
        assert self.read(tmp_path, body)[0].answer is None

    def test_blank_as_pronoun_is_an_unknown_pronoun(self, tmp_path):
        problem = self.read(tmp_path, self.SCHEMA.format(pron=" _ ", answer="A"))[0]
        assert (problem.sentence, problem.pronoun) == ("Ann hit Eve and _ fell.", None)

    @pytest.mark.parametrize(
        ("prolog", "told"),
        [
            ('<!DOCTYPE c [<!ENTITY a "x">]>\n', "declares entities, which are not allowed"),
            ('<!DOCTYPE c [<!ENTITY a SYSTEM "file:///etc/passwd">]>\n', "declares entities"),
        ],
    )
    def test_entities_are_refused(self, tmp_path, prolog, told):
        body = self.SCHEMA.format(pron=" she ", answer="A").replace("Ann hit", "&a; hit")
        with pytest.raises(FormatError, match=told):
            self.read(tmp_path, body, prolog)

    def test_schemas_before_malformed_xml_are_read(self, tmp_path):
        """The line of the fault is reported."""
        whole = self.SCHEMA.format(pron=" she ", answer="A")
        (tmp_path / "wsc.xml").write_text(f"<collection>\n{whole}\n{whole[:-20]}\n</collection>")
        contents = formats.scan(tmp_path / "wsc.xml")
        assert (len(contents.items), len(contents.bad)) == (1, 1)
        assert contents.bad[0].line == 4
        assert "nothing after it can be read" in str(contents.bad[0].reason)

    def test_declared_encoding_is_used_if_it_is_correct(self, tmp_path):
        body = self.SCHEMA.format(pron=" she ", answer="A").replace("Eve", "Zoé")
        text = f'<?xml version="1.0" encoding="ISO-8859-1"?><collection>{body}</collection>'
        (tmp_path / "wsc.xml").write_bytes(text.encode("latin-1"))
        assert formats.read(tmp_path / "wsc.xml")[0].options == ("Ann", "Zoé")


def test_a_circumflex_is_kept_in_declared_utf_8(tmp_path):
    """There, an "Â" before a space is a letter."""
    schema = TestXML.SCHEMA.format(pron="elle", answer="A").replace("Eve and", "Eve: Â bas")
    text = f'<?xml version="1.0" encoding="UTF-8"?><collection>{schema}</collection>'
    (tmp_path / "wsc.xml").write_text(text, "utf-8")
    assert formats.read(tmp_path / "wsc.xml")[0].sentence == "Ann hit Eve: Â bas _ fell."


BEFORE, AFTER = "市议会拒绝了示威者，因为", "害怕暴力。"


@pytest.mark.parametrize(
    "text",
    [
        f"<collection><schema><text><txt1>\n{BEFORE}\n</txt1><pron>他们</pron><txt2>\n{AFTER}</txt2>"
        "</text><answers><answer>市议会</answer><answer>示威者</answer></answers>"
        "<correctAnswer>A</correctAnswer></schema></collection>",
        f"txt1,pron,txt2,answer_0,answer_1,label,source\n{BEFORE},他们,{AFTER},市议会,示威者,0,\n",
        f'[{{"question_id": 0, "substitution": "{BEFORE}市议会{AFTER}", "correctness": true}}, '
        f'{{"question_id": 0, "substitution": "{BEFORE}示威者{AFTER}", "correctness": false}}]',
    ],
)
def test_blank_in_chinese_has_no_spaces_around_it(tmp_path, text):
    (tmp_path / "in").write_text(text, "utf-8")
    problem = formats.read(tmp_path / "in")[0]
    assert problem.sentence == f"{BEFORE}_{AFTER}"
    assert (problem.options, problem.answer) == (("市议会", "示威者"), 0)


def test_blank_after_a_french_elision_has_no_space_before_it(tmp_path):
    header = "txt1,pron,txt2,answer_0,answer_1,label,source\n"
    (tmp_path / "in.csv").write_text(f"{header}Paul doute qu',il,vienne.,Paul,Luc,0,\n", "utf-8")
    assert formats.read(tmp_path / "in.csv")[0].sentence == "Paul doute qu'_ vienne."
