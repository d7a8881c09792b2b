"""Formats give the same items from every container that can store their records."""

import bz2
import csv
import gzip
import io
import json
import lzma
import sys
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas
import pytest

from tests.conftest import needed
from tests.contracts.test_formats import NAMES, TEXTS
from winosmith import data, formats
from winosmith.errors import FormatError

pyarrow = needed("pyarrow")
datasets = needed("datasets")
zstandard = needed("zstandard")
openpyxl = needed("openpyxl")
feather = needed("pyarrow.feather")
parquet = needed("pyarrow.parquet")
yaml = needed("yaml")

Records = Sequence[Mapping[str, Any]]


class Stored(NamedTuple):
    """Records in a container, and how errors refer to its last record."""

    container: Any
    last: str


def _lines(records: Records) -> bytes:
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def _array(records: Records) -> str:
    return "[\n" + ",\n".join(map(json.dumps, records)) + "\n]"


def _columns(records: Records) -> dict[str, list[Any]]:
    names = dict.fromkeys(name for record in records for name in record)
    return {name: [record.get(name) for record in records] for name in names}


def _delimited(records: Records, separator: str, encoding: str = "utf-8", above: str = "") -> bytes:
    file = io.StringIO()
    writer = csv.DictWriter(file, [*_columns(records)], delimiter=separator)
    writer.writeheader()
    for record in records:
        cells = {name: value if isinstance(value, str) else json.dumps(value)
                 for name, value in record.items() if value is not None}  # fmt: skip
        writer.writerow(cells)
    return (above + file.getvalue()).encode(encoding)


def _in_file(
    raw: Callable[[Records], bytes], above: int = 0, unit: str = "line"
) -> Callable[[Records, Path], Stored]:
    """Return a container in one file, in which `above` lines precede the first record."""

    def store(records: Records, folder: Path) -> Stored:
        path = folder / "file"
        path.write_bytes(raw(records))
        number = len(records) + above
        return Stored(path, f"{path}:{number}" if unit == "line" else f"{path}, row {number}")

    return store


def _in_memory(table: Callable[[Records], Any]) -> Callable[[Records, Path], Stored]:
    def store(records: Records, folder: Path) -> Stored:
        made = table(records)
        return Stored(made, f"<{type(made).__name__}>, row {len(records)}")

    return store


def _in_folder(records: Records, folder: Path) -> Stored:
    for number, record in enumerate(records):
        (folder / f"{number}.json").write_text(json.dumps(record, indent=1), "utf-8")
    return Stored(folder, f"{folder / f'{len(records) - 1}.json'}:1")


