"""Downloads: every format, the same bytes as the library writes, in constant memory."""

import codecs
import gzip
import hashlib
import os
import tempfile
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.web.making import vote
from winosmith import Dataset, formats
from winosmith.errors import InputError
from winosmith.practice import read_handwritten
from winosmith.validate import read_votes
from winosmith.web.exporting import export
from winosmith.web.people.models import get_pseudonym
from winosmith.web.problems import records
from winosmith.web.problems.models import Problem, State, Twin
from winosmith.web.problems.records import map_to_problem, map_to_twin
from winosmith.web.read import downloads
from winosmith.web.read.downloads import ClosingIterator, HeadedFile, gzip_parts
from winosmith.web.rounds.models import Round
from winosmith.web.rounds.running import write_pool


@pytest.fixture
def handmade(db: Any, person: Any) -> Any:
    """Import the handwritten twins as public problems, and return them."""
    for pair in read_handwritten().twins:
        halves = [read_handwritten()[row] for row in pair]
        made = Twin.objects.create(ref=halves[0].twin_id, **map_to_twin(halves[0]))
        for half in halves:
            Problem.objects.create(twin=made, state=State.VALID, **map_to_problem(half))
    return read_handwritten()


FILES = {
    "problems.jsonl": "winosmith",
    "problems.csv": "csv",
    "problems.winogrande.jsonl": "winogrande",
}
"""Each file of problems with its format."""


@pytest.mark.parametrize("file", FILES)
def test_each_file_equals_what_the_library_writes(handmade, visit, tmp_path, file):
    """Problems that don't fit a format are reported before they are omitted.

    A table starts with the byte order mark by which Excel recognizes UTF-8.
    """
    assert {name: known.name for name, known in downloads.FILES.items()} == FILES
    third = Problem.objects.order_by("pk").last()
    third.options = [*third.options, "the third"]
    third.save()
    data = [*handmade[:-1], replace(handmade[-1], options=tuple(third.options))]
    unfit = formats.find_unwritable(data, FILES[file])
    assert len(unfit) == (file == "problems.winogrande.jsonl")
    fitting = [datum for row, datum in enumerate(data) if row not in unfit]
    answer = visit().get(f"/download/{file}")
    if unfit:
        assert answer.status_code == 422
        assert f"{len(fitting)} of the {len(data)} problems".encode() in answer.content
        answer = visit().get(f"/download/{file}?fitting=1")
    for some, got in ((fitting, answer), ([], visit().get(f"/download/{file}?q=nowhere"))):
        formats.write(some, tmp_path / "expected", FILES[file])
        mark = codecs.BOM_UTF8 if file.endswith(".csv") else b""
        assert got.getvalue() == mark + (tmp_path / "expected").read_bytes()


def test_refused_program_gets_plain_text(handmade, visit):
    program, browser = {"Accept": "*/*"}, {"Accept": "text/html,*/*;q=0.8"}
    row = Problem.objects.order_by("pk").last()
    row.options = [*row.options, "the third"]
    row.save()
    told = visit().get("/download/problems.winogrande.jsonl", headers=program)
    assert (told.status_code, told["Content-Type"][:10]) == (422, "text/plain")
    assert told.content.startswith(b"422: ")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(downloads, "MAX_DOWNLOADS_PER_HOUR", 0)
        told = visit().get("/download/problems.csv", headers=program)
        page = visit().get("/download/problems.csv", headers=browser)
    assert (told.status_code, told["Content-Type"][:10]) == (429, "text/plain")
    assert told.content.startswith(b"429: this file has no data: ")
    assert int(told["Retry-After"]) > 0
    assert (page.status_code, page["Content-Type"][:9]) == (429, "text/html")
    assert b"What you typed" not in page.content
    assert int(page["Retry-After"]) > 0


def test_tables_of_many_chunks_have_one_header(handmade, monkeypatch, visit, tmp_path):
    """The columns of the chunks differ."""
    row = Problem.objects.order_by("id")[70]
    row.record = {**row.record, "extra": {"csv.colour": "red"}, "pronoun": "it"}
    row.options = [*row.options, "the third"]
    row.save()
    data = Dataset(map(records.as_problem, Problem.objects.order_by("pk")))
    monkeypatch.setattr(records, "CHUNK", 10)
    formats.write(list(data), tmp_path / "whole.csv", "csv")
    body = visit().get("/download/problems.csv").getvalue()
    assert body == codecs.BOM_UTF8 + (tmp_path / "whole.csv").read_bytes()


def test_gzip_and_checksum_files_match_the_plain_file(handmade, visit):
    plain, packed = (
        visit().get(f"/download/problems.csv{end}?domain=social").getvalue() for end in ("", ".gz")
    )
    assert gzip.decompress(packed) == plain
    assert visit().get("/download/problems.csv.gz?domain=social").getvalue() == packed
    for name, body in (("problems.csv", plain), ("problems.csv.gz", packed)):
        line = visit().get(f"/download/{name}.sha256?domain=social").getvalue().decode()
        assert line == f"{hashlib.sha256(body).hexdigest()}  {name}\n"


