"""Twins that a file does not mark, in the formats that people write themselves."""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from io import StringIO
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from tests.conftest import examples
from winosmith import Dataset, Extra, Problem, formats
from winosmith.errors import FormatError
from winosmith.formats import ReadingNote
from winosmith.study import join_data
from winosmith.testing import make_twins


def strip_marks(problems: Sequence[Problem]) -> list[Problem]:
    """Return the problems without twin ids, with new ids."""
    return [replace(p, id=f"q{at}", twin_id=None) for at, p in enumerate(problems)]


def as_csv(problems: Sequence[Problem], **columns: Callable[[int], str]) -> str:
    """Return a table as people write it, with additional columns computed from the row number."""
    head = ["sentence", "option1", "option2", "answer", *columns]
    rows = [
        [
            f'"{p.sentence}"',
            *p.options,
            f"{(p.answer or 0) + 1}",
            *(c(at) for c in columns.values()),
        ]
        for at, p in enumerate(problems)
    ]
    return "".join(",".join(row) + "\n" for row in [head, *rows])


def as_own(problems: Sequence[Problem], *more: str) -> str:
    """Return our JSON Lines as people write them, with only the necessary keys and `more`."""
    keys = ("id", "sentence", "options", "answer", *more)
    rows = ({key: getattr(p, key) for key in keys} for p in problems)
    return "".join(json.dumps(row, default=dict) + "\n" for row in rows)


def as_winogrande(problems: Sequence[Problem]) -> str:
    """Return WinoGrande's format, with ids unlike those of its crowd tasks."""
    file = StringIO()
    formats.get_writer("winogrande").write(problems, file)
    return file.getvalue()


WAYS = {"csv": as_csv, "winosmith": as_own, "winogrande": as_winogrande}


def read(text: str, **how: Any) -> Dataset:
    """Return the data of a file with this text."""
    return formats.read(formats.Source("file", text.encode()), **how)


def read_csv(problems: Sequence[Problem], **columns: Callable[[int], str]) -> Dataset:
    return read(as_csv(problems, **columns))


def read_with_twin_note(text: str) -> Dataset:
    """Return the data of a file with this text, after the note that twins were found."""
    with pytest.warns(ReadingNote, match="found by their texts"):
        return read(text)


@pytest.mark.parametrize("way", WAYS)
def test_twins_are_found_in_shuffled_rows(data_dir, way):
    """In WinoGrande's dev set without its ids, exactly its 284 twins are found."""
    dev = list(formats.read(data_dir / "winogrande/dev.jsonl"))
    dev = [dev[row] for row in np.random.default_rng(0).permutation(len(dev))]
    plain = [replace(p, sentence=p.sentence.replace('"', "'")) for p in strip_marks(dev)]
    twins = read_with_twin_note(WAYS[way](plain)).twins
    assert len(twins) == 284
    for first, second in twins:
        assert dev[first].twin_id == dev[second].twin_id


LAWYER = Problem(
    "l", "The lawyer met the man in the park and _ was late for the train.", ("he", "she"), 0
)
DOCTOR = Problem(
    "d", "The doctor sat with the boy in the house and _ was asked for the book.", ("he", "she"), 1
)


@pytest.mark.parametrize("way", WAYS)
def test_neighbours_that_share_few_words_are_not_twins(way):
    """They share the options and 7 of 16 words."""
    assert not read(WAYS[way]([LAWYER, DOCTOR])).twins
    assert formats.find_unmarked_pairs([LAWYER, DOCTOR]) == []


VERSIONS = [
    replace(LAWYER, id=f"v{at}", sentence=LAWYER.sentence.replace("late", word), answer=at % 2)
    for at, word in enumerate(("late", "early", "tired", "keen", "sorry", "glad"))
]


@examples(40, derandomize=True)
@given(rows=st.permutations(range(18)))
def test_found_twins_do_not_depend_on_the_order_of_rows(rows):
    """Six versions of one sentence are not twins."""
    problems = [*strip_marks(make_twins(5).problems), *VERSIONS, LAWYER, DOCTOR]
    problems = [problems[row] for row in rows]
    with pytest.warns(ReadingNote, match="5 twins"):
        found = read(as_own(problems))
    pairs = {tuple(sorted((found[a].id, found[b].id))) for a, b in found.twins}
    assert pairs == {(f"q{at}", f"q{at + 1}") for at in range(0, 10, 2)}
    assert len(formats.find_unmarked_pairs(problems)) == 5


