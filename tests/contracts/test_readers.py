"""Readers of damaged files return data or raise an InputError, never another exception."""

import bz2
import gzip
import io
import json
import lzma
import re
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, strategies as st

from tests.conftest import examples, needed
from tests.contracts.test_formats import TEXTS
from winosmith import (
    answers,
    audit,
    build,
    data,
    formats,
    humans,
    records,
    release,
    rounds,
    validate,
)
from winosmith.errors import InputError
from winosmith.humans import Answer, Sitting, make_answers_record, make_sheet_record
from winosmith.lineage import make_child
from winosmith.prediction import Prediction
from winosmith.records import dump_json, make_problem_record
from winosmith.release._about import TEMPLATE
from winosmith.testing import make_twins

DATA = make_twins(4)
PREDICTIONS = [Prediction(p.id, 0, (0.5, -1.25)) for p in DATA]
SHEET = humans.make_sheets(DATA).sheets[0]
SHEETS = {SHEET.code: SHEET}
FILLED = Sitting("s1", SHEET, {1: Answer("A", 2.5), 2: Answer("X")}, native=True)
VOTES = "problem_id,participant,choice,seconds,shown\na,w1,1,2.5,2 1\nb,w2,,,\n"
SUBJECT = {"subject": "s1", "native": True, "attributes": {"age": "30"}, "seconds": 9.5,
           "taken": [{"sheet": "a-1", "test": "a", "problems": ["p"]}],
           "words": [{"problem": "p", "text": "jug"}]}  # fmt: skip
RECIPE = """name = "mine"
data = "pool.jsonl"
seed = 3
[structure]
length = [15, 30]
anchor = true
[filter]
threshold = 0.8
[split]
dev = 0.1
"""


def make_family_lines() -> str:
    """Return JSON Lines of a root, its child and grandchild, with edits."""
    root = DATA[0]
    words = root.sentence.split()
    first = make_child(root, " ".join(["Once", *words]), root.options, 0, source="own")
    then = make_child(first, " ".join(["Once", "more", *words]), root.options, 1, source="own")
    return "".join(dump_json(make_problem_record(p)) + "\n" for p in (root, first, then))


class Reader(NamedTuple):
    """A reader and a file that it reads."""

    read: Callable[[Path], Any]
    text: str


def _make_reader(name: str) -> Callable[[Path], Any]:
    return lambda path: formats.read_items(path, name)


