"""Layouts in which multiple-choice sets are published or kept: read, or refused with a remedy."""

import gzip
import io
import json
import re
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.conftest import installed, needed
from winosmith import Problem, formats
from winosmith.errors import FormatError
from winosmith.formats import Columns

TEXTS = (
    ("red", "blue", "green", "gray"),
    ("one", "two", "three", "four"),
    ("cat", "dog", "cow", "hen"),
    ("up", "down", "left", "right"),
)
"""The choices of four items; the answer of item n is choice n."""


def jsonl(rows: Sequence[Any]) -> bytes:
    """Return rows as JSON Lines."""
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def four(row: Callable[[int, list[str], str], dict[str, Any]]) -> bytes:
    """Return JSON Lines of four items, each made from its number, choices and letter."""
    return jsonl([row(at, list(TEXTS[at]), "ABCD"[at]) for at in range(4)])


def table(header: str, row: Callable[[int, tuple[str, ...], str], str], end: str = "\n") -> bytes:
    """Return a table of four items."""
    return (end.join([header, *(row(at, TEXTS[at], "ABCD"[at]) for at in range(4))]) + end).encode()


def zipped(raw: bytes, name: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, raw)
    return file.getvalue()


PLAIN = four(lambda at, texts, sign: {"question": "Why?", "choices": texts, "answer": sign})
ROWS = [json.loads(line) for line in PLAIN.splitlines()]