def test_twins_in_japanese_are_found_by_their_letters():
    """Two pronouns of one text are not a twin."""
    text = "トロフィーが茶色のスーツケースに入らなかったのは、_が{}すぎたからだ。"
    options = ("トロフィー", "スーツケース")
    halves = [
        Problem(str(at), text.format(word), options, at) for at, word in enumerate(("大き", "小さ"))
    ]
    assert read_with_twin_note(as_own(halves)).twins == ((0, 1),)
    assert formats.find_unmarked_pairs(halves) == [(0, 1)]
    texts = (
        "花子は友子に_の本を貸したが、それは彼女がとても忙しい日だった。",
        "花子は友子に彼女の本を貸したが、それは_がとても忙しい日だった。",
    )
    asked = [replace(half, sentence=text) for half, text in zip(halves, texts, strict=True)]
    assert formats.find_unmarked_pairs(asked) == []


def test_twins_are_found_among_1000_problems_with_equal_options():
    problems = [
        Problem(
            f"{at}-{half}",
            " ".join(f"w{at}x{n}" for n in range(9)) + f" and _ was {word}.",
            ("he", "she"),
            half,
        )
        for at in range(500)
        for half, word in enumerate(("late", "early"))
    ]
    shuffled = [problems[row] for row in np.random.default_rng(0).permutation(1000)]
    pairs = formats.find_unmarked_pairs(shuffled)
    assert len(pairs) == 500
    assert all(shuffled[a].id.split("-")[0] == shuffled[b].id.split("-")[0] for a, b in pairs)


@examples(100, derandomize=True)
@given(
    texts=st.lists(
        st.lists(st.sampled_from("abcdef"), min_size=1, max_size=9), min_size=2, max_size=9
    ),
    answers=st.lists(st.integers(0, 1), min_size=9, max_size=9),
)
def test_comparing_problems_that_share_a_rare_word_misses_no_pair(texts, answers):
    problems = [
        Problem(str(at), " ".join([*text, "_"]), ("he", "she"), answers[at])
        for at, text in enumerate(texts)
    ]
    every = [
        (a, b)
        for a, b in combinations(range(len(problems)), 2)
        if formats.find_unmarked_pairs([problems[a], problems[b]])
    ]
    times = Counter(row for pair in every for row in pair)
    assert formats.find_unmarked_pairs(problems) == [
        (a, b) for a, b in every if times[a] == times[b] == 1
    ]


def test_file_with_a_twin_id_column_is_not_searched_for_twins():
    """The column or key may be empty."""
    pairs = strip_marks(make_twins(3).problems)
    assert not read_csv(pairs, twin_id=lambda at: "").twins
    lines = as_own(pairs).replace("}", ', "twin_id": null}', 1)
    assert not read(lines).twins
    assert not read(lines, as_written=True).twins


@pytest.mark.parametrize("name", ["csv", "winosmith"])
@examples(30, derandomize=True)
@given(marked=st.sets(st.integers(0, 5)), rows=st.permutations(range(12)))
def test_look_alikes_round_trip_as_twins_or_singles(tmp_path_factory, name, marked, rows):
    data = make_twins(6).problems
    problems = [
        data[row] if row // 2 in marked else replace(data[row], twin_id=None) for row in rows
    ]
    path = tmp_path_factory.mktemp("back") / "file"
    formats.write(problems, path, name)
    assert formats.read_items(path) == problems


def test_families_and_contradictory_copies_are_not_twins():
    first, second = strip_marks(make_twins(1).problems)
    copy = replace(first, id="copy", answer=1 - (first.answer or 0))
    assert not read(as_own([first, copy])).twins
    child = json.loads(as_own([second])) | {"lineage": {"root": first.id, "parent": first.id}}
    assert not read(as_own([first]) + json.dumps(child) + "\n").twins


def test_pair_by_column_makes_twins_of_rows_with_equal_values():
    """Rows with a unique value are singles."""
    pairs = strip_marks(make_twins(4).problems)
    table = as_csv([*pairs[::2], *pairs[1::2]], group=lambda at: "abcdabx"[at : at + 1])
    found = read(table, pair_by="group")
    assert found.twins == ((0, 4), (1, 5))
    assert read(table, pair_by="csv.group").twins == found.twins
    assert (found[0].twin_id, found[2].twin_id) == ("a", None)


def test_pair_by_twin_id_uses_the_own_column_of_the_format():
    data = make_twins(2).problems
    table = as_csv(data, twin_id=lambda at: "pqqp"[at])
    assert read(table, pair_by="twin_id").twins == read(table).twins == ((0, 3), (1, 2))


