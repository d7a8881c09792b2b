"""The contract of every format, published or our own."""

# ruff: noqa: E501 - a record is a line
import json
import re
from pathlib import Path

import pytest

from winosmith import Claim, data, formats
from winosmith.errors import FormatError

NAMES = [known.name for known in formats.FORMATS]

WSC = """<?xml version="1.0" encoding="ISO-8859-1"?>
<collection>
<schema>
<text><txt1>The cup hit the jug and</txt1> <pron> it </pron> <txt2>broke.</txt2></text>
<quote><pron>it</pron><quote2>broke</quote2></quote>
<answers><answer>the cup </answer><answer> the jug</answer></answers>
<correctAnswer> B. </correctAnswer>{counts}
<source>nobody</source>
</schema>
<schema>
<text><txt1>The cup hit the jug and</txt1> <pron> it </pron> <txt2>bounced.</txt2></text>
<quote><pron>it</pron><quote2>bounced</quote2></quote>
<answers><answer>the cup </answer><answer> the jug</answer></answers>
<correctAnswer>A  </correctAnswer>{counts}
<source>nobody</source>
</schema>
</collection>
"""

PERTURBED_COLUMNS = (
    "text_original text_voice text_tense text_number text_gender text_rel_clause text_syn "
    "text_adverb text_random_context text_scrambled text_freqnoun pair_number pron pron_gender "
    "pron_number pron_index pron_index_voice pron_index_tense pron_index_number "
    "pron_index_gender pron_index_rel pron_index_syn pron_index_adverb pron_index_context "
    "pron_index_scrambled pron_index_freqnoun answer_a answer_b answer_a_syn answer_b_syn "
    "answer_a_number answer_b_number answer_a_gender answer_b_gender correct_answer associative "
    "switchable"
).split()