READERS = {
    **{f"format {name}": Reader(_make_reader(name), text) for name, text in TEXTS.items()},
    "lineages": Reader(_make_reader("winosmith"), make_family_lines()),
    "data": Reader(formats.read_items, TEXTS["winosmith"]),
    "predictions": Reader(
        lambda path: answers.read_predictions(path, DATA),
        "\n".join(
            [
                answers.prediction_header(DATA, "me", {"seed": 1}),
                *map(answers.prediction_record, PREDICTIONS),
            ]
        ),
    ),
    "listed predictions": Reader(
        lambda path: answers.read(path, DATA), "1\n2;[ -5.1 9.3 ]\n" * (len(DATA) // 2)
    ),
    "table of letters": Reader(
        lambda path: answers.read(path, DATA), "id,m\n" + "".join(f"{p.id},A\n" for p in DATA)
    ),
    "samples": Reader(
        lambda path: answers.read(path, DATA),
        "".join(
            dump_json({"doc": make_problem_record(one), "filtered_resps": ["A"], "target": "A"})
            + "\n"
            for one in DATA
        ),
    ),
    "labels": Reader(answers.read_labels, "1\n2\n1\n"),
    "submission": Reader(answers.read_submission, "1,2,1,2,1\n2,2,1,1,1\n"),
    "votes": Reader(validate.read_votes, VOTES),
    "votes as JSON": Reader(
        validate.read_votes,
        '{"problem_id": "a", "participant": "w1", "purpose": "validate", "choice": 1}\n'
        '{"problem_id": "b", "participant": "w1", "purpose": "local", "shown": [1, 0]}\n',
    ),
    "sheet": Reader(humans.read_sheet, json.dumps(make_sheet_record(SHEET))),
    "form": Reader(
        lambda path: humans.read_answer_form(path, SHEETS), json.dumps(make_answers_record(FILLED))
    ),
    "answers": Reader(
        lambda path: humans.read_answer_table(path, SHEETS),
        f"subject,sheet,number,answer,seconds\ns1,{SHEET.code},1,A,2.5\ns1,{SHEET.code},2,x,\n",
    ),
    "wide answers": Reader(
        lambda path: humans.read_answer_table(path, SHEETS), "subject,1,2\ns1,A,B\ns2,X,\n"
    ),
    "subjects": Reader(humans.read_subjects, json.dumps(SUBJECT) + "\n"),
    "table of subjects": Reader(
        humans.read_subjects,
        "subject,native,started,ended,words,age\n"
        "s1,yes,2026-11-21T10:00,2026-11-21T10:30,12: jug; 3: vase,30\n",
    ),
    "ledger": Reader(
        humans.read_ledger,
        json.dumps({"winosmith": "ledger", "version": 1, "given": [],
                    "sheets": [make_sheet_record(SHEET)]}),
    ),
    "errata": Reader(
        lambda path: formats.read_errata(path, DATA),
        "id,old,new,evidence\n"
        + "".join(f"{p.id},{p.options[p.answer or 0]},A,a letter\n" for p in DATA),
    ),
    "check of keys": Reader(
        audit.read_check,
        json.dumps(audit.make_check_record(audit.draw_check(make_twins(8), (), 12))),
    ),
    "recipe": Reader(build.read_recipe, RECIPE),
    "recipe of a round": Reader(
        rounds.read_round, RECIPE + '[[solvers]]\nname = "m"\nsolver = "majority"\n'
    ),
    "release": Reader(
        release.read_about,
        TEMPLATE.replace('= ""', '= "Quiz"').replace("authors = []", 'authors = ["A"]'),
    ),
}  # fmt: skip
"""All readers of users' files, each with a valid file."""

DEEP = 100_000

ODD = [
    b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\r\n", b"\r", b"\n\n", b"\t", b'"', b"'", b",", b"{",
    b"}", b"[", b"]", b"<", b">", b"&", b"=", b"_", b"__", b"-1", b"0", b"1e999", b"9" * 5000,
    b"NaN", b"-Infinity", b"null", b"true", b"{}", b"[]", b'""', b'"\\ud800"', b"\\u0000",
    b"\xed\xa0\x80", "\u2028".encode(), "\u0661".encode(), "²".encode(), b"&a;", b"<!--",
    b"[" * DEEP, b'{"a":' * DEEP, b"<a>" * DEEP, b"a." * 2000, b"x" * 200_000, b"(" * 2000,
    b'<!DOCTYPE a [<!ENTITY b "cc"><!ENTITY d "&b;&b;">]>', b"2026-13-45", b"__proto__",
]  # fmt: skip
"""Bytes that made readers fail before: no text, numbers out of range, deep nesting."""

CHANGE = st.tuples(
    st.floats(0, 1, exclude_max=True),  # position, as a fraction of the file
    st.one_of(st.just(0), st.integers(0, 12), st.integers(0, 400)),  # number of deleted bytes
    st.one_of(
        st.integers(0, len(ODD) - 1), st.binary(max_size=4)
    ),  # inserted: one of `ODD`, or bytes
)


def damage(raw: bytes, changes: list[tuple[float, int, int | bytes]]) -> bytes:
    """Return the bytes after deletions and insertions."""
    for share, out, put in changes:
        at = int(share * (len(raw) + 1))
        raw = raw[:at] + (ODD[put] if isinstance(put, int) else put) + raw[at + out :]
    return raw


def get_read_error(reader: Reader, raw: bytes) -> str:
    """Return the message of the InputError, or "" if the file is read."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        path.write_bytes(raw)
        (path.parent / "pool.jsonl").write_text("{}")
        try:
            reader.read(path)
        except InputError as error:
            return str(error)
    return ""


OF_OURS = {
    "outputs.py", "evolve/_chat.py", "chat/_client.py", "formats/_base.py", "humans/_handout.py",
    "web/families/figures.py", "web/people/models.py",
    "testing.py", "locks.py",
}  # fmt: skip
"""Modules that also read JSON that the same process or site has written."""


def test_only_listed_modules_call_json_loads():
    """All others call `records.parse_json`, which refuses repeated keys and deep nesting."""
    source = Path(records.__file__).parent
    calls = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*.py")
        if re.search(r"json\.loads?\(", path.read_text("utf-8"))
    }
    assert calls <= OF_OURS


@pytest.mark.parametrize("name", READERS)
def test_undamaged_files_are_read(name):
    assert get_read_error(READERS[name], READERS[name].text.encode()) == ""


@pytest.mark.parametrize("name", READERS)
@examples(
    40,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(changes=st.lists(CHANGE, min_size=1, max_size=3))
def test_damaged_file_is_read_or_raises_input_error(name, changes):
    get_read_error(READERS[name], damage(READERS[name].text.encode(), changes))


@examples(300, derandomize=True)
@given(changes=st.lists(CHANGE, min_size=1, max_size=3))
def test_header_of_a_damaged_table_matches_its_rows(changes):
    text = 'id,"one, two",answer\n1,"a ""b""",2\n2,c,1\n'
    with suppress(InputError):
        table = data.Delimited(data.Source("a.csv", damage(text.encode(), changes)))
        for row in table.rows():
            assert row.values is None or tuple(row.values) == table.header


def _zipped(text: bytes, compression: int) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        archive.writestr("data.jsonl", text)
    return file.getvalue()


PACKED = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zip": lambda text: _zipped(text, zipfile.ZIP_DEFLATED),
    "Zstandard": lambda text: needed("zstandard").compress(text),
    "Zstandard in zip": lambda text: needed("zipfile_zstd") and _zipped(text, 93),
}
"""Functions that compress bytes."""


@pytest.mark.parametrize("name", PACKED)
def test_archive_with_a_flipped_bit_is_read_or_raises_input_error(name, tmp_path):
    whole = PACKED[name](READERS["data"].text.encode())
    path = tmp_path / "data.packed"
    path.write_bytes(whole)
    assert formats.scan(path).items
    for at in range(0, 8 * len(whole), max(1, len(whole) // 50)):
        damaged = bytearray(whole)
        damaged[at // 8] ^= 1 << at % 8
        path.write_bytes(damaged)
        with suppress(InputError):
            formats.scan(path)


@pytest.mark.parametrize("is_packed", [False, True])
def test_only_data_files_of_a_folder_or_archive_are_read(tmp_path, is_packed):
    """Readme, licence and picture are ignored; an archive in a folder is read."""
    texts = {"README.txt": "A quiz.", "LICENSE": "Free.", "plot.svg": "<svg/>"}
    for name, text in {"data.jsonl": READERS["data"].text, **texts}.items():
        (tmp_path / name).write_text(text)
    given = formats.read(tmp_path / "data.jsonl").ids
    if is_packed:
        with zipfile.ZipFile(tmp_path / "data.zip", "w") as archive:
            for name in ("data.jsonl", *texts):
                archive.write(tmp_path / name, name)
                (tmp_path / name).unlink()
    assert formats.read(tmp_path).ids == given


@pytest.mark.parametrize("version", ["stream", "file"])
def test_arrow_decompression_bomb_is_refused(tmp_path, version):
    ipc = needed("pyarrow.ipc")
    columns = {"question": "why? " * 200_000, "A": "this", "B": "that", "answer": "A"}
    table = needed("pyarrow").table({name: [one] * 100 for name, one in columns.items()})
    opened = ipc.new_stream if version == "stream" else ipc.new_file
    path = tmp_path / "data.arrow"
    with opened(path, table.schema, options=ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(table, max_chunksize=10)
    with pytest.raises(InputError, match="more than 300 times its size"):
        formats.read(path)


def find_values(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each string, number, true, false or null in JSON or TOML."""
    for found in re.finditer(r'"[^"\n]*"|-?\d+(?:\.\d+)?|true|false|null', text):
        yield found.span()


@pytest.mark.long
@pytest.mark.parametrize("name", [n for n in READERS if READERS[n].text.lstrip()[:1] in "{[n#"])
def test_value_of_another_type_is_read_or_raises_input_error(name):
    text = READERS[name].text
    for start, end in list(find_values(text))[:120]:
        for put in ("null", "[]", "{}", "-1", "true", '""', '"x"', "1e400", "9" * 4000, "[[1]]"):
            get_read_error(READERS[name], (text[:start] + put + text[end:]).encode())


@pytest.mark.long
@pytest.mark.parametrize("name", READERS)
def test_line_of_a_million_characters_is_read_or_raises_input_error(name):
    for piece in ("[", '{"a":', "a", "_", ",", " ", '"', "<a>", "\t", "(a"):
        get_read_error(READERS[name], (piece * (1_000_000 // len(piece))).encode())


@pytest.mark.parametrize(
    ("name", "old", "new", "told"),
    [
        ("data", '"answer":0', '"answer":0,"answer":1', r":2: .*'answer' occurs twice"),
        ("format winogrande", '"qID": "A-1"', '"qID": "A-1", "qID": "A-3"', r":2: .*'qID' occurs"),
        ("format knowref", '"candidate1": ["Eve"]', '"candidate1": [{"a":1,"a":2}]', r"'a' occurs"),
        ("predictions", '"choice":0', '"choice":0,"choice":1', r":2: .*'choice' occurs twice"),
        (
            "votes as JSON",
            '"choice": 1',
            '"choice": 1, "choice": 0',
            r":1: .*'choice' occurs twice",
        ),
        ("subjects", '"native": true', '"native": true, "native": false', r":1: .*'native' occurs"),
        ("sheet", '"winosmith"', '"seed": 1, "seed": 2, "winosmith"', r"'seed' occurs twice"),
    ],
)
def test_duplicate_keys_of_json_objects_are_refused(name, old, new, told):
    """Otherwise, each reader could use another of the two values."""
    text = READERS[name].text
    assert old in text
    assert re.search(told, get_read_error(READERS[name], text.replace(old, new, 1).encode()))


@pytest.mark.parametrize("name", ["data", "format winosmith", "format knowref", "predictions"])
def test_100_000_open_brackets_are_refused(name):
    assert get_read_error(READERS[name], b"[" * DEEP)
    assert get_read_error(READERS[name], b'{"id":' + b"[" * DEEP)
