"""Blanks that touch a word, and blanks in another spelling."""

import json
import re
from pathlib import Path

import pytest

from winosmith import Claim, Lineage, Problem, formats
from winosmith.errors import FormatError, ProblemError
from winosmith.formats import ReadingNote
from winosmith.lineage import depths
from winosmith.problem import Edit
from winosmith.text import separate_blank, tokenize

ROOT = "Monica was kind to Rebecca because _ had time."
GLUED = "Monica was kind to Rebecca because _had time."


@pytest.mark.parametrize(
    ("printed", "meant"),
    [
        (GLUED, ROOT),
        ("He said the_ was full.", "He said the _ was full."),
        ("the_was", "the _ was"),
        ("Он сказал, что _ушла.", "Он сказал, что _ ушла."),
        ('She said: "_had it."', 'She said: "_ had it."'),
    ],
)
def test_blank_is_separated_from_adjacent_words(printed, meant):
    assert separate_blank(printed) == meant


@pytest.mark.parametrize(
    "sentence",
    [
        "It was _'s hat.", "It was _, not he.", "Ann (_) left.", "The _-like thing.",
        "Two _s fell.", "l'_ est là", "トロフィーは_が大きい", "他把_放在", "_는 갔다",
        "قال إن ال_ كبير", "no blank", "_ and _had", "The ex-_ left.", "\u201c_\u201d fell.",
    ],
)  # fmt: skip
def test_marks_and_endings_stay_attached_to_the_blank(sentence):
    """So do words of scripts that are written without spaces."""
    assert separate_blank(sentence) == sentence


def write_files(tmp_path: Path) -> dict[str, Path]:
    """Write small files with a glued blank in four formats; return their paths."""
    own = {"id": "x", "sentence": GLUED, "options": ["Monica", "Rebecca"]}
    theirs = {"qID": "x", "sentence": GLUED, "option1": "Monica", "option2": "Rebecca"}
    made = {
        "csv": f"sentence,option1,option2,answer\n{GLUED},Monica,Rebecca,1\n",
        "evograd": "index,sentence,option1,option2,answer,distance\n"
        f"0,{ROOT},Monica,Rebecca,1,0\n1,{GLUED.replace('kind', 'mean')},Monica,Rebecca,2,1\n",
        "winogrande": json.dumps(theirs),
        "winosmith": json.dumps(own),
    }
    for name, text in made.items():
        (tmp_path / name).write_text(text)
    return {name: tmp_path / name for name in made}


@pytest.mark.parametrize("name", ["csv", "evograd", "winogrande", "winosmith"])
def test_glued_blanks_are_separated_with_a_note_in_every_format(tmp_path, name):
    with pytest.warns(ReadingNote, match=r"1 sentence has a blank that touches .*'because _had"):
        problem = formats.read(write_files(tmp_path)[name])[-1]
    assert "because Monica had time." in problem.fill(0)


def test_as_written_keeps_glued_blanks(tmp_path):
    assert formats.read(write_files(tmp_path)["csv"], as_written=True)[0].sentence == GLUED


def test_edit_next_to_an_attached_blank_is_one_edit(tmp_path):
    """In EvoGrad, a child with one changed word has edit depth 1."""
    with pytest.warns(ReadingNote):
        data = formats.read(write_files(tmp_path)["evograd"])
    assert depths(data)[1].edit == 1


def test_positions_of_edits_are_adjusted_to_separated_blanks(tmp_path):
    root = Problem("r", GLUED, ("Monica", "Rebecca"), 0)
    changed = GLUED.replace("time", "money")
    at = tokenize(GLUED).index("time")
    child = Problem(
        "c",
        changed,
        ("Monica", "Rebecca"),
        0,
        lineage=Lineage("r", "r", (Edit("substitute", at, "time", "money"),)),
    )
    formats.write([root, child], tmp_path / "family.jsonl")
    with pytest.warns(ReadingNote, match="2 sentences have a blank"):
        data = formats.read(tmp_path / "family.jsonl")
    assert data[1].lineage == Lineage("r", "r", (Edit("substitute", at + 1, "time", "money"),))
    assert depths(data)[1] == (None, 1, 1)


@pytest.mark.parametrize(
    "written", ["____", "__", "\uff3f", "\uff3f\uff3f", "[MASK]", "<mask>", "[BLANK]", "(blank)"]
)
def test_blank_in_another_spelling_is_refused_with_a_hint(tmp_path, written):
    path = tmp_path / "t.csv"
    path.write_text(f"sentence,option1,option2\nThe cup fell because {written} slid.,a,b\n")
    told = f"1 is needed: write one '_' in place of {written!r}"
    with pytest.raises(FormatError, match=re.escape(told)):
        formats.read(path)
    with pytest.raises(ProblemError, match=re.escape(told)):
        Claim("c", f"As {written} fell.", "cup")


def test_error_about_a_missing_blank_explains_questions():
    """A claim can't be a question, so its error doesn't."""
    with pytest.raises(ProblemError, match=r"1 is needed; mark a question with \"blank\": null$"):
        Problem("p", "The mask fell.", ("a", "b"))
    with pytest.raises(ProblemError, match=r"has no blanks \('_'\); 1 is needed$"):
        Claim("c", "The mask fell.", "mask")