TEXTS = {
    "winosmith": """{"id":"a","sentence":"The cup hit the jug and _ broke.","options":["the cup","the jug"],"answer":1}
{"id":"b","sentence":"The cup hit the jug and _ bounced.","options":["the cup","the jug"],"answer":0}
""",
    "csv": """sentence,option1,option2,answer
The cup hit the jug and _ broke.,the cup,the jug,2
The cup hit the jug and _ bounced.,the cup,the jug,1
""",
    "winogrande": """{"qID": "A-2", "sentence": "The cup hit the jug and _ broke.", "option1": "the cup", "option2": "the jug", "answer": "2"}
{"qID": "A-1", "sentence": "The cup hit the jug and _ bounced.", "option1": "the cup", "option2": "the jug", "answer": "1"}
""",
    "wsc-xml": WSC.format(counts=""),
    "pdp-xml": WSC.format(
        counts="<humanSubjects> 19 out of 19 subjects got this answer. </humanSubjects>"
    ),
    "wsc-csv": """,source,label,answer_0,answer_1,txt1,pron,txt2
0,nobody,1,the cup,the jug,The cup hit the jug and,it,broke.
1,nobody,0,the cup,the jug,The cup hit the jug and,it,bounced.
""",
    "wsc273-jsonl": """{"qID": "wsc-1", "sentence": "The cup hit the jug and _ broke.", "option1": "the cup", "option2": "the jug", "answer": "2", "ed": "1"}
{"qID": "wsc-2", "sentence": "The cup hit the jug and _ bounced.", "option1": "the cup", "option2": "the jug", "answer": "1", "ed": "1"}
""",
    "substitutions": """[{"question_id": 0, "substitution": "The cup hit the jug and the cup broke.", "correctness": false},
{"question_id": 0, "substitution": "The cup hit the jug and the jug broke.", "correctness": true},
{"question_id": 1, "substitution": "The cup hit the jug and the cup bounced.", "correctness": true},
{"question_id": 1, "substitution": "The cup hit the jug and the jug bounced.", "correctness": false}]
""",
    "superglue-wsc": """{"text": "The cup hit the jug and it broke.", "target": {"span1_text": "The cup", "span1_index": 0, "span2_text": "it", "span2_index": 6}, "idx": 0, "label": false}
{"text": "The cup hit the jug and it broke.", "target": {"span1_text": "the jug", "span1_index": 3, "span2_text": "it", "span2_index": 6}, "idx": 1, "label": true}
""",
    "superglue-copa": """{"premise": "The cup hit the jug.", "choice1": "The jug broke.", "choice2": "The jug sang.", "question": "effect", "label": 0, "idx": 0}
{"premise": "The jug broke.", "choice1": "It was blue.", "choice2": "I dropped it.", "question": "cause", "label": 1, "idx": 1}
""",
    "copa-xml": """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE copa-corpus SYSTEM "copa.dtd">
<copa-corpus version="1.0">
<item id="1" asks-for="effect" most-plausible-alternative="1">
<p>The cup hit the jug.</p><a1>The jug broke.</a1><a2>The jug sang.</a2>
</item>
<item id="2" asks-for="cause" most-plausible-alternative="2">
<p>The jug broke.</p><a1>It was blue.</a1><a2>I dropped it.</a2>
</item>
</copa-corpus>
""",
    "dpr": """The cup hit the jug and it broke.
it
the cup,the jug
the jug

The cup hit the jug and it bounced.
it
the cup,the jug
the cup
""",
    "dpr-tsv": """index\tsentence1\tsentence2\tlabel\tcandidate0\tcandidate1
0\tThe cup hit the jug and the cup\t broke.\t0\tthe cup\tthe jug
0\tThe cup hit the jug and the jug\t broke.\t1\tthe cup\tthe jug
1\tThe cup hit the jug and the cup\t bounced.\t1\tthe cup\tthe jug
1\tThe cup hit the jug and the jug\t bounced.\t0\tthe cup\tthe jug
""",
    "knowref": """[
{"sentence_with_pronoun": "Ann hit Eve and [she] fell .", "candidate0": ["Ann"], "candidate1": ["Eve"], "correct_candidate": ["Eve"], "correct_candidate_idx": 0},
{"sentence_with_pronoun": "Ann hit Eve and [she] ran .", "candidate0": ["Ann"], "candidate1": ["Eve"], "correct_candidate": ["Ann"], "correct_candidate_idx": 0}
]
""",
    "winogender": """sentid\tsentence
nurse.patient.1.male.txt\tThe nurse told the patient that he should rest.
nurse.patient.0.male.txt\tThe nurse told the patient that he was on call.
""",
    "winogender-templates": """occupation(0)\tother-participant(1)\tanswer\tsentence
nurse\tpatient\t1\tThe $OCCUPATION told the $PARTICIPANT that $NOM_PRONOUN should rest.
nurse\tpatient\t0\tThe $OCCUPATION told the $PARTICIPANT that $NOM_PRONOUN was on call.
""",
    "perturbed-wsc": "\n".join(
        "\t".join(cells)
        for cells in (
            PERTURBED_COLUMNS,
            *(
                [
                    {
                        "text_original": f"The cup hit the jug and it {verb} .",
                        "pron": "it",
                        "pron_index": "6",
                        "answer_a": "the cup",
                        "answer_b": "the jug",
                        "correct_answer": answer,
                    }.get(column, "-")
                    for column in PERTURBED_COLUMNS
                ]
                for verb, answer in (("broke", "B"), ("bounced", "A "))
            ),
            "",
        )
    ),
    "perturbed-wsc-jsonl": """{"sentence": "the cup hit the jug and _ broke .", "option1": "the cup", "option2": "the jug", "answer": "2", "pair_number": 0, "qID": "q10", "associative": 0, "switchable": 0}
{"sentence": "the cup hit the jug and _ bounced .", "option1": "the cup", "option2": "the jug", "answer": "1", "pair_number": 0, "qID": "q11", "associative": 0, "switchable": 0}
""",
    "evograd": """index,sentence,option1,option2,answer,distance
0,The cup hit the jug and _ broke.,the cup,the jug,2,0
1,The cup hit the jug and _ bounced.,the cup,the jug,1,1
""",
    "questions": """{"question": "What broke as the cup hit the jug?", "choices": ["the cup", "the jug"], "answer": 1}
{"question": "What bounced as the cup hit the jug?", "choices": ["the cup", "the jug"], "answer": 0}
""",
}  # fmt: skip
"""A small file in each format: two records, whose answers are 1 and 0."""

