"""Lists of labels without ids: first lines, headers, missing labels and texts."""

import pytest

from tests.answers.items import DATA, KEYS, LETTERS, make_source, read_choices, write_text
from winosmith import Dataset, Problem, answers
from winosmith.errors import FormatError


@pytest.mark.parametrize("first", ["NA", "nan", "<NA>", "#N/A", "?", "[invalid]", '"NA"'])
def test_list_may_begin_with_a_missing_or_invalid_label(first):
    path = make_source("m.lst", "\n".join([first, *(LETTERS[key] for key in KEYS[1:])]))
    found = {name: one.choice for name, one in answers.read(path, DATA)["m"].by_id.items()}
    first_choice = {DATA.ids[0]: None} if first in ("?", "[invalid]") else {}
    assert found == first_choice | dict(zip(DATA.ids[1:], KEYS[1:], strict=True))


def test_list_may_have_a_header_or_option_texts():
    plain = Dataset(DATA.problems[::2])
    for first in ("prediction\n", "llama-3.1 (8B)\n", ""):
        texts = "\n".join(p.options[p.answer or 0] for p in plain)
        assert read_choices(make_source("m.lst", first + texts), plain)["m"] == KEYS[::2]
    path = make_source("m.lst", f"{plain[0].options[0]}\n{texts}")
    with pytest.raises(FormatError, match="the list has 7 labels, but there are 6"):
        answers.read(path, plain)


def test_quotes_are_removed_only_around_whole_lines():
    options = ('It said "no"', 'It said "yes"', "red, blue")
    items = Dataset(Problem(f"q{at}", f"Why {at}?", options, 0, blank=None) for at in range(3))
    assert read_choices(
        make_source("m.lst", f'{options[0]}\n{options[1]}\n"{options[2]}"\n'), items
    )["m"] == [0, 1, 2]


def test_zero_among_letters_is_invalid(tmp_path):
    """A 0 means "no answer" among letters; among numbers, the count may start at 0."""
    letters = [LETTERS[key] for key in KEYS]
    path = write_text(tmp_path / "m.lst", "\n".join(["0", *letters[1:]]))
    assert read_choices(path)["m"] == [None, *KEYS[1:]]
    path = write_text(path, "\n".join(["0", "1", *letters[2:]]))
    with pytest.raises(FormatError, match="0 is not a label: options are numbered from 1"):
        answers.read(path, DATA)


def test_list_without_a_readable_label_is_refused():
    """Otherwise, twelve unreadable answers would count as incorrect."""
    path = make_source("m.lst", "\n".join("一二三四"[key] for key in KEYS))
    with pytest.raises(FormatError, match="no answer is an option letter"):
        answers.read(path, DATA)


@pytest.mark.parametrize(
    "lines", [["prediction", *"AB"], ["gpt", "A", "", "C"], ["gpt", "A", "B", ""]]
)
def test_header_of_a_list_with_missing_labels_is_refused(lines):
    """It would be read as the first answer, and each label would belong to the next problem."""
    path = make_source("m.lst", "".join(f"{line}\n" for line in lines))
    with pytest.raises(FormatError, match="may be a header, or an invalid answer"):
        answers.read(path, Dataset(DATA.problems[:3]))


@pytest.mark.parametrize(
    "letters",
    [
        "ABСABC",
        "АBCABC",
        "АВСАВС",
        ["A", "**В**", *"CABC"],
        [*"123", "В", *"12"],
        ["ox", "cat", "В", "ox", "cat", "dog"],
    ],
)
def test_letters_that_look_like_those_of_another_script_are_refused(letters, tmp_path):
    """The Cyrillic В is third. С is not among three options, so it was written for a C."""
    items = Dataset(Problem(n, f"{n}?", ("ox", "cat", "dog"), 0, blank=None) for n in "123456")
    with pytest.raises(FormatError, match=r"letters of several scripts.* in most rows.* in lin"):
        answers.read(write_text(tmp_path / "m.lst", "\n".join(letters)), items)
    found = answers.read(write_text(tmp_path / "m.lst", "\n".join("АБВАБВ")), items)["m"]
    assert [one.choice for one in found.predictions] == [0, 1, 2, 0, 1, 2]


def test_cyrillic_reply_to_options_in_cyrillic_is_only_invalid(tmp_path):
    """It is no sign of another alphabet. One letter of a third script is refused with a remedy."""
    items = Dataset(Problem(n, f"{n}?", ("вол", "кот", "пёс"), 0, blank=None) for n in "123456")
    texts = ["вол", "кот", "пёс", "А", "кот", "вол"]
    found = answers.read(write_text(tmp_path / "m.lst", "\n".join(texts)), items)["m"]
    assert [one.choice for one in found.predictions][:3] == [0, 1, 2]
    items = Dataset(DATA.problems[::2])
    with pytest.raises(FormatError, match=r"or write \[invalid\] for a model's other replies"):
        answers.read(write_text(tmp_path / "m.lst", "A\nB\nの\nC\nA\nB"), items)


@pytest.mark.parametrize("end", [".0", ".00", ",00"])
def test_decimal_zeros_are_ignored(end, tmp_path):
    path = write_text(tmp_path / "m.lst", "\n".join(f"{key + 1}{end}" for key in KEYS))
    items = Dataset(DATA.problems[::2])
    with pytest.raises(FormatError, match="the list has 12 labels, but there are 6"):
        answers.read(path, items)
    assert [one.choice for one in answers.read(path, DATA)["m"].predictions] == KEYS


def test_many_letters_that_are_not_options_are_refused(tmp_path):
    """In some tests, every second item has the letters F, G, H and J."""
    letters = ["ABCDFGHJ"[key + 4 * (at % 2)] for at, key in enumerate(KEYS)]
    with pytest.raises(FormatError, match=r"6 of 12 labels, such as .* are letters beyond"):
        answers.read(write_text(tmp_path / "m.lst", "\n".join(letters)), DATA)


@pytest.mark.parametrize("ending", ["", "\n"])
def test_texts_in_a_list_may_contain_commas(ending, tmp_path):
    """A file of such texts looks like a table."""
    towns = ("Paris, France", "Rome, Italy", "Oslo, Norway")
    items = Dataset(Problem(f"q{at}", f"{at}?", towns, 0, blank=None) for at in range(3))
    path = tmp_path / "m.lst"
    path.write_text("\n".join([towns[2], towns[0], towns[2]]) + ending, "utf-8")
    assert [one.choice for one in answers.read(path, items)["m"].predictions] == [2, 0, 2]