def test_pair_by_key_overrides_the_ids_of_winogrande():
    lines = [json.loads(line) for line in as_winogrande(make_twins(2).problems).splitlines()]
    for at, record in enumerate(lines):
        record |= {"qID": f"task-{1 + at % 2}" if at < 2 else f"z{at}", "pairing": at % 2}
    assert formats.read(lines, pair_by="pairing").twins == ((0, 2), (1, 3))


def test_pair_by_needs_a_column_with_shared_values():
    """Its pairs must not be copies."""
    table = as_csv(make_twins(2).problems, group=str, seen=lambda at: "x")
    with pytest.raises(FormatError, match=r"no column 'pair' to pair by; .*: 'group', 'seen'"):
        read(table, pair_by="pair")
    with pytest.raises(FormatError, match=r"no two problems share a value of 'group'"):
        read(table, pair_by="group")
    twice = [*make_distant_twins(5), *make_distant_twins(5)]
    table = as_csv(twice, pair=lambda at: f"{at % 10 // 2}{'ab'[at % 2]}")
    with pytest.raises(FormatError, match="most pairs by 'pair' are copies, such as '0' and '10'"):
        read(table, pair_by="pair")


def test_unmarked_pairs_of_singles_are_found_even_without_answers():
    data = make_twins(5).problems
    mixed = [*data[:4], *strip_marks(data[4:])]
    for some in (mixed, [replace(p, answer=None) for p in mixed]):
        assert formats.find_unmarked_pairs(some) == [(4, 5), (6, 7), (8, 9)]
    assert formats.find_unmarked_pairs(data) == []


TWO_KINDS = (
    "Nobody near the {0} in town {2} looked at the {1}, for the _ was hidden by fog.",
    "When visitor {2} came by the {0}, everyone admired the _ more than that {1} by the road.",
)


def make_distant_twins(count: int) -> list[Problem]:
    """Return twins, one after the other, whose halves share few words."""
    things = ("cup", "letter", "engine", "window")
    pairs = list(combinations(things, 2))
    return [
        Problem(f"q{twin}{half}", text.format(*pairs[twin % 6], twin), pairs[twin % 6], half)
        for twin in range(count)
        for half, text in enumerate(TWO_KINDS)
    ]