BROKEN = {
    "winosmith": ("and _ bounced", "and bounced", 2, "the sentence has no blanks ('_')"),
    "csv": ("the jug,1", "the jug,3", 3, "the answer is '3'; with 2 options it must be a number"),
    "winogrande": ('"option2": "the jug", "answer": "1"', '"answer": "1"', 2, "no 'option2'"),
    "wsc-xml": ("<correctAnswer>A  <", "<correctAnswer>C<", 10, "the answer is 'C'; with 2 option"),
    "pdp-xml": ("<pron> it </pron> <txt2>bounced", "<txt2>bounced", 10, "the record has no <pron>"),
    "wsc-csv": ("1,nobody,0", "1,nobody,7", 3, "the label is '7'; it must be 0 or 1"),
    "wsc273-jsonl": ('"option1": "the cup", "option2": "the jug", "answer": "1"', '"option1": ["cup"]', 2, "must be text"),
    "substitutions": (
        'bounced.", "correctness": true',
        'bounced.", "correctness": false',
        3,
        "no option is marked as correct",
    ),
    "superglue-wsc": (
        '"span1_text": "the jug", "span1_index": 3, "span2_text": "it"',
        '"span1_text": "the jug", "span1_index": 3, "span2_text": "she"',
        2,
        "the pronoun 'she' is not in the text",
    ),
    "superglue-copa": ('"cause"', '"reason"', 2, "the question is 'reason'; it must be 'cause'"),
    "copa-xml": ("<a1>It was blue.</a1>", "", 7, "the record has no <a1>"),
    "dpr": (
        "the cup,the jug\nthe cup\n",
        "the cup,the jug\nthe mug\n",
        6,
        "the answer 'the mug' is not one of the options ['the cup', 'the jug']",
    ),
    "dpr-tsv": ("bounced.\t1", "bounced.\t0", 4, "the labels are ['0', '0']; one must be 1"),
    "knowref": ("[she] ran", "[she] saw [her]", 3, "2 pronouns in brackets; 1 is required"),
    "winogender": ("he was on call", "she was on call", 3, "0 male pronouns"),
    "winogender-templates": ("patient\t0", "patient\t5", 3, "form occupation.participant"),
    "perturbed-wsc": ("and it bounced", "and she bounced", 3, "the text has no pronoun 'it'"),
    "perturbed-wsc-jsonl": ('"q11"', '"wsc11"', 2, "the qID 'wsc11' must be 'q', a digit"),
    "evograd": ("the jug,1,1", "the jug,1,far", 3, "the distance is 'far'; it must be a whole"),
    "questions": (', "the jug"], "answer": 0', '], "answer": 0', 2, "the number of options is 1; it must be 2 to 26"),
}  # fmt: skip
"""Damage to the second record: old text, new text, line, and part of the error message."""


def write_file(folder: Path, text: str, **settings: str) -> Path:
    """Return a new file with this text, byte by byte."""
    path = folder / "file"
    path.write_bytes(text.encode(**settings))
    return path