READ = {
    "ARC": four(lambda at, texts, sign: {
        "id": f"M{at}", "question": "Why?", "answerKey": str(at + 1) if at == 2 else sign,
        "choices": {"text": texts, "label": list("1234" if at == 2 else "ABCD")}}),
    "CommonsenseQA": four(lambda at, texts, sign: {"answerKey": sign, "id": f"M{at}", "question": {
        "stem": "Why?", "question_concept": "x",
        "choices": [{"label": f, "text": t} for f, t in zip("ABCD", texts, strict=True)]}}),
    "HellaSwag": four(lambda at, texts, sign: {
        "ind": at, "ctx_a": "Wh", "ctx_b": "y?", "ctx": "Why?", "endings": texts,
        "label": str(at), "source_id": "x"}),
    "GSM-MC": four(lambda at, texts, sign: {
        "Question": "Why?", **dict(zip("ABCD", texts, strict=True)), "Answer": sign}),
    "SIQA's numbers": four(lambda at, texts, sign: {
        "question": "Why?", **{f"answer{f}": t for f, t in zip("ABCD", texts, strict=True)},
        "label": str(at + 1)}),
    "BBQ": four(lambda at, texts, sign: {
        "example_id": 1, "question": "Why?", **{f"ans{n}": t for n, t in enumerate(texts)},
        "label": at}),
    "alternatives": four(lambda at, texts, sign: {
        "Stem": "Why?", **{f"Alt {n}": t for n, t in enumerate(texts, 1)}, "Key": sign}),
    "AQuA-RAT": four(lambda at, texts, sign: {
        "question": "Why?", "options": [f"{f}){t}" for f, t in zip("ABCD", texts, strict=True)],
        "rationale": "x", "correct": sign}),
    "AGIEval": four(lambda at, texts, sign: {
        "passage": None, "question": "Why?", "label": sign, "answer": None,
        "options": [f"({f}){t}" for f, t in zip("ABCD", texts, strict=True)]}),
    "MathQA": four(lambda at, texts, sign: {
        "Problem": "Why?", "correct": sign.lower(),
        "options": " , ".join(f"{f} ) {t}" for f, t in zip("abcd", texts, strict=True))}),
    "one text": four(lambda at, texts, sign: {
        "question": "Why?", "answer": sign,
        "options": "\n".join(f"{f}. {t}" for f, t in zip("ABCD", texts, strict=True))}),
    "MedQA": four(lambda at, texts, sign: {
        "question": "Why?", "answer": texts[at], "answer_idx": sign,
        "options": dict(zip("ABCD", texts, strict=True))}),
    "DREAM": four(lambda at, texts, sign: {
        "dialogue": ["Why?"], "question": "", "choice": texts, "answer": texts[at]}),
    "HEAD-QA": four(lambda at, texts, sign: {
        "qid": at, "qtext": "Why?", "ra": at + 1,
        "answers": [{"aid": n, "atext": t} for n, t in enumerate(texts, 1)]}),
    "zeros and a one": four(lambda at, texts, sign: {
        "question": "Why?", "choices": texts, "answer": [int(n == at) for n in range(4)]}),
    "flags": four(lambda at, texts, sign: {
        "question": "Why?", "choices": [{"text": t, "is_correct": n == at}
                                        for n, t in enumerate(texts)]}),
    "TruthfulQA": four(lambda at, texts, sign: {
        "question": "Why?", "mc2_targets": {"choices": texts, "labels": [1, 1, 0, 0]},
        "mc1_targets": {"choices": texts, "labels": [int(n == at) for n in range(4)]}}),
    "BIG-bench": four(lambda at, texts, sign: {
        "input": "Why?", "target_scores": {t: int(n == at) for n, t in enumerate(texts)}}),
    "a text with spaces": four(lambda at, texts, sign: {
        "question": "Why?", "choices": texts, "answer": f" {texts[at]}  "}),
    "a text in capitals": four(lambda at, texts, sign: {
        "question": "Why?", "choices": texts, "answer": texts[at].upper()}),
    "choices with letters in another order": four(lambda at, texts, sign: {
        "question": "Why?", "answer": sign,
        "choices": [f"{one}. {texts['ABCD'.index(one)]}"
                    for one in ("DACB", "ACDB", "BDAC", "ADCB")[at]]}),
    "a letter and the text": four(lambda at, texts, sign: {
        "question": "Why?", "choices": texts, "answer": f"{sign}) {texts[at]}"}),
    "line ends of Windows": PLAIN.replace(b"\n", b"\r\n"),
    "empty lines": PLAIN.replace(b"\n", b"\n\n \n"),
    "numpy's list": table("question,choices,answer", lambda at, texts, sign:
        f'Why?,"[{" ".join(map(repr, texts))}]",{at}'),
    "pandas' arrays": table("question,choices,answerKey", lambda at, texts, sign:
        f"Why?,\"{{'text': array({list(texts)}, dtype=object), "
        f"'label': array(['A', 'B', 'C', 'D'], dtype=object)}}\",{sign}"),
    "columns that were emptied": table("question,A,B,C,D,answer,,", lambda at, texts, sign:
        f"Why?,{','.join(texts)},{sign},,"),
    "semicolons": table("question;A;B;C;D;answer", lambda at, texts, sign:
        f"Why?;{';'.join(texts)};{sign}", end="\r\n"),
    "BigBio's MedQA": four(lambda at, texts, sign: {
        "question": "Why?", "answer": texts[at], "answer_idx": sign, "meta_info": "step1",
        "options": [{"key": f, "value": t} for f, t in zip("ABCD", texts, strict=True)]}),
    "SWAG": table("video-id,startphrase,sent1,sent2,gold-source,ending0,ending1,ending2,ending3,"
        "label", lambda at, texts, sign: f"v,Why?,Why?,,gold,{','.join(texts)},{at}"),
    "a list of one beside columns": four(lambda at, texts, sign: {
        "question": "Why?", "answers": [sign],
        **{f"option_{f}": t for f, t in zip("abcd", texts, strict=True)}}),
    "boxed": four(lambda at, texts, sign: {
        "question": "Why?", "choices": texts, "answer": f"$\\boxed{{{sign}}}$"}),
    "Markdown": four(lambda at, texts, sign: {
        "question": "Why?", "choices": texts, "answer": f"**{sign}**"}),
    "pandas' whole numbers": table("question,choice_0,choice_1,choice_2,choice_3,label",
        lambda at, texts, sign: f"Why?,{','.join(texts)},{at}.0"),
    "German headings": table("Nr.;Frage;Antwort 1;Antwort 2;Antwort 3;Antwort 4;Richtige Antwort",
        lambda at, texts, sign: f"{at + 1};Why?;{';'.join(texts)};{at + 1}"),
    "French headings": table("N°,Énoncé,Réponse A,Réponse B,Réponse C,Réponse D,Bonne réponse",
        lambda at, texts, sign: f"{at + 1},Why?,{','.join(texts)},{sign}"),
    "Belebele": four(lambda at, texts, sign: {
        "question_number": 1, "question": "Why?", "correct_answer_num": str(at + 1),
        **{f"mc_answer{n}": t for n, t in enumerate(texts, 1)}}),
    "QuAIL": four(lambda at, texts, sign: {
        "id": f"f_{at}", "question_id": str(at), "metadata": {"author": "x"}, "question": "Why?",
        "question_type": "x", "answers": texts, "correct_answer_id": at}),
    "M3Exam": four(lambda at, texts, sign: {
        "question_text": "Why?", "background_description": [], "answer_text": str(at + 1),
        "options": [f"({n}) {t}" for n, t in enumerate(texts, 1)]}),
    "A-OKVQA": four(lambda at, texts, sign: {
        "question": "Why?", "choices": texts, "correct_choice_idx": at,
        "direct_answers": ["x", "y"]}),
    "CyberMetric": four(lambda at, texts, sign: {
        "question": "Why?", "answers": dict(zip("ABCD", texts, strict=True)), "solution": sign}),
    "CMB": four(lambda at, texts, sign: {
        "exam_type": "x", "question": "Why?", "answer": sign, "question_type": "x",
        "option": {**dict(zip("ABCD", texts, strict=True)), "E": "", "F": ""}}),
    "JEC-QA": four(lambda at, texts, sign: {
        "answer": [sign], "id": f"1_{at}", "statement": "Why?",
        "option_list": dict(zip("ABCD", texts, strict=True))}),
    "TeleQnA": four(lambda at, texts, sign: {
        "question": "Why?", **{f"option {n}": t for n, t in enumerate(texts, 1)},
        "answer": f"option {at + 1}: {texts[at]}", "explanation": "x"}),
    "CaseHOLD": four(lambda at, texts, sign: {"context": "Why?", "endings": texts, "label": at}),
    "LogiQA": four(lambda at, texts, sign: {
        "id": at, "answer": at, "text": "Why?", "question": "", "options": texts}),
    "a text that holds all": four(lambda at, texts, sign: {
        "text": f"Why?\n{texts}\nAnswer: {sign}", "question": "Why?", "choices": texts,
        "answer": sign}),
    "outputs": four(lambda at, texts, sign: {
        "input": "Why?", **{f"output_{n}": t for n, t in enumerate(texts, 1)}, "label": at + 1}),
    "columns with brackets": table("Frage-Nr.;Fragetext;a);b);c);d);Lösung",
        lambda at, texts, sign: f"{at + 1};Why?;{';'.join(texts)};{sign.lower()}"),
    "BIG-Bench Hard": four(lambda at, texts, sign: {
        "input": "Why?\nOptions:\n" + "\n".join(f"({f}) {t}" for f, t in zip("ABCD", texts,
                                                                              strict=True)),
        "target": f"({sign})"}),
    "choices in a line": table("questionID,AnswerKey,question", lambda at, texts, sign:
        f"M{at},{sign},Why? " + " ".join(f"({f}) {t}" for f, t in zip("ABCD", texts, strict=True))),
    "a prompt": four(lambda at, texts, sign: {
        "prompt": "Why?\n" + "\n".join(f"{f}. {t}" for f, t in zip("ABCD", texts, strict=True))
        + "\nAnswer:", "answer": sign}),
    "signs in circles": four(lambda at, texts, sign: {
        "question": "Why?", "answer": "①②③④"[at],
        "choices": [f"{f} {t}" for f, t in zip("①②③④", texts, strict=True)]}),
    "an answer in a circle": four(lambda at, texts, sign: {
        "question": "Why?", "choices": texts, "answer": "①②③④"[at]}),
    "wide signs": four(lambda at, texts, sign: {
        "question": "Why?", "answer": chr(ord(sign) + 0xFEE0),
        "choices": [f"{f}．{t}" for f, t in zip("ABCD", texts, strict=True)]}),
    "numbers with a dot": four(lambda at, texts, sign: {
        "question": "Why?", "choices": texts, "answer": f"{at + 1}."}),
    "names of columns": table("Question,Option 1,Option 2,Option 3,Option 4,Correct Option",
        lambda at, texts, sign: f"Why?,{','.join(texts)},option {at + 1}"),
    "an object of records": json.dumps(
        {"version": 1, "keywords": ["x"], "examples": ROWS}, indent=1).encode(),
    "BIG-bench's file": json.dumps({"name": "x", "metrics": ["y"], "examples": [
        {"input": "Why?", "target_scores": {text: int(n == at) for n, text in enumerate(texts)}}
        for at, texts in enumerate(TEXTS)]}).encode(),
    "an object of ids": json.dumps({f"q{n}": row for n, row in enumerate(ROWS)}).encode(),
    "pandas' columns": json.dumps(
        {name: {str(n): row[name] for n, row in enumerate(ROWS)} for name in ROWS[0]}).encode(),
    "pandas' split": json.dumps({"columns": [*ROWS[0]], "index": [0, 1, 2, 3],
                                 "data": [[*row.values()] for row in ROWS]}).encode(),
    "lists by columns": json.dumps(
        {name: [row[name] for row in ROWS] for name in ROWS[0]}).encode(),
    "pandas' columns by names": json.dumps(
        {name: {f"row {n}": row[name] for n, row in enumerate(ROWS)} for name in ROWS[0]}).encode(),
    "settings beside records": json.dumps(
        {"prompt": "Choose.", "options": ["short", "long"], "data": ROWS}).encode(),
    "as many settings as records": json.dumps({"notes": [*"wxyz"], "examples": ROWS}).encode(),
    "answers beside questions": json.dumps(
        {"questions": [{"question": "Why?", "choices": texts} for texts in TEXTS],
         "answers": [*"ABCD"]}).encode(),
    "lists of questions and answers": json.dumps(
        {"questions": ["Why?"] * 4, "choices": TEXTS, "answers": [*"ABCD"]}).encode(),
    "RACE": jsonl([
        {"id": f"high{n}.txt", "article": "", "questions": ["Why?"] * 2, "options": TEXTS[n:n + 2],
         "answers": [*"ABCD"[n:n + 2]]} for n in (0, 2)]),
    "QuALITY": jsonl([
        {"article": "", "article_id": n, "questions": ROWS[n:n + 2]} for n in (0, 2)]),
    "MultiRC": jsonl([{"idx": n, "passage": {"text": "", "questions": [
        {"idx": at, "question": "Why?", "answers": [
            {"text": text, "label": int(of == at)} for of, text in enumerate(TEXTS[at])]}
        for at in (n, n + 1)]}} for n in (0, 2)]),
    "samples of lm-evaluation-harness": jsonl([
        {"doc_id": n, "doc": row, "target": str(n), "arguments": {"gen_args_0": {"arg_0": "x"}},
         "resps": [["A"]], "acc": 1.0} for n, row in enumerate(ROWS)]),
    "a hub's rows beside their features": json.dumps(
        {"features": [{"name": name} for name in ROWS[0]],
         "rows": [{"row_idx": n, "row": row} for n, row in enumerate(ROWS)]}).encode(),
    "an object beside another": jsonl([
        {"id": n, "data": row, "meta": {"source": "x"}} for n, row in enumerate(ROWS)]),
    "a question in an object": jsonl([
        {"question": {"text": "Why?", "lang": "en"}, "choices": texts, "answer": at}
        for at, texts in enumerate(TEXTS)]),
    "flags beside a text": four(lambda at, texts, sign: {
        "text": "Why?", "options": [{"text": text, "isCorrect": n == at}
                                    for n, text in enumerate(texts)]}),
    "options with longer keys": four(lambda at, texts, sign: {
        "question": "Why?", "ground_truth": sign.lower(), "multiple_choices": [
            {"option_id": f, "option_text": t} for f, t in zip("abcd", texts, strict=True)]}),
    "MMLU's tables": table('"Why?",red,blue,green,gray,A', lambda at, texts, sign:
        f'"Why?",{",".join(texts)},{sign}').partition(b"\n")[2],
    "ECQA": table("q_no,q_text,q_op1,q_op2,q_op3,q_op4,q_ans", lambda at, texts, sign:
        f"x,Why?,{','.join(texts)},{texts[at]}"),
    "chats with choices": four(lambda at, texts, sign: {"ideal": sign, "input": [
        {"role": "system", "content": "Choose a letter."},
        {"role": "user", "content": "Why?\n" + "\n".join(
            f"{f}) {t}" for f, t in zip("ABCD", texts, strict=True))}]}),
}  # fmt: skip


