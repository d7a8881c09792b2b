"""COPA in SuperGLUE's JSON Lines and its authors' XML."""

from winosmith import formats


def test_premise_and_alternative_become_one_sentence(data_dir):
    """They are joined by "because" or "so". Alternatives start in lower case, except for "I"."""
    copa = formats.read(data_dir / "copa/copa-all.xml")
    assert copa[0].fill_all() == (
        "My body cast a shadow over the grass because the sun was rising.",
        "My body cast a shadow over the grass because the grass was cut.",
    )
    assert all(problem.sentence.endswith((" because _.", " so _.")) for problem in copa)
    assert sum(" because _." in problem.sentence for problem in copa) == 500
    speaking = [option for problem in copa for option in problem.options if option[:2] == "I "]
    assert len(speaking) == 333


def test_answers_of_both_halves_are_balanced(data_dir):
    for name in ("dev", "test"):
        answers = formats.read(data_dir / f"copa/copa-{name}.xml").answers
        assert [answers.count(index) for index in (0, 1)] == [250, 250]


def test_ids_and_answers_match_the_gold_file(data_dir):
    copa = formats.read(data_dir / "copa/copa-all.xml")
    gold = [line.split() for line in (data_dir / "copa/results/gold.all").read_text().splitlines()]
    assert [(row[0], row.index("1", 1) - 1) for row in gold] == list(
        zip(copa.ids, copa.answers, strict=True)
    )


def test_superglue_test_set_matches_the_xml(data_dir):
    xml = {p.id: p for p in formats.read(data_dir / "copa/copa-test.xml")}
    for problem in formats.read(data_dir / "superglue_copa/test.jsonl"):
        same = xml[str(501 + int(problem.id))]
        assert (problem.sentence, problem.options) == (same.sentence, same.options)
        assert problem.answer is None


def test_xml_is_read_without_its_document_type_definition(data_dir, tmp_path):
    (tmp_path / "copa.xml").write_bytes((data_dir / "copa/copa-dev.xml").read_bytes())
    assert not (tmp_path / "copa.dtd").exists()
    assert len(formats.read(tmp_path / "copa.xml")) == 500


def test_labels_may_be_class_names_of_hugging_face():
    """Its `super_glue` has "choice1" and "choice2", and -1 without a label."""
    row = {
        "premise": "It fell.",
        "choice1": "It broke.",
        "choice2": "It flew.",
        "question": "effect",
    }
    labels = ("choice1", "choice2", -1, 1, "0")
    copa = formats.read([{**row, "idx": n, "label": label} for n, label in enumerate(labels)])
    assert copa.answers == (0, 1, None, 1, 0)
