"""`winosmith admin`, on the command line."""

import json
import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.web import serving
from tests.web.conftest import prepared_site  # noqa: F401
from winosmith import formats
from winosmith.testing import make_twins


@pytest.fixture
def site(prepared_site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:  # noqa: F811
    """Return a site that is not being served; work in a folder with five twins."""
    monkeypatch.chdir(tmp_path)
    formats.write(make_twins(5), "twins.jsonl")
    return serving.made(prepared_site, tmp_path / "site", {}, None)


Admin = Callable[[str], str]


@pytest.fixture
def admin(site: Any) -> Admin:
    """Return a function that runs `winosmith admin` on the site and returns the output."""

    def run(line: str) -> str:
        command, *words = line.split()
        return str(site.admin(command, str(site.folder), *words).stdout)

    return run


@pytest.fixture
def refused(site: Any) -> Admin:
    """Return a function that runs a command that must exit with 2, and returns the error."""

    def run(line: str) -> str:
        command, *words = line.split()
        done = site.admin(command, str(site.folder), *words, ok=False)
        assert done.returncode == 2
        return str(done.stderr)

    return run


def test_imported_valid_problems_are_exported_unchanged(admin):
    assert admin("import twins.jsonl --as valid") == "10 new, 0 already there\n"
    assert admin("import twins.jsonl --as valid") == "0 new, 10 already there\n"
    admin("export --out a --public")
    assert Path("a/problems.jsonl").read_bytes() == Path("twins.jsonl").read_bytes()
    assert {path.name for path in Path("a").iterdir()} == {"problems.jsonl", "winosmith.json"}


def test_pair_by_imports_problems_as_twins(admin):
    ends = (("broke", 1, "a"), ("bounced", 2, "b"), ("sang", 1, "b"), ("fell", 2, "a"))
    rows = [f'"The cup hit the jug and _ {end}.",cup,jug,{n},{pair}\n' for end, n, pair in ends]
    Path("t.csv").write_text("sentence,option1,option2,answer,group\n" + "".join(rows))
    admin("import t.csv --as valid --pair-by group")
    admin("export --out out --public")
    assert formats.read("out/problems.jsonl").twins == ((0, 3), (1, 2))


def test_digest_of_export_depends_only_on_its_data(admin):
    admin("import twins.jsonl --as judging")
    one, other = (json.loads(admin(f"export --out {name} --json")) for name in "ab")
    assert one == other
    tables = ("responses", "versions", "predictions", "rounds", "people")
    assert one["counts"] == {
        **dict.fromkeys(["problems", *(f"private/{name}" for name in tables)], 0),
        **dict.fromkeys(["private/problems", "private/states", "private/events"], 10),
        "private/documents": 3,
    }
    formats.write(make_twins(6), "more.jsonl")
    admin("import more.jsonl --as judging")
    assert json.loads(admin("export --out a --json"))["digest"] != one["digest"]


def test_embargoed_problems_are_only_in_private_folder(admin):
    admin("import twins.jsonl --as valid --embargo")
    admin("export --out all")
    admin("export --out public --public")
    for place in ("all", "public"):
        assert Path(place, "problems.jsonl").read_text() == ""
    private = Path("all/private/problems.jsonl")
    assert private.read_text().count("\n") == 10
    assert stat.S_IMODE(private.stat().st_mode) == 0o600


def test_export_into_a_folder_with_other_files_is_refused(refused):
    Path("full").mkdir()
    Path("full/mine").touch()
    assert "is not empty" in refused("export --out full")


def test_published_problems_are_only_used_to_find_duplicates(site, admin):
    """They aren't part of the data set; a near-duplicate is found with its source."""
    told = admin("import twins.jsonl --as published --source Older")
    assert told == "10 new, 0 already there\n"
    found = site.do(
        "from winosmith.web.problems.lookalikes import find_lookalikes\n"
        "from winosmith.web.problems.models import Problem, Remembered\n"
        "row = Remembered.objects.first()\n"
        "near = find_lookalikes([row])[0]\n"
        "result = [Problem.objects.count(), near.source, near.share]"
    )
    assert found == [0, "Older", 1.0]


def test_gold_questions_are_imported_from_csv(site, admin, refused):
    good = (
        "sentence,option1,option2,answer,gold.explanation\n"
        "The cup fell and _ broke.,the cup,the floor,1,Cups break.\n"
        "Choose the jug: _.,cup,jug,2,The sentence says so.\n"
    )
    Path("gold.csv").write_text(good.replace("Choose the jug", "Choose" * 200))
    told = refused("import gold.csv --as gold --new-ids").replace("\n", "")
    assert "gold.csv:3: the sentence or an option has 1,204 " in told
    Path("gold.csv").write_text(good)
    assert admin("import gold.csv --as gold --new-ids") == "2 new, 0 already there\n"
    rows = site.do(
        "from winosmith.web.judge.models import Gold\n"
        "result = sorted(Gold.objects.values_list('explanation', 'problem__answer'))"
    )
    assert rows == [["Cups break.", 0], ["The sentence says so.", 1]]


def test_invitation_token_is_not_stored_in_plain_text(site, admin):
    options = "--role moderator --minutes 60 --address https://twins.example.org"
    link = admin(f"invite {options}").strip()
    assert link.startswith("https://twins.example.org/people/")
    token = re.findall(r"[\w-]{20,}", link)[-1]
    data = b"".join(path.read_bytes() for path in site.folder.glob("site.sqlite3*"))
    assert token.encode() not in data
    row = site.do(
        "from winosmith.web.people.models import Invitation\n"
        "one = Invitation.objects.get()\n"
        "wait = (one.expires - one.created).total_seconds()\n"
        "result = [one.is_judge, one.is_moderator, one.is_superuser, round(wait / 60)]"
    )
    assert row == [True, True, False, 60]


def test_invitation_for_an_account_lets_its_owner_return(site, admin, refused):
    site.people(adam="admin")
    assert "/people/join/" in admin("invite --for Adam")
    named = "from winosmith.web.people.models import Invitation\n"
    assert site.do(named + "result = Invitation.objects.get().person.name") == "adam"
    assert "there is no account 'nobody'" in refused("invite --for nobody")
    both = refused("invite --for adam --role judge")
    assert "give --role for a new account, or --for NAME" in both


@pytest.mark.parametrize(
    "line", ["backup none x.tar", "export none --out x", "invite none --role judge"]
)
def test_folder_without_a_site_is_refused_and_stays_empty(site, line):
    Path("none").mkdir()
    refused = site.admin(*line.split(), ok=False)
    assert refused.returncode == 2
    assert "contains no site" in refused.stderr
    assert not list(Path("none").iterdir())