def put(folder: Path, raw: bytes, name: str = "rows.jsonl") -> Path:
    path = folder / name
    path.write_bytes(raw)
    return path


@pytest.mark.parametrize("shape", READ)
def test_published_layout_is_read(tmp_path, shape):
    found = formats.scan(put(tmp_path, READ[shape]))
    assert not found.bad
    read = [(item.sentence, item.options, item.answer) for item in found.items]
    assert read == [("Why?", texts, at) for at, texts in enumerate(TEXTS)]


@pytest.mark.parametrize(
    ("names", "made"),
    [
        (("correct_answer", "distractor2", "distractor3", "distractor1"), lambda texts: texts),
        (("Correct Answer", "Incorrect Answer 1", "Incorrect Answer 2", "Incorrect Answer 3"),
         lambda texts: texts),
        (("correct_answer", "incorrect_answers"), lambda texts: (texts[0], list(texts[1:]))),
        (("right", "false1", "false2", "false3"), lambda texts: texts),
        (("answer", "distractors"), lambda texts: (texts[0], list(texts[1:]))),
        (("answer", "distractors"), lambda texts: (texts[0], json.dumps(texts[1:]))),
        (("Best Answer", "Incorrect Answers"), lambda texts: (texts[0], "; ".join(texts[1:]))),
        (("Correct Answers", "Best Answer", "Incorrect Answers"),
         lambda texts: (f"{texts[0]}; crimson", texts[0], "; ".join(texts[1:]))),
        (("correct_answers", "best_answer", "incorrect_answers"),
         lambda texts: ([texts[0], "crimson"], texts[0], list(texts[1:]))),
        (("chosen", "rejected"), lambda texts: ([texts[0]], list(texts[1:]))),
    ],
)  # fmt: skip
def test_correct_answer_in_its_own_column_gets_a_random_position(tmp_path, names, made):
    """The position depends only on the texts, not on the order of the rows."""
    rows = [
        {"question": f"Why {at}?", **dict(zip(names, made(texts), strict=True))}
        for at in range(40)
        for texts in TEXTS[:1]
    ]
    found = formats.scan(put(tmp_path, jsonl(rows)))
    items = [item for item in found.items if isinstance(item, Problem)]
    assert {item.options[item.answer or 0] for item in items} == {"red"}
    assert {frozenset(item.options) for item in items} == {frozenset(TEXTS[0])}
    assert len({item.answer for item in items}) == 4
    assert "put in random order" in found.notes[0]
    again = formats.read(put(tmp_path, jsonl(rows[::-1]), "again.jsonl"))
    assert {p.sentence: p.answer for p in again} == {p.sentence: p.answer for p in items}