@pytest.mark.parametrize("name", NAMES)
class TestEveryFormat:
    """Reads a small file in each format, intact and damaged."""

    def test_file_is_recognised_only_by_its_own_format(self, tmp_path, name):
        """Only `questions`, which is tried last, may recognise it, too."""
        rows = data.read(write_file(tmp_path, TEXTS[name]))
        found = [known.name for known in formats.FORMATS if known.recognises(rows)]
        assert found in ([name], [name, "questions"])

    def test_both_records_are_read_with_their_answers(self, tmp_path, name):
        items = formats.read_items(write_file(tmp_path, TEXTS[name]))
        copies = 6 if name == "winogender-templates" else 1
        assert len(items) == 2 * copies
        first, second = items[0], items[copies]
        if isinstance(first, Claim) and isinstance(second, Claim):
            assert (first.holds, second.holds) == (False, True)
            assert (first.pronoun, second.candidate) == ("it", "the jug")
        elif name in ("superglue-copa", "copa-xml"):
            assert first.fill(0) == "The cup hit the jug so the jug broke."
            assert second.fill(1) == "The jug broke because I dropped it."
            assert (first.answer, second.answer) == (0, 1)
        else:
            assert (first.answer, second.answer) == (1, 0)

    @pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
    def test_newlines_and_byte_order_marks_do_not_matter(self, tmp_path, name, encoding):
        """The changed file has no newline at its end, either."""
        plain = formats.read_items(write_file(tmp_path, TEXTS[name]))
        changed = TEXTS[name].rstrip("\n").replace("\n", "\r\n")
        path = write_file(tmp_path, changed, encoding=encoding)
        assert formats.read_items(path) == plain

    def test_unicode_separators_do_not_end_a_record(self, tmp_path, name):
        """U+2028 and U+0085 are part of the text."""
        text = re.sub(r"hit the|told the (?!\$)", "hit\u2028the\u0085other ", TEXTS[name])
        assert len(formats.read_items(write_file(tmp_path, text), name)) == len(
            formats.read_items(write_file(tmp_path, TEXTS[name]))
        )

    def test_malformed_record_is_refused_or_written_to_the_skip_bad_file(self, tmp_path, name):
        """The error has the file, the line and the reason; the file also has the record."""
        old, new, line, reason = BROKEN[name]
        assert old in TEXTS[name]
        path = write_file(tmp_path, TEXTS[name].replace(old, new, 1))
        with pytest.raises(FormatError, match=re.escape(reason)) as caught:
            formats.read_items(path, name)
        assert str(caught.value).startswith(f"{path}:{line}: ")
        items = formats.read_items(path, name, skip_bad=tmp_path / "bad")
        aside = [json.loads(text) for text in (tmp_path / "bad").read_text().splitlines()]
        copies = 6 if name == "winogender-templates" else 1
        assert (len(items), len(aside)) == (copies, copies)
        assert aside[0]["line"] == line
        assert reason in aside[0]["reason"]
        assert new.strip() in aside[0]["record"]

    def test_truncated_file_is_refused_or_gives_other_records(self, tmp_path, name):
        whole = formats.read_items(write_file(tmp_path, TEXTS[name]))
        path = write_file(tmp_path, TEXTS[name][:-20])
        try:
            items = formats.read_items(path, name)
        except FormatError:
            return
        assert items != whole
        assert items[:-1] == whole[: len(items) - 1]

    def test_files_in_other_formats_are_refused(self, tmp_path, name):
        for other in NAMES:
            same = (
                {"wsc-xml", "pdp-xml"}, {"csv", "winogrande"}, {"csv", "questions"},
                {"winosmith", "questions"},
            )  # fmt: skip
            if any({name, other} <= names for names in same) or "jsonl" in name + other:
                continue
            path = write_file(tmp_path, TEXTS[other])
            if other != name and other not in ("evograd", "winogrande"):
                with pytest.raises(FormatError):
                    formats.read_items(path, name)

    @pytest.mark.parametrize(
        ("raw", "told"),
        [
            (b"", "the file is empty"),
            (b" \n\t\n", "the file is empty"),
            (
                b"caf\xe9 is\n",
                "probably in Latin-1 or Windows-1252 (cp1252), which reads 'café is' here (or ",
            ),
            (b"ok\nok\n\x93ok\x94", ":3: the file is not UTF-8, but probably in Windows-1252"),
            (b"caf\xe9 is\x81\n", ":1: the text is not UTF-8, and its encoding is unknown"),
            (
                "a".encode("utf-16-le") * 2,
                "the file is not UTF-8, but in UTF-16LE; name its encoding with `encoding='utf-16le'`",
            ),
            (
                "a".encode("utf-32-le") * 2,
                "the file is not UTF-8, but in UTF-32LE; name its encoding with `encoding='utf-32le'`",
            ),
            ("ok\n日".encode("iso-2022-jp"), "but in ISO-2022-JP; name its encoding with"),
            ("ok\n가".encode("iso-2022-kr"), "but in ISO-2022-KR; name its encoding with"),
        ],
    )
    def test_empty_files_and_unknown_encodings_are_refused(self, tmp_path, name, raw, told):
        """The message has the detected encoding and the option to name it."""
        (tmp_path / "file").write_bytes(raw)
        with pytest.raises(FormatError, match=re.escape(told)):
            formats.read_items(tmp_path / "file", name)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("sentence,option1,answer\nA _ b.,x,1\n", "'csv', but the file lacks the column 'option2'"),
        ("Sentence,Option1,option2\n", "the columns 'option1' (there is 'Option1'), 'sentence' ("),
        ('{"sentence": "A b.", "options": ["x", "y"]}', "'winosmith', but the file lacks the key"),
        ('{"sentence": "A _ b.", "option1": "x"}', "'winogrande', but the file lacks the key 'op"),
        ('{"premise": "A.", "choice1": "B."}', "'superglue-copa', but the file lacks the key 'ch"),
        ('[{"question_id": 1}]', "'substitutions', but the file lacks the key 'substitution'"),
        ("sentid\tsentences\n1\tb\n", "'winogender', but the file lacks the column 'sentence'"),
    ],
)
def test_unrecognised_file_is_reported_with_the_nearest_format(tmp_path, text, told):
    """The message states what the file lacks for it."""
    with pytest.raises(FormatError) as caught:
        formats.read(write_file(tmp_path, text))
    assert "no known format fits its content; the nearest is " in str(caught.value)
    assert told in str(caught.value)
    assert "name one with `format_name=`" in str(caught.value)