def _zipped(files: Mapping[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, raw in files.items():
            archive.writestr(name, raw)
    return file.getvalue()


def _in_yaml(records: Records, folder: Path) -> Stored:
    path = folder / "quiz.yaml"
    parts = [yaml.safe_dump([dict(record)], allow_unicode=True) for record in records]
    path.write_text("# Records\n" + "".join(parts), "utf-8")
    return Stored(path, f"{path}:{2 + ''.join(parts[:-1]).count(chr(10))}")


def _in_archive(records: Records, folder: Path) -> Stored:
    path = folder / "parts.zip"
    last = gzip.compress(_lines(records[-1:]))
    path.write_bytes(_zipped({"a.jsonl": _lines(records[:-1]), "b/c.jsonl.gz": last}))
    return Stored(path, f"{path}/b/c.jsonl.gz:1")


def _in_files(records: Records, folder: Path) -> Stored:
    for name, part in {"a.jsonl": records[:-1], "b.jsonl": records[-1:]}.items():
        (folder / name).write_bytes(_lines(part))
    return Stored([folder / "a.jsonl", folder / "b.jsonl"], f"{folder / 'b.jsonl'}:1")


def _in_glob(records: Records, folder: Path) -> Stored:
    return Stored(str(folder / "*.jsonl"), _in_files(records, folder).last)


def _arrow(records: Records, how: str) -> bytes:
    table, sink = pyarrow.Table.from_pylist(list(records)), pyarrow.BufferOutputStream()
    if how == "parquet":
        parquet.write_table(table, sink)
    elif how == "feather":
        feather.write_feather(table, sink)
    else:
        with (pyarrow.ipc.new_stream if how == "stream" else pyarrow.ipc.new_file)(
            sink, table.schema
        ) as writer:
            writer.write_table(table)
    return bytes(sink.getvalue())


def _workbook(records: Records) -> bytes:
    """Return a workbook with an empty second sheet, as old versions of Excel made it."""
    book, file = openpyxl.Workbook(), io.BytesIO()
    names = [*_columns(records)]
    book.active.append(names)
    for record in records:
        values = [record.get(name) for name in names]
        book.active.append([json.dumps(v) if isinstance(v, list | dict) else v for v in values])
    book.create_sheet("Sheet2")
    book.save(file)
    return file.getvalue()


class Polars:
    """A stand-in for a table of polars, with only the methods that are called."""

    def __init__(self, records: Records):
        self._table = pyarrow.Table.from_pylist(list(records))
        self.columns = self._table.column_names

    def to_dict(self) -> dict[str, Any]:
        """Return the columns, as polars does."""
        return dict(zip(self.columns, self._table.columns, strict=True))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


def _splits(records: Records, folder: Path) -> Stored:
    first, last = (datasets.Dataset.from_list(list(r)) for r in (records[:-1], records[-1:]))
    return Stored(datasets.DatasetDict(train=first, test=last), "<DatasetDict>/test, row 1")


CONTAINERS: dict[str, Callable[[Records, Path], Stored]] = {
    "YAML": _in_yaml,
    "JSON Lines": _in_file(_lines),
    "JSON array": _in_file(lambda records: _array(records).encode(), above=1),
    "records under a key": _in_file(
        lambda records: f'{{"name": "x", "data": {_array(records)}}}'.encode(), above=1
    ),
    "object of arrays": _in_file(lambda r: json.dumps(_columns(r)).encode(), unit="row"),
    "an object a file, in a folder": _in_folder,
    "CSV": _in_file(lambda records: _delimited(records, ","), above=1),
    "CSV with sep= in UTF-16": _in_file(
        lambda records: _delimited(records, ";", "utf-16", "sep=;\r\n"), above=2
    ),
    "TSV": _in_file(lambda records: _delimited(records, "\t"), above=1),
    "gzip": _in_file(lambda records: gzip.compress(_lines(records))),
    "bzip2": _in_file(lambda records: bz2.compress(_lines(records))),
    "xz": _in_file(lambda records: lzma.compress(_lines(records))),
    "Zstandard": _in_file(lambda r: zstandard.ZstdCompressor().compress(_lines(r))),
    "zip": _in_file(lambda records: _zipped({"rows.jsonl": _lines(records)})),
    "zip of several files": _in_archive,
    "several files": _in_files,
    "glob": _in_glob,
    "list of records": _in_memory(list),
    "lists by columns": _in_memory(_columns),
    "DataFrame": _in_memory(lambda records: pandas.DataFrame(list(records))),
    "Arrow table": _in_memory(lambda records: pyarrow.Table.from_pylist(list(records))),
    "Dataset": _in_memory(lambda records: datasets.Dataset.from_list(list(records))),
    "DatasetDict": _in_memory(
        lambda records: datasets.DatasetDict(train=datasets.Dataset.from_list(list(records)))
    ),
    "DatasetDict of splits": _splits,
    "polars": _in_memory(Polars),
    "XLSX": _in_file(_workbook, above=1, unit="row"),
    "Parquet": _in_file(lambda records: _arrow(records, "parquet"), unit="row"),
    "Feather": _in_file(lambda records: _arrow(records, "feather"), unit="row"),
    "Arrow file": _in_file(lambda records: _arrow(records, "file"), unit="row"),
    "Arrow stream": _in_file(lambda records: _arrow(records, "stream"), unit="row"),
}

OF_TEXT = {
    "wsc-xml": "its records are elements of XML",
    "pdp-xml": "its records are elements of XML",
    "copa-xml": "its records are elements of XML",
    "dpr": "its records are four lines, without names",
}
"""Formats whose records have no names and values, so that they are only compressed."""

COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "Zstandard": lambda raw: zstandard.ZstdCompressor().compress(raw),
    "zip": lambda raw: _zipped({"file": raw}),
}

BAD: dict[str, dict[str, Any]] = {
    "winosmith": {"id": "c", "answer": 7},
    "csv": {"answer": "7"},
    "winogrande": {"qID": "B-1", "answer": "7"},
    "wsc-csv": {"label": "7"},
    "wsc273-jsonl": {"qID": "wsc-3", "answer": "7"},
    "substitutions": {"question_id": 2},
    "superglue-wsc": {"text": "The cup broke."},
    "superglue-copa": {"question": "reason"},
    "dpr-tsv": {"index": "2"},
    "knowref": {"sentence_with_pronoun": "Ann fell."},
    "winogender": {"sentid": "nurse"},
    "winogender-templates": {"answer": "5"},
    "perturbed-wsc": {"pron": "she"},
    "perturbed-wsc-jsonl": {"qID": "wsc12"},
    "evograd": {"index": "2", "distance": "far"},
    "questions": {"choices": ["the cup"]},
}
"""Changes that make the last record of a format's small file malformed."""


def _records(folder: Path, name: str) -> list[Mapping[str, Any]]:
    path = folder / "small"
    path.write_bytes(TEXTS[name].encode())
    return [row.values for row in data.read(path) if row.values is not None]


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("name", [name for name in NAMES if name not in OF_TEXT])
def test_format_is_read_from_every_container(tmp_path, name, container):
    """The error for a malformed record contains its place."""
    records = _records(tmp_path, name)
    expected = formats.read_items(tmp_path / "small")
    (tmp_path / "small").unlink()
    stored = CONTAINERS[container]([*records, {**records[-1], **BAD[name]}], tmp_path)
    found = formats.scan(stored.container)
    assert found.items == expected
    assert {str(bad.place) for bad in found.bad} == {stored.last}
    with pytest.raises(FormatError) as caught:
        formats.read_items(stored.container)
    assert str(caught.value).startswith(f"{stored.last}: ")


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("name", OF_TEXT)
def test_compressed_text_format_is_read(tmp_path, name, compression):
    """Malformed records have the same line numbers."""
    path = tmp_path / "file"
    text = (
        TEXTS[name].replace(">A  <", ">Z<").replace('id="2"', "").replace("jug\nthe cup", "jug\nx")
    )
    path.write_bytes(text.encode())
    plain = formats.scan(path)
    path.write_bytes(COMPRESSIONS[compression](text.encode()))
    again = formats.scan(path)
    assert (again.items, again.bad) == (plain.items, plain.bad)
    assert len(plain.bad) == 1


@pytest.mark.parametrize("name", [name for name in NAMES if name not in OF_TEXT])
def test_span_of_a_record_contains_its_text(tmp_path, name):
    records = _records(tmp_path, name)
    for container in ("JSON Lines", "JSON array", "CSV with sep= in UTF-16"):
        rows = data.read(CONTAINERS[container](records, tmp_path).container)
        assert rows.source is not None
        for row in rows:
            assert rows.source.text[row.place.start : row.place.end] == row.raw
        assert len(list(rows)) == len(records)


def test_standard_input_can_be_read_twice(tmp_path, monkeypatch):
    raw = gzip.compress(TEXTS["winogrande"].encode())
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))
    (tmp_path / "file").write_bytes(raw)
    for _ in range(2):
        assert formats.read_items("-") == formats.read_items(tmp_path / "file")


def test_folder_with_files_in_two_formats_is_refused(tmp_path):
    (tmp_path / "a.jsonl").write_text(TEXTS["winogrande"], "utf-8")
    (tmp_path / "b.csv").write_text(TEXTS["evograd"], "utf-8")
    with pytest.raises(FormatError, match=r"a\.jsonl is in the format 'winogrande', but .*b\.csv"):
        formats.read(tmp_path)


@pytest.mark.parametrize("answer", ["2", 2, 2.0])
def test_type_of_an_answer_does_not_matter(answer):
    """Empty values are withheld answers."""
    record = {"qID": "A-1", "sentence": "A _ fell.", "option1": "cup", "option2": "jug"}
    gaps = [None, "", float("nan")]
    rows = [{**record, "qID": f"Q{n}-1", "answer": one} for n, one in enumerate([answer, *gaps])]
    rows.append({**record, "qID": "R-1"})
    assert formats.read(rows).answers == (1, None, None, None, None)
    assert formats.read(pandas.DataFrame(rows)).answers == (1, None, None, None, None)