def test_preference_pair_is_read_as_two_options(tmp_path):
    """The chosen text is the answer."""
    texts = {"prompt": "Why?", "chosen": "a long answer", "rejected": "short"}
    asked = {"role": "user", "content": "Why?"}
    turns = {
        name: [asked, *([{"role": "assistant", "content": text}] if name != "prompt" else [])]
        for name, text in texts.items()
    }
    for row in (texts, turns):
        [item] = formats.read(put(tmp_path, jsonl([row])))
        assert item.sentence == "Why?"
        assert item.options[item.answer or 0] == "a long answer"
        assert {*item.options} == {"a long answer", "short"}


def test_question_of_a_preference_pair_is_the_shared_start(tmp_path):
    """Two chats, or two texts of one chat, share it up to the last turn."""
    chats = [
        [{"role": "user", "content": "Why?"}, {"role": "assistant", "content": said}]
        for said in ("As it is so.", "As it rains.")
    ]
    texts = [f"\n\nHuman: Why?\n\nAssistant: {chat[1]['content']}" for chat in chats]
    for right, wrong in (chats, texts):
        [item] = formats.read(put(tmp_path, jsonl([{"chosen": right, "rejected": wrong}])))
        assert item.sentence == "Why?"
        assert item.options[item.answer or 0] == "As it is so."
        assert {*item.options} == {"As it is so.", "As it rains."}
    path = put(tmp_path, jsonl([{"chosen": "As it is so.", "rejected": "As it rains."}]))
    with pytest.raises(FormatError, match="no question column was detected"):
        formats.read(path)


def test_chats_with_turns_in_parts_are_refused(tmp_path):
    """The error names the file. One such row among others is a bad record."""
    parts = [{"role": "user", "content": [{"type": "text", "text": "Why? A. x B. y"}]}]
    for row in ({"chosen": parts, "rejected": parts}, {"question": parts, "answer": "A"}):
        path = put(tmp_path, jsonl([row] * 3))
        with pytest.raises(FormatError, match=f"{re.escape(str(path))}:1: .*no known format"):
            formats.read(path)
    good = {"question": "Why? A. x B. y", "answer": "A"}
    contents = formats.scan(put(tmp_path, jsonl([good, good, {"question": parts, "answer": "A"}])))
    assert [len(contents.items), len(contents.bad)] == [2, 1]


def test_letters_in_a_few_questions_are_not_choices(tmp_path):
    rows = [
        {
            "question": f"Is it so{' in (A) Rome (B) Bonn' * (n == 0)}?",
            "answer": ["yes", "no"][n % 2],
        }
        for n in range(4)
    ]
    first, *_ = formats.read(put(tmp_path, jsonl(rows)))
    assert (first.sentence, first.options) == ("Is it so in (A) Rome (B) Bonn?", ("no", "yes"))


@pytest.mark.parametrize("said", ["1. Boil it. 2. Drink it.", "[Name], boil it.", "a; b"])
def test_rejected_text_is_never_split_into_options(tmp_path, said):
    row = {"prompt": "Tea?", "chosen": "1. Buy tea. 2. Boil it.", "rejected": said}
    [item] = formats.read(put(tmp_path, jsonl([row])))
    assert {*item.options} == {row["chosen"], said}


def test_row_with_27_choices_is_a_bad_record(tmp_path):
    named = {f"option{at}": f"w{at}" for at in range(1, 28)}
    found = formats.scan(put(tmp_path, jsonl([{"question": "Why?", **named, "answer": "w2"}])))
    assert [bad.reason for bad in found.bad] == ["the number of options is 27; it must be 2 to 26"]