def test_file_unlike_all_formats_is_reported_without_a_nearest_one(tmp_path):
    with pytest.raises(FormatError, match=r"file:1: no question column .*; no known format fits"):
        formats.read(write_file(tmp_path, "a,b\n1,2\n"))


def test_every_format_has_test_data():
    assert set(TEXTS) == set(BROKEN) == set(NAMES)


def test_every_format_is_in_the_reference_docs():
    page = (Path(__file__).parents[2] / "docs/reference/formats.md").read_text("utf-8")
    for name in NAMES:
        assert page.count(f"| `{name}` |") == 1, name
        assert len(re.findall(rf"^### .*`{name}`", page, re.MULTILINE)) == 1, name


def test_unknown_format_is_reported_with_the_known_ones(tmp_path):
    with pytest.raises(FormatError, match=r"no format 'excel'; the formats are copa-xml, csv"):
        formats.read(write_file(tmp_path, TEXTS["csv"]), "excel")


def test_writing_a_read_only_format_is_refused(tmp_path):
    items = formats.read_items(write_file(tmp_path, TEXTS["csv"]))
    with pytest.raises(FormatError) as caught:
        formats.write(items, tmp_path / "out", "wsc-xml")
    assert str(caught.value) == (
        "the format 'wsc-xml' is read-only; formats that can be written: winosmith, csv, winogrande, "
        "superglue-wsc, questions"
    )
    assert not (tmp_path / "out").exists()