def test_unchanged_file_is_not_sent_again(handmade, visit):
    client = visit()
    tag = client.get("/download/problems.csv")["ETag"]
    again = client.get("/download/problems.csv", headers={"If-None-Match": tag})
    assert (again.status_code, again["ETag"], again.content) == (304, tag, b"")
    assert client.get("/download/problems.csv.gz")["ETag"] != tag
    assert client.head("/download/problems.csv")["ETag"] == tag
    Problem.objects.filter(pk=Problem.objects.first().pk).update(embargo=True)
    changed = client.get("/download/problems.csv", headers={"If-None-Match": tag})
    assert (changed.status_code, changed["ETag"] == tag) == (200, False)


def test_withdrawal_aborts_a_download(handmade, visit, monkeypatch):
    """Otherwise the file would not match its digest."""
    monkeypatch.setattr(records, "CHUNK", 10)
    answer = visit().get("/download/problems.jsonl")
    parts = iter(answer.streaming_content)
    assert next(parts)
    last = Problem.objects.order_by("id").last()
    Problem.objects.filter(pk=last.pk).update(state="withdrawn")
    with pytest.raises(InputError, match="withdrawn during the download"):
        list(parts)


@pytest.mark.parametrize("name", ["other.csv", "problems.exe", "problems.csv.zip", "..", "a%0ab"])
def test_unknown_file_names_are_not_found(db, visit, name):
    assert visit().get(f"/download/{name}").status_code == 404


@pytest.mark.long
def test_memory_hardly_grows_with_the_rows(db, visit):
    """Four times the rows need at most 25 % more memory, for the numbers of the rows."""
    made = Twin.objects.create(ref="t")

    def add(first: int, last: int) -> None:
        Problem.objects.bulk_create(
            Problem(
                ref=f"r{n:06}",
                twin=made,
                sentence=f"The cup {n} hit the jug {'x' * 200} _ broke.",
                options=["cup", "jug"],
                answer=0,
                state=State.VALID,
            )
            for n in range(first, last)
        )

    def peak() -> int:
        tracemalloc.start()
        for _ in visit().get("/download/problems.csv").streaming_content:
            pass
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    add(0, 2500)
    peak()
    few = peak()
    add(2500, 10_000)
    assert peak() < few * 1.25


def test_number_of_queries_does_not_depend_on_the_rows(handmade, visit):
    visit().get(
        "/download/problems.csv"
    ).getvalue()  # the hour's first download needs other queries
    counts = []
    for query in ("", "?q=umbrella"):
        with CaptureQueriesContext(connection) as asked:
            visit().get(f"/download/problems.csv{query}").getvalue()
        counts.append(len(asked))
    assert counts[0] == counts[1]


def test_votes_on_public_problems_can_be_downloaded(db, visit, twin, bob, tmp_path):
    public, hidden = twin(state=("valid", "judging"))
    for problem in (public, hidden):
        vote(bob, problem, ambiguous=True, local_choice=1, shown=[1, 0], seconds=2.5)
    for name in ("votes.csv", "votes.jsonl"):
        (tmp_path / name).write_bytes(visit().get(f"/download/{name}").getvalue())
        votes = read_votes(tmp_path / name)
        assert {one.problem_id for one in votes} == {public.ref}
        assert [(one.purpose, one.choice) for one in votes] == [("local", 1), ("validate", 0)]
        assert {one.participant for one in votes} == {get_pseudonym(bob)}
        assert votes[1].ambiguous


def _list_unnamed_files() -> list[str]:
    """Return the deleted files that this process has open."""
    held = [os.path.realpath(file) for file in Path("/proc/self/fd").iterdir()]
    return [name for name in held if name.endswith(" (deleted)")]


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="no /proc tells of open files")
def test_unsent_responses_leave_no_file_open(handmade, visit):
    client, before = visit(), _list_unnamed_files()
    for path in ("/download/votes.csv", "/download/votes.jsonl.gz"):
        tag = client.get(path)
        assert tag.getvalue()
        assert client.get(path, headers={"If-None-Match": tag["ETag"]}).status_code == 304
        assert client.head(path).status_code == 200
        assert _list_unnamed_files() == before


def test_response_closed_early_closes_its_file():
    with tempfile.TemporaryFile() as file:
        source = HeadedFile(b"first", file)
        ClosingIterator(gzip_parts(source), source).close()
        assert file.closed


def test_look_alike_singles_stay_singles_in_every_file(db, monkeypatch, visit, tmp_path):
    for half in read_handwritten()[:6]:
        fields = records.map_to_problem(half)
        fields["record"] = {**fields.get("record", {}), "single": True}
        twin = Twin.objects.create(ref=f"of-{half.id}", **records.map_to_twin(half))
        Problem.objects.create(twin=twin, state=State.VALID, **fields)
    for chunk in (1, 4, 1000):
        monkeypatch.setattr(records, "CHUNK", chunk)
        for name in ("problems.jsonl", "problems.csv"):
            answer = visit().get(f"/download/{name}")
            assert answer["Content-Disposition"] == f'attachment; filename="{name}"'
            (tmp_path / name).write_bytes(answer.getvalue())
            read = formats.read(tmp_path / name)
            assert (len(read), read.twins) == (6, ())
            assert read.digest == answer["X-Data-Digest"]
    assert formats.find_unmarked_pairs(read.problems)
    export(tmp_path / "export")
    pool = write_pool(Round.objects.create(name="one", state="running", recipe={}))
    for path in (tmp_path / "export" / "problems.jsonl", pool / "problems.jsonl",
                 tmp_path / "export" / "private" / "problems.jsonl"):  # fmt: skip
        assert formats.read(path).twins == ()