def test_row_with_an_empty_choice_before_others_is_a_bad_record(tmp_path):
    """The answer could name another choice."""
    rows = [{"question": "Why?", "A": "w", "B": "x" * n, "C": "y", "answer": "C"} for n in (0, 1)]
    found = formats.scan(put(tmp_path, jsonl(rows)))
    assert [(bad.line, bad.reason.split(":")[0]) for bad in found.bad] == [
        (1, "the choice 'B' is empty, but a later choice is not")
    ]
    assert len(found.items) == 1


@pytest.mark.parametrize(
    ("answers", "classes"),
    [([True, False], ("False", "True")), (["yes", "no"], ("no", "yes"))],
)
def test_labels_are_the_choices_of_a_question_without_choices(tmp_path, answers, classes):
    """BoolQ has this layout. A passage comes before the question."""
    rows = [{"question": "is it", "passage": "A text.", "answer": one} for one in answers]
    first, second = formats.read(put(tmp_path, jsonl(rows)))
    assert (first.sentence, first.options, first.answer) == ("A text. is it", classes, 1)
    assert second.answer == 0
    del rows[1]["passage"]
    assert formats.read(put(tmp_path, jsonl(rows)))[1].sentence == "is it"


def test_numeric_labels_are_choices_only_if_named_as_such(tmp_path):
    """Without choices, a number may be anything."""
    rows = [{"question": f"is it {n}", "passage": "A text.", "label": n % 2} for n in range(4)]
    path = put(tmp_path, jsonl(rows))
    with pytest.raises(
        FormatError, match="if the labels in the answer column are themselves the choices"
    ):
        formats.read(path)
    read = formats.read(path, columns=Columns(choices=("label",)))
    assert (read[1].sentence, read[1].options, read[1].answer) == (
        "A text. is it 1", ("0", "1"), 1,
    )  # fmt: skip


def test_pair_without_a_gold_label_has_a_withheld_answer(tmp_path):
    """SNLI writes "-"."""
    rows = [
        {"sentence1": "A.", "sentence2": "B.", "gold_label": label, "pairID": "x"}
        for label in ("neutral", "-", "entailment")
    ]
    read = formats.read(put(tmp_path, jsonl(rows)))
    assert (read[0].options, read.answers) == (("entailment", "neutral"), (1, None, 0))


def test_unpaired_quotation_marks_do_not_merge_rows(tmp_path):
    """One starts a cell, another ends a cell of a later row."""
    asked = ["Why?", '"Why', "So why?", 'why?"']
    lines = ["\t".join([text, *TEXTS[at], "ABCD"[at]]) + "\n" for at, text in enumerate(asked)]
    head = "question\tA\tB\tC\tD\tanswer\n"
    read = formats.read(put(tmp_path, (head + "".join(lines)).encode(), "rows.tsv"))
    assert [(item.sentence, item.answer) for item in read] == list(zip(asked, range(4)))  # noqa: B905


def test_helm_reference_tagged_correct_is_the_answer(tmp_path):
    rows = [
        {"input": {"text": "Why?"}, "id": f"id{at}", "split": "test", "references": [
            {"output": {"text": text}, "tags": ["correct"] if n == at else []}
            for n, text in enumerate(texts)]}
        for at, texts in enumerate(TEXTS)
    ]  # fmt: skip
    raw = json.dumps(rows, indent=1).encode()
    found = formats.scan(put(tmp_path, raw), columns=Columns(choices=("references",)))
    assert [(p.sentence, p.options, p.answer) for p in found.items] == [
        ("Why?", texts, at) for at, texts in enumerate(TEXTS)
    ]


TURNS = [{"role": "system", "content": "Choose."}, {"role": "user", "content": "Why? A) w B) x"}]


@pytest.mark.parametrize(
    "row",
    [
        {**ROWS[1], "sources": [{"url": "a", "title": "b"}]},
        {**ROWS[1], "messages": TURNS},
        {"input": TURNS, "ideal": "B"},
        {"chosen": [*TURNS, {"role": "assistant", "content": "x"}],
         "rejected": [*TURNS, {"role": "assistant", "content": "w"}]},
    ],
)  # fmt: skip
def test_file_with_one_question_is_one_row(tmp_path, row):
    """Its sources and turns are not rows."""
    (alone,) = formats.read(put(tmp_path, json.dumps(row).encode()))
    first, _ = formats.read(put(tmp_path, four(lambda at, texts, sign: row)))[:2]
    assert alone == first


@pytest.mark.parametrize("output", ["w", {"text": "w"}])
def test_references_unlike_those_of_helm_are_refused(tmp_path, output):
    tags = ["correct"] if isinstance(output, str) else None
    row = {"input": "Why?", "references": [{"output": output, "tags": tags}] * 2}
    with pytest.raises(FormatError, match="'references' must be a list of choices"):
        formats.read(put(tmp_path, json.dumps(row).encode()), columns=Columns((), ("references",)))


@pytest.mark.parametrize("by_ids", [False, True])
def test_bad_record_inside_an_object_has_its_line_in_the_file(tmp_path, by_ids):
    rows = [{**row, "answer": "Z"} if n == 2 else row for n, row in enumerate(ROWS)]
    held: Any = {f"q{n}": row for n, row in enumerate(rows)} if by_ids else {"rows": rows}
    text = json.dumps(held, indent=1)
    found = formats.scan(put(tmp_path, text.encode()))
    before = text[: text.index('"Z"')].splitlines()
    begins = max(n for n, line in enumerate(before, 1) if line.endswith("{"))
    assert [one.line for one in found.bad] == [begins]
    assert len(found.items) == 3


