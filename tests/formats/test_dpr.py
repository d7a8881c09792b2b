"""DPR as blocks of four lines, and as tables with two rows per problem."""

import pytest

from winosmith import Problem, formats
from winosmith.errors import FormatError
from winosmith.text import find_occurrences


@pytest.mark.parametrize(("name", "several"), [("train", 37), ("test", 14)])
def test_first_occurrence_of_the_pronoun_is_the_blank(data_dir, name, several):
    problems = formats.read(data_dir / f"dpr/{name}.c.txt")
    repeated = [p for p in problems if find_occurrences(str(p.pronoun), p.sentence)]
    assert len(repeated) == several
    for problem in repeated:
        assert (
            problem.sentence.index("_")
            < find_occurrences(str(problem.pronoun), problem.sentence)[0]
        )


def test_pronoun_can_be_a_phrase(data_dir):
    pronouns = {
        p.pronoun
        for name in ("train", "test")
        for p in formats.read(data_dir / f"dpr/{name}.c.txt")
    }
    assert {"the man", "that newbie", "one"} <= pronouns


def test_answers_are_balanced_and_all_problems_are_in_twins(data_dir):
    for name, count in (("train", 1322), ("test", 564)):
        problems = formats.read(data_dir / f"dpr/{name}.c.txt")
        assert problems.answers.count(0) == problems.answers.count(1) == count // 2
        assert problems.twins == tuple((row, row + 1) for row in range(0, count, 2))


def test_table_contains_the_same_problems(data_dir):
    """The table replaces two occurrences of the pronoun in 36 and in 12 sentences."""
    for name, filled_twice in (("train", 36), ("test", 12)):
        blocks = formats.read(data_dir / f"dpr/{name}.c.txt")
        table = formats.read(data_dir / f"dpr/{name}.tsv")
        assert [(p.options, p.answer) for p in table] == [(p.options, p.answer) for p in blocks]
        differ = {p.id for p, q in zip(table, blocks, strict=True) if p.sentence != q.sentence}
        assert differ == {p.id for p in table if p.extra}
        assert len(differ) == filled_twice


def test_mask_is_the_blank_even_after_other_pronouns(tmp_path):
    (tmp_path / "mask.txt").write_text("He knew [MASK] was late.\n[MASK]\nTom,Bob\nBob\n\n")
    assert formats.read(tmp_path / "mask.txt").problems == (
        Problem("0", "He knew _ was late.", ("Tom", "Bob"), 1),
    )


def test_option_that_ends_in_the_other_is_distinguished(tmp_path):
    header = "index sentence1 sentence2 label candidate0 candidate1".replace(" ", "\t")
    rows = ["0\tSay man\t again.\t0\tman\told man", "0\tSay old man\t again.\t1\tman\told man"]
    (tmp_path / "in.tsv").write_text("\n".join([header, *rows, ""]))
    assert formats.read(tmp_path / "in.tsv").problems == (
        Problem("0", "Say _ again.", ("man", "old man"), 1),
    )


def test_block_of_another_length_is_refused_with_its_line(tmp_path):
    block = "Tom saw Bob and he ran.\nhe\nTom,Bob\nTom\n\n"
    path = tmp_path / "dpr.txt"
    path.write_text(block + "Tom saw Bob and he hid.\nhe\nTom,Bob\n")
    with pytest.raises(FormatError, match=r"dpr\.txt:6: the block has 3 lines; 4 are required"):
        formats.read(path)


def test_each_malformed_row_is_reported_with_its_line(tmp_path):
    rows = [
        "index sentence1 sentence2 label candidate0 candidate1",
        "1 a b",
        "2 a",
        "",
        "3 x a 1 a b",
    ]
    path = tmp_path / "bad.tsv"
    path.write_text("\n".join(rows).replace(" ", "\t"))
    found = formats.scan(path, "dpr-tsv")
    assert [(bad.line, str(bad.reason).partition(";")[0]) for bad in found.bad] == [
        (2, "the row has 3 cells"),
        (3, "the row has 2 cells"),
        (5, "the index has 1 rows"),
    ]


def test_pronoun_is_found_in_text_without_spaces(tmp_path):
    """A note reports a pronoun that may be part of a word."""
    path = tmp_path / "dpr.txt"
    path.write_text(
        "猫は箱に入れなかった。それが大きかったからだ。\nそれ\n猫,箱\n猫\n\n"
        "猫は箱に入れなかった。それが小さかったからだ。\nそれ\n猫、箱\n箱\n\n"
        "王明比其他人高，因为他在长。\n他\n王明、李,别人\n别人\n",
        "utf-8",
    )
    found = formats.scan(path, "dpr")
    problems = [item for item in found.items if isinstance(item, Problem)]
    assert [(p.sentence, p.options, p.answer, p.twin_id) for p in problems] == [
        ("猫は箱に入れなかった。_が大きかったからだ。", ("猫", "箱"), 0, "twin-0"),
        ("猫は箱に入れなかった。_が小さかったからだ。", ("猫", "箱"), 1, "twin-0"),
        ("王明比其_人高，因为他在长。", ("王明、李", "别人"), 1, None),
    ]
    assert [note.split(":")[0] for note in found.notes] == ["line 11"]
