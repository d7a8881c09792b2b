"""COPA in SuperGLUE's JSON Lines and its authors' XML."""

from pathlib import Path

from winosmith import formats


def test_a_question_reads_as_one_sentence(data_dir: Path) -> None:
    """Cause and effect become "because" and "so"; the alternatives begin small, but not "I"."""
    copa = formats.read(data_dir / "copa/copa-all.xml")
    assert copa[0].fill_all() == (
        "My body cast a shadow over the grass because the sun was rising.",
        "My body cast a shadow over the grass because the grass was cut.",
    )
    assert all(problem.sentence.endswith((" because _.", " so _.")) for problem in copa)
    assert sum(" because _." in problem.sentence for problem in copa) == 500
    speaking = [option for problem in copa for option in problem.options if option[:2] == "I "]
    assert len(speaking) == 333


def test_the_answers_are_balanced(data_dir: Path) -> None:
    """Each half has 250 questions with the first and 250 with the second alternative right."""
    for name in ("dev", "test"):
        answers = formats.read(data_dir / f"copa/copa-{name}.xml").answers
        assert [answers.count(index) for index in (0, 1)] == [250, 250]


def test_the_gold_file_agrees(data_dir: Path) -> None:
    """The ids and answers are those of the authors' gold.all."""
    copa = formats.read(data_dir / "copa/copa-all.xml")
    gold = [line.split() for line in (data_dir / "copa/results/gold.all").read_text().splitlines()]
    assert [(row[0], row.index("1", 1) - 1) for row in gold] == list(
        zip(copa.ids, copa.answers, strict=True)
    )


def test_both_files_hold_the_same_problems(data_dir: Path) -> None:
    """SuperGLUE's test question i is the XML's item 501 + i."""
    xml = {p.id: p for p in formats.read(data_dir / "copa/copa-test.xml")}
    for problem in formats.read(data_dir / "superglue_copa/test.jsonl"):
        same = xml[str(501 + int(problem.id))]
        assert (problem.sentence, problem.options) == (same.sentence, same.options)
        assert problem.answer is None


def test_the_document_type_is_not_fetched(data_dir: Path, tmp_path: Path) -> None:
    """The file is read although the document type that it names is nowhere near."""
    (tmp_path / "copa.xml").write_bytes((data_dir / "copa/copa-dev.xml").read_bytes())
    assert not (tmp_path / "copa.dtd").exists()
    assert len(formats.read(tmp_path / "copa.xml")) == 500


def test_labels_may_be_names_of_choices() -> None:
    """Hugging Face's `super_glue` has classes, "choice1" and "choice2", and -1 for no label."""
    row = {
        "premise": "It fell.",
        "choice1": "It broke.",
        "choice2": "It flew.",
        "question": "effect",
    }
    labels = ("choice1", "choice2", -1, 1, "0")
    copa = formats.read([{**row, "idx": n, "label": label} for n, label in enumerate(labels)])
    assert copa.answers == (0, 1, None, 1, 0)