@pytest.mark.parametrize(
    "text",
    ['{"rows": [{"question": "Why?"', '{"rows" 1}', '{"a": 1, "a": [{"b": 1}]}', "{}", "{1: 2}",
     '{"rows": [' + "[" * 5000, '{"a": 1 "b": 2}', '{"columns": ["a", "b"], "data": [[1]]}',
     '{"question": ["Why?"], "choices": [["w", "x"]], "answer": ["A"]}'],
)  # fmt: skip
def test_object_without_valid_rows_is_refused(tmp_path, text):
    with pytest.raises(FormatError, match=r"rows\.jsonl"):
        formats.read(put(tmp_path, text.encode()))


REFUSED = {
    "a broken archive": (gzip.compress(PLAIN)[:-20], "the file can't be unpacked: "),
    "no zip": (b"PK\x03\x04aaaa", "the file can't be unpacked: "),
    "an archive made to fill the memory": (gzip.compress(bytes(1 << 27)), "300 times its size"),
    "UTF-16 without its mark": (PLAIN.decode().encode("utf-16-le"), "iconv -f utf-16le -t utf-8"),
    "Windows' letters": ("question,A,B,answer\nWarum?,“grün”,rot,A\n".encode("cp1252"),
                         r":2: .* Windows-1252 .*“grün”.* iconv -f cp1252 -t utf-8"),
    "a document": (zipped(b"", "[Content_Types].xml"), "save its table as XLSX or CSV"),
    "a pointer": (b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\n", "git lfs pull"),
    "a web page": (b"\n<!DOCTYPE html><title>404</title>", "download the data file itself"),
    "an object of splits": (json.dumps({"train": ROWS, "test": ROWS}).encode(),
                            r"""several lists .*'train' and 'test'; .* jq -c '.\["train"\]\[\]'"""),
    "records over several lines": ("\n".join(json.dumps(r, indent=1) for r in ROWS).encode(),
                                   r"one record per line, for example with: jq -c \."),
    "Python's dicts": ("\n".join(map(str, ROWS)).encode(), r"json\.dumps"),
    "lists of another length": (
        jsonl([{"article": "A.", "questions": ["Why?"], "options": TEXTS[:2], "answers": [*"AB"]}]),
        "'questions' contains several questions, but no other column"),
    "no header": (b"Why?,w,x,y,z,A\nWhen?,w,x,y,z,B\n", "does the first line name the columns"),
    "marks between": (jsonl([{"question": "Why?", "options": "w | x", "answer": "A"}]),
                      "the first row's choices are not a list: write a JSON list"),
    "lists as records": (json.dumps([["Why?", "w", "x", "A"]]).encode(),
                         "its records are lists, not objects: give each value a name"),
    "signs that stand twice": (
        jsonl([{"question": "Why?", "options": "A) vitamin A) B) iron", "answer": "A"}]),
        "the first row's choices are not a list"),
    "free answers": (jsonl([{"question": "Why?", "answer": "It is 42."}]), "name two or more"),
    "letters and numbers": (jsonl([{**row, "answer": n} if n % 2 else row
                                   for n, row in enumerate(ROWS)]),
                            r":1: \d answers are letters, such as .A., and \d are numbers"),
    "an answer in a sentence": (
        jsonl([{"question": "Why?", "choices": TEXTS[0], "answer": "The answer is A."}]),
        ":1: the answer 'The answer is A.' is neither a choice.* only letters in that column"),
    "several chosen": (jsonl([{"prompt": "Why?", "chosen": ["w", "x"], "rejected": ["y"]}]),
                       ":1: the question has 2 correct answers"),
    "several right texts": (jsonl([{"question": "Why?", "Correct Answers": "w; x",
                                    "Incorrect Answers": "y; z"}]),
                            ":1: the question has 2 correct answers"),
    "several targets": (jsonl([{"input": "Why?", "target_scores": {"w": 1, "x": 1, "y": 0}}]),
                        r":1: the question has 2 correct answers \(\['w', 'x'\]\)"),
}  # fmt: skip


@pytest.mark.parametrize("shape", REFUSED)
def test_unreadable_file_is_refused_with_a_remedy(tmp_path, shape):
    raw, told = REFUSED[shape]
    with pytest.raises(FormatError, match=f"(?s)rows\\.jsonl.*{told}"):
        formats.read(put(tmp_path, raw))


def test_broken_zstandard_file_is_refused(tmp_path):
    zstandard = needed("zstandard")
    whole = zstandard.ZstdCompressor().compress(PLAIN)
    for raw, reason in ((whole[:-5], "it is truncated"), (whole[:4] + PLAIN, "")):
        with pytest.raises(FormatError, match=rf"rows\.jsonl.*can't be unpacked: {reason}"):
            formats.read(put(tmp_path, raw))


@pytest.mark.parametrize(
    ("row", "asked", "options", "key"),
    [
        ({"input": "a) w b) x", "target_scores": {"a": 0, "b": 1}}, "a) w b) x", ("a", "b"), 1),
        ({"input": "Why?", "target": "1", "target_scores": {"1": 0.9, "2": 0.5}},
         "Why?", ("1", "2"), 0),
        ({"question": "Why?", "options": {"A": 1, "B": 0}, "answer": "A"}, "Why?", ("1", "0"), 0),
        ({"flores_passage": "A cup fell.", "question": "Why?", "mc_answer1": "w",
          "mc_answer2": "x", "correct_answer_num": "2"}, "A cup fell. Why?", ("w", "x"), 1),
        ({"word": "fell", "sentence1": "It fell.", "sentence2": "He felled it.", "label": True},
         "fell It fell. He felled it.", ("False", "True"), 1),
        ({"input1": "A cup fell.", "input2": "It broke.", "end1": "w", "end2": "x", "label": 2},
         "A cup fell. It broke.", ("w", "x"), 1),
        ({"question": "Why?", "context": {"contexts": ["A."]}, "final_decision": "no"},
         "Why?", ("no", "yes"), 0),
        ({"id": 7, "article": "A cup fell.", "questions": [
            {"question": "Why?", "options": ["w", "x"], "gold_label": "x"}]},
         "A cup fell. Why?", ("w", "x"), 1),
    ],
)  # fmt: skip
def test_question_and_key_follow_from_the_structure_of_a_row(tmp_path, row, asked, options, key):
    """The option with the highest score is the answer, whatever letters the text contains.

    A passage or a word becomes part of the question.
    """
    other = {"final_decision": "yes"} if "final_decision" in row else {}
    other |= {"label": False, "word": "It"} if "word" in row else {}
    first = formats.read(put(tmp_path, jsonl([row, {**row, **other, "id": "next"}])))[0]
    assert (first.sentence, first.options, first.answer) == (asked, options, key)


def test_row_with_lists_of_other_lengths_is_a_bad_record(tmp_path):
    """Questions of one row share its id and get numbers."""
    rows: list[dict[str, Any]] = [
        {"id": f"t{n}", "article": "A.", "idx": 1, "questions": ["Why?", "When?"],
         "options": TEXTS[:2], "answers": ["A", "B"]} for n in range(25)
    ]  # fmt: skip
    rows[22]["answers"] = ["A"]
    found = formats.scan(put(tmp_path, jsonl(rows)))
    [bad] = found.bad
    assert (bad.line, bad.reason) == (
        23,
        "'answers' doesn't have a value for each of the 2 questions in 'questions'",
    )
    assert [item.id for item in found.items[:3]] == ["t0/1", "t0/2", "t1/1"]
    assert len(found.items) == 48
    assert "the questions are in 'questions', with 'options', 'answers';" in found.notes[0]


def test_ids_shared_by_many_rows_are_replaced_by_numbers(tmp_path):
    """They are ids of an article. An id that only two rows share is an error."""
    rows = [{"id": f"high{n // 4}.txt", **ROWS[n % 4], "question": f"Why {n}?"} for n in range(40)]
    found = formats.scan(put(tmp_path, jsonl(rows)))
    assert [item.id for item in found.items[:2]] == ["0", "1"]
    assert len(found.items) == 40
    assert "30 of 40 rows repeat another row's value; the questions are numbered" in found.notes[0]
    rows = [{**row, "id": max(1, n)} for n, row in enumerate(rows)]
    [bad] = formats.scan(put(tmp_path, jsonl(rows))).bad
    assert bad.reason == "the id '1' was already used at line 1"
    rows = [{"nr" if name == "id" else name: value for name, value in row.items()} for row in rows]
    found = formats.scan(put(tmp_path, jsonl(rows)))
    assert (len(found.items), found.roles and found.roles.id) == (40, None)
    assert "1 of 40 rows repeats another row's value" in found.notes[0]
    assert "(`id='nr'` uses it, and reports these rows)" in found.notes[0]


@pytest.mark.parametrize("as_schemas", [False, True])
def test_second_column_with_the_key_is_omitted_with_a_note(tmp_path, as_schemas):
    """The note lists the rows that differ."""
    rows: list[dict[str, Any]] = [{**ROWS[n % 4], "answer_index": n % 4} for n in range(40)]
    if as_schemas:
        rows = [
            {"sentence": f"A {n} _ b.", "option1": "w", "option2": "x", "answer": n % 2 + 1,
             "answer_index": n % 2} for n in range(40)
        ]  # fmt: skip
    found = formats.scan(put(tmp_path, jsonl(rows)))
    assert not any(item.extra for item in found.items)
    assert found.notes[0] == "'answer_index' repeats the key and is omitted"
    rows[6]["answer_index"] = 1
    found = formats.scan(put(tmp_path, jsonl(rows)))
    assert not any(item.extra for item in found.items)
    assert found.notes[0] == (
        "'answer_index' repeats the key and is omitted; it differs in 1 of 40 rows (line 7)"
    )


def test_second_column_with_other_answers_must_be_decided(tmp_path):
    """If it has only a few answers, there is only a note."""
    rows: list[dict[str, Any]] = [
        {**ROWS[n % 4], "answer": "ABCD"[n % 3], "gold": "ABCD"[n % 4]} for n in range(40)
    ]
    path = put(tmp_path, jsonl(rows))
    told = "'answer' and 'gold' may both be the answers but differ in 28 of 40 rows, first at "
    with pytest.raises(FormatError, match=told + "line 4; choose one with `answer='answer'` or"):
        formats.read(path)
    assert formats.read(path, columns=Columns(answer="gold")).answers == (0, 1, 2, 3) * 10
    rows = [{**row, "gold": row["gold"] if n in (3, 7) else None} for n, row in enumerate(rows)]
    found = formats.scan(put(tmp_path, jsonl(rows)))
    assert found.notes == ("'gold' has a different answer in 2 of 2 rows (lines 4 and 8)",)
    rows = [{**ROWS[n % 4], "gold": str((n + 1) % 4) if n < 4 else None} for n in range(40)]
    found = formats.scan(put(tmp_path, jsonl(rows)))
    assert found.notes == ("'gold' has a different answer in 4 of 4 rows (lines 1, 2, 3 and 4)",)


def test_note_on_numbering_counts_the_answers_that_fit(tmp_path):
    """The answer that does not fit is a bad record."""
    rows = [{**ROWS[n % 4], "answer": n % 4 + 1} for n in range(40)]
    found = formats.scan(put(tmp_path, jsonl([*rows, {**ROWS[0], "answer": 0}])))
    assert len(found.bad) == 1
    assert found.notes == (
        "the answers are read as numbers from 1 (the first option), which fit 40 of 41 answers; "
        "numbers from 0 fit 31; use `answer_is='1'` to confirm this, or `answer_is='0'` if 0 is "
        "the first option",
    )


def test_file_without_answers_has_a_note(tmp_path):
    rows = [{"question": "Why?", "choices": row["choices"], "schluessel": "A"} for row in ROWS]
    [note] = formats.scan(put(tmp_path, jsonl(rows))).notes
    assert note == (
        "no question has an answer, because no answer column was found; name the answer column "
        "with `answer=`, perhaps 'schluessel'"
    )
    [note] = formats.scan(put(tmp_path, jsonl([{**row, "answer": ""} for row in ROWS]))).notes
    assert note.startswith("no question has an answer, because 'answer' has none")


@pytest.mark.parametrize("name", ["label", "gold", "correct_answer"])
@pytest.mark.parametrize("keys", [(1, 2), (0, 1), "AB", ("cup", "jug"), ("option1", "option2")])
@pytest.mark.parametrize("own_id", ["id", "qID", "number"])
def test_plain_table_has_its_key_under_any_usual_name(name, keys, own_id):
    """A column of notes is not a key."""
    rows = [
        {own_id: f"p{n}", "sentence": f"The cup {n} hit the jug as the _ was {'ab'[n % 2]}.",
         "option1": "cup", "option2": "jug", name: keys[n % 2]}
        for n in range(20)
    ]  # fmt: skip
    assert formats.read(rows).answers == (0, 1) * 10
    assert formats.read(pd.DataFrame(rows)).answers == (0, 1) * 10
    noted = formats.read([{**row, name: "a hard one"} for row in rows])
    assert noted.answers == (None,) * 20


def test_options_of_other_rows_in_a_parquet_struct_are_ignored(tmp_path):
    """A struct has the keys of all rows, with empty values for those of other rows."""
    installed("pyarrow")
    rows = [{"input": f"Is it {n}?", "target_scores": {text: int(at == n % 3) for at, text in
             enumerate(TEXTS[n % 4][:3])}} for n in range(12)]  # fmt: skip
    pd.DataFrame(rows).to_parquet(tmp_path / "rows.parquet")
    read = formats.read(tmp_path / "rows.parquet").problems
    assert [one.options[one.answer or 0] for one in read] == [
        TEXTS[n % 4][n % 3] for n in range(12)
    ]
    assert {len(one.options) for one in read} == {3}


def test_windows_encoding_is_read_if_named(tmp_path):
    """Read as Latin-1, the quotation marks are control characters, which a note reports."""
    rows = "question,A,B,answer\nWarum „grün“?,ja,nein,A\nWhy?,yes,no,B\n"
    path = put(tmp_path, rows.encode("cp1252"), "rows.csv")
    plain = formats.read(put(tmp_path, rows.encode(), "plain.csv"))
    assert formats.read(path, encoding="cp1252").problems == plain.problems
    with pytest.raises(FormatError, match="unknown encoding 'cp9999'; use a name such as 'cp1252'"):
        formats.read(path, encoding="cp9999")
    [note] = formats.scan(path, encoding="latin1").notes
    assert note.startswith(
        "1 record has control characters (U+0080 to U+009F), the first at line 2"
    )


ITEM = '{"question": "q%d", "choices": ["a", "b"], "answer": "%s"%s}'
"""A question as JSON, with a number, a letter and further keys."""


@pytest.mark.parametrize(
    ("text", "read", "fault"),
    [
        ("[{}]\n[{}]\n", 1, "text follows the end of the array"),
        ("[{}, {}]\n trailing", 2, "text follows the end of the array"),
        ("[{}, {NaN}, {}]", 2, "NaN is not a JSON number"),
    ],
)
def test_text_after_an_array_and_nan_are_bad_records(tmp_path, text, read, fault):
    path = tmp_path / "quiz.json"
    for at, sign in enumerate(("{}", "{NaN}", "{}", "{}")):
        text = text.replace(sign, ITEM % (at, "AB"[at % 2], ', "x": NaN' * (sign != "{}")), 1)
    path.write_text(text, "utf-8")
    found = formats.scan(path)
    assert len(found.items) == read
    assert [fault in one.reason for one in found.bad] == [True]


def test_column_that_only_the_last_rows_have_is_read(tmp_path):
    rows = [
        {"question": f"q{at}", **dict.fromkeys("ABCD", "x"), "answer": "A"} | {"B": f"b{at}"}
        | ({"E": "y"} if at >= 1200 else {})
        for at in range(1300)
    ]  # fmt: skip
    for row in rows:
        row |= {name: f"{name}{row['question']}" for name in "ABCDE" if name in row}
    path = tmp_path / "late.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    assert [len(p.options) for p in formats.read(path)][1199:1201] == [4, 5]


def test_header_may_have_newlines_and_an_empty_row_above(tmp_path):
    header = 'id,"notes\n(internal)",embargo,sentence,option1,option2,answer\n'
    row = "q1,n,true,The cup fell since the _ was heavy.,cup,jug,1\n"
    for above in ("", ",,,,,,\n"):
        path = tmp_path / "twins.csv"
        path.write_text(above + header + row, "utf-8")
        (found,) = formats.read(path)
        assert (found.embargo, found.extra["csv.notes (internal)"]) == (True, "n")


def test_dataframe_columns_with_one_name_are_refused():
    """An index with the name of a column is not a second column."""
    table = pd.DataFrame([["q", "a", "b", "c", "A"]], columns=["question", "A", "A", "B", "answer"])
    with pytest.raises(FormatError, match="the column 'A' occurs twice"):
        formats.read(table)
    named = pd.DataFrame({"id": ["x"], "question": ["q"], "A": ["a"], "B": ["b"], "answer": ["A"]})
    assert formats.read(named.set_index("id", drop=False)).ids == ("x",)