def as_questions(problems: Sequence[Problem]) -> str:
    """Return rows of questions with a list of choices and an additional key."""
    rows = (
        {"question": p.sentence, "choices": p.options, "answer": p.answer, "pair": at // 2}
        for at, p in enumerate(problems)
    )
    return "".join(json.dumps(row) + "\n" for row in rows)


UNREAD = {
    "a table": lambda ps: as_csv(ps, pair=lambda at: f"p{at // 2}"),
    "further keys of ours": lambda ps: as_own(
        [replace(p, extra=Extra({"x.pair": at // 2})) for at, p in enumerate(ps)], "extra"
    ),
    "questions": as_questions,
    "numbers of halves": lambda ps: as_csv(ps, pair=lambda at: f"{at // 2}/{at % 2}"),
    "letters of halves": lambda ps: as_csv(ps, pair=lambda at: f"{at // 2}{'ab'[at % 2]}"),
    "ids of other halves": lambda ps: as_csv(ps, pair=lambda at: str(at ^ 1)),
    "ids of first halves": lambda ps: as_csv(ps, pair=lambda at: str(at - 1) * (at % 2)),
}
"""Files with a column that marks twins but has no standard name."""


@pytest.mark.parametrize("way", UNREAD)
def test_column_that_groups_rows_in_pairs_must_be_decided(tmp_path, way):
    """The user names it with `pair_by`, or declines with an empty value."""
    text = UNREAD[way](make_distant_twins(20))
    with pytest.raises(FormatError, match=r"'pair' puts 40 of 40 problems.*`pair_by='pair'`"):
        read(text)
    assert len(read(text, pair_by="pair").twins) == 20
    declined = read(text, pair_by="")
    assert not declined.twins
    formats.write(declined.problems, tmp_path / "again.jsonl")
    assert formats.read(tmp_path / "again.jsonl").problems == declined.problems


def test_twins_marked_only_by_their_order_are_reported():
    """Most problems have a neighbour's options and another answer."""

    def find_notes(problems: Sequence[Problem]) -> Sequence[str]:
        return formats.scan(formats.Source("file", as_csv(problems).encode())).notes

    problems = [
        replace(p, options=(f"x{at // 2}", "y")) for at, p in enumerate(make_distant_twins(20))
    ]
    for some, count in ((problems, 40), (problems[1:9] + problems[10:], 36)):
        [note] = find_notes(some)
        assert f"{count} of {len(some)} problems have the options of a neighbour" in note
    same = [replace(p, options=("x", "y")) for p in problems]
    for others in (same, problems[::2], [replace(p, answer=0) for p in problems]):
        assert not find_notes(others)


def test_column_of_pairs_must_be_decided_even_with_many_singles():
    """Validation may leave many singles."""
    for pair, count in (
        (lambda at: str(at // 2 if at < 48 else at), 48),
        (lambda at: str(at // 2) if at < 16 else "", 16),
    ):
        with pytest.raises(FormatError, match=f"'pair' puts {count} of 80 problems into pairs"):
            read_csv(make_distant_twins(40), pair=pair)


@pytest.mark.parametrize("ends", [("-1", "-2"), ("_a", "_b"), ("A", "B"), (".1", ".2")])
@pytest.mark.parametrize("name", ["csv", "winosmith", "winogrande"])
def test_ids_that_differ_only_in_their_ends_pair_halves(tmp_path, name, ends):
    """Their texts may differ. Problems that we write as singles under such ids stay singles."""
    problems = [
        replace(p, id=f"q{at // 2}{ends[at % 2]}", twin_id=None, extra=Extra())
        for at, p in enumerate(make_distant_twins(20))
    ]
    table = as_csv(problems, id=lambda at: problems[at].id)
    found = read(
        {
            "csv": table,
            "winosmith": as_own(problems),
            "winogrande": table.replace(",id\n", ",qID\n", 1),
        }[name]
    )
    assert {(found[a].id[:-1], found[b].id[:-1]) for a, b in found.twins} == {
        (p.id[:-1], p.id[:-1]) for p in problems
    }
    if name != "winogrande":
        formats.write(problems, tmp_path / "again", name)
        assert not formats.read(tmp_path / "again").twins


MARKED: Sequence[tuple[str, str]] = [
    ("{}_orig", "{}_flip"), ("s{}-pos", "s{}-neg"), ("left_{}", "right_{}"), ("A{}", "B{}"),
    ("{}", "{}-twin"), ("{}x", "{}y"), ("{}-i", "{}-ii"), ("{}#3", "{}#4"),
    ("{:03} (1)", "{:03} (2)"), ("{}\u0430", "{}\u0431"), ("{:03}p", "{}q"),
]  # fmt: skip
"""Other pairs of ids of two halves."""


@pytest.mark.parametrize("forms", MARKED)
def test_other_marks_in_ids_count_if_they_pair_most_problems(forms):
    """The halves need different answers. In a column other than the id, the user must decide."""

    def mark(at: int) -> str:
        return forms[at % 2].format(at // 2)

    problems, few = make_distant_twins(20), 7
    twins = read_csv(problems, id=mark).twins
    assert sorted(twins) == [(2 * twin, 2 * twin + 1) for twin in range(20)]
    for others in (
        [replace(p, answer=at // 2 % 2) for at, p in enumerate(problems)],
        make_distant_twins(few),
        [replace(p, answer=None) for p in problems],
        [replace(p, options=("true", "false")) for p in problems],
    ):
        assert not read_csv(others, id=mark).twins
    with pytest.raises(FormatError, match="'half' puts 40 of 40 problems into pairs"):
        read_csv(problems, half=mark)


def test_column_of_pairs_that_are_not_twins_is_ignored():
    """The pairs have other options, the same answer, or are copies."""
    problems = make_distant_twins(20)
    for others in (
        [replace(p, options=(f"{at}", f"-{at}")) for at, p in enumerate(problems)],
        [replace(p, answer=0) for p in problems],
        [replace(problems[at - at % 2], id=str(at)) for at in range(40)],
    ):
        assert len(read_csv(others, page=lambda at: str(at // 2))) == 40
    rows = read_csv(problems, row=lambda at: str(at + 1))  # not the ids of other halves
    assert len(rows) == 40


@pytest.mark.parametrize("forms", [("left-{}", "right-{}"), ("a_{}", "b_{}"), ("pos{}", "neg{}")])
@pytest.mark.parametrize("start", [0, 1])
def test_numbers_of_two_lists_do_not_pair_unrelated_texts(forms, start):
    rng = np.random.default_rng(5)
    words = "cat dog ink oak sun rye tin fog elm bee jam owl yew hen pea".split()
    problems = [
        Problem(
            forms[at % 2].format(at // 2 + start),
            f"Near {' '.join(rng.choice(words, 9))} Ann saw Bob, since _ was {words[at % 15]}.",
            ("Ann", "Bob"),
            at % 2,
        )
        for at in range(40)
    ]
    for ps in (problems, [replace(p, id=f"q_{at + start}") for at, p in enumerate(problems)]):
        for name in ("id", "qID"):
            marks = {name: lambda at, ps=ps: ps[at].id}
            assert not read_csv(ps, **marks).twins


def test_each_file_may_number_its_own_twins(tmp_path):
    """If both files have twins, singles with the same twin id are not paired across them."""
    problems = [replace(p, twin_id=f"t{at // 2}") for at, p in enumerate(make_distant_twins(20))][
        :-1
    ]
    paths = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for path, options in (paths[0], ("cup", "jug")), (paths[1], ("car", "van")):
        own = [replace(p, id=f"{path.stem}{p.id}", options=options) for p in problems]
        formats.write(own, path, "csv")
    with pytest.warns(ReadingNote, match="twins are paired within each file"):
        read = formats.read(paths)
    assert len(read.twins) == 38
    assert {(read[a].id[0], b - a) for a, b in read.twins} == {("a", 1), ("b", 1)}
    joined = join_data([formats.read(path) for path in paths])
    assert isinstance(joined, Dataset)
    assert joined.twins == read.twins
    versions = [replace(p, id=f"v{p.id}", sentence=f"So {p.sentence}") for p in problems]
    for path, part in zip(paths, (problems, versions), strict=True):
        formats.write(part[:38], path, "csv")
    assert not formats.read(paths).twins  # versions of the same twins
    formats.write(problems[1::2], paths[0], "csv")
    formats.write(problems[::2], paths[1], "csv")
    assert len(formats.read(paths).twins) == 19


@pytest.mark.parametrize("first", [0, 1, 2])
def test_pair_by_column_may_contain_row_numbers(tmp_path, first):
    """Rows are counted from 0, 1 or the header; in several files, from the start of each."""
    problems = make_distant_twins(20)
    order = [int(at) for at in np.random.default_rng(2).permutation(40)]
    rows = {at: row for row, at in enumerate(order)}
    table = as_csv(
        [problems[at] for at in order],
        id=lambda row: f"q{order[row]}",
        other=lambda row: f"{rows[order[row] ^ 1] + first}.0",
    )
    (tmp_path / "a.csv").write_text(table)
    (tmp_path / "b.csv").write_text(table.replace(",q", ",r").replace("town", "port"))
    for names, count in (["a.csv"], 40), (["a.csv", "b.csv"], 80):
        with pytest.raises(FormatError, match=f"'other' puts {count} of {count} problems into pai"):
            formats.read([tmp_path / name for name in names])
    for files in (["a.csv"], ["a.csv", "b.csv"]):
        read = formats.read([tmp_path / file for file in files], pair_by="other")
        pairs = {tuple(sorted((read[a].id, read[b].id))) for a, b in read.twins}
        assert pairs == {
            tuple(sorted((f"{sign}{at}", f"{sign}{at + 1}")))
            for sign in "qr"[: len(files)]
            for at in range(0, 40, 2)
        }


@pytest.mark.parametrize("name", ["qID", "id"])
def test_third_variant_of_a_task_does_not_separate_similar_halves(name):
    rows = [
        {name: f"T{task}X-{half + 1}", "answer": str(half % 2 + 1), "option1": "Ann",
         "option2": "Bob", "sentence": f"Near the {town} Ann met Bob at noon, as _ was {word}."}
        for task, town in enumerate(["lake", "hill", "pond", "farm", "mill"])
        for half, word in enumerate(["big", "small", "old"])
    ]  # fmt: skip
    found = {tuple(sorted((a, b))) for a, b in formats.read(rows).twins}
    assert len(found) == 5


def test_marks_after_a_shared_number_pair_dissimilar_texts():
    rng = np.random.default_rng(3)
    words = "cat dog ink oak sun rye tin fog elm bee jam owl yew hen pea".split()
    problems = [
        Problem(f"{at // 2}_{('pos', 'neg')[at % 2]}",
                f"Ann told Bob _ was {' '.join(rng.choice(words, 8))}.", ("Ann", "Bob"), at % 2)
        for at in range(40)
    ]  # fmt: skip
    assert len(read_csv(problems, id=lambda at: problems[at].id).twins) == 20
