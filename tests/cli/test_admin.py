"""`winosmith admin`, on the command line."""

import json
import re
import stat
from pathlib import Path
from typing import Any

import pytest

from tests.web import serving
from tests.web.conftest import prepared_site  # noqa: F401
from winosmith import formats
from winosmith.testing import make_twins


@pytest.fixture
def site(prepared_site: Path, tmp_path: Path) -> Any:  # noqa: F811
    """Return a site that is not being served."""
    return serving.made(prepared_site, tmp_path / "site", {}, None)


@pytest.fixture
def twins(tmp_path: Path) -> str:
    """Return the path of a file with five twins."""
    formats.write(make_twins(5), tmp_path / "twins.jsonl")
    return str(tmp_path / "twins.jsonl")


def test_imported_valid_problems_are_exported_unchanged(
    site: Any, twins: str, tmp_path: Path
) -> None:
    told = site.admin("import", str(site.folder), twins, "--as", "valid").stdout
    assert told == "10 new, 0 already there\n"
    again = site.admin("import", str(site.folder), twins, "--as", "valid").stdout
    assert again == "0 new, 10 already there\n"
    site.admin("export", str(site.folder), "--out", str(tmp_path / "a"), "--public")
    assert (tmp_path / "a/problems.jsonl").read_bytes() == Path(twins).read_bytes()
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == [
        "problems.jsonl",
        "winosmith.json",
    ]


def test_pair_by_imports_problems_as_twins(site: Any, tmp_path: Path) -> None:
    head = "sentence,option1,option2,answer,group\n"
    rows = [f'"The cup hit the jug and _ {verb}.",cup,jug,{n}' for verb, n in
            (("broke", 1), ("bounced", 2), ("sang", 1), ("fell", 2))]  # fmt: skip
    table = tmp_path / "t.csv"
    table.write_text(head + "".join(f"{row},{'abba'[at]}\n" for at, row in enumerate(rows)))
    folder = str(site.folder)
    site.admin("import", folder, str(table), "--as", "valid", "--pair-by", "group")
    site.admin("export", folder, "--out", str(tmp_path / "out"), "--public")
    assert formats.read(tmp_path / "out/problems.jsonl").twins == ((0, 3), (1, 2))


def test_digest_of_export_depends_only_on_its_data(site: Any, twins: str, tmp_path: Path) -> None:
    folder = str(site.folder)
    site.admin("import", folder, twins, "--as", "judging")
    outs = [
        json.loads(site.admin("export", folder, "--out", str(tmp_path / name), "--json").stdout)
        for name in "ab"
    ]
    assert outs[0] == outs[1]
    assert outs[0]["counts"] == {
        "problems": 0,
        "private/problems": 10,
        "private/states": 10,
        "private/responses": 0,
        "private/events": 10,
        "private/versions": 0,
        "private/predictions": 0,
        "private/rounds": 0,
        "private/people": 0,
        "private/documents": 3,
    }
    formats.write(make_twins(6), tmp_path / "more.jsonl")
    site.admin("import", folder, str(tmp_path / "more.jsonl"), "--as", "judging")
    more = site.admin("export", folder, "--out", str(tmp_path / "a"), "--json").stdout
    assert json.loads(more)["digest"] != outs[0]["digest"]


def test_embargoed_problems_are_only_in_private_folder(
    site: Any, twins: str, tmp_path: Path
) -> None:
    folder = str(site.folder)
    site.admin("import", folder, twins, "--as", "valid", "--embargo")
    site.admin("export", folder, "--out", str(tmp_path / "all"))
    site.admin("export", folder, "--out", str(tmp_path / "public"), "--public")
    for place in ("all", "public"):
        assert (tmp_path / place / "problems.jsonl").read_text() == ""
    assert (tmp_path / "all/private/problems.jsonl").read_text().count("\n") == 10
    assert stat.S_IMODE((tmp_path / "all/private/problems.jsonl").stat().st_mode) == 0o600


def test_export_into_a_folder_with_other_files_is_refused(site: Any, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full/mine").touch()
    refused = site.admin("export", str(site.folder), "--out", str(tmp_path / "full"), ok=False)
    assert refused.returncode == 2
    assert "is not empty" in refused.stderr


def test_published_problems_are_only_used_to_find_duplicates(
    site: Any, twins: str, tmp_path: Path
) -> None:
    """They aren't part of the data set; a near-duplicate is found with its source."""
    told = site.admin(
        "import", str(site.folder), twins, "--as", "published", "--source", "Older set"
    ).stdout
    assert told == "10 new, 0 already there\n"
    found = site.do(
        "from winosmith.web.problems.lookalikes import find_lookalikes\n"
        "from winosmith.web.problems.models import Problem, Remembered\n"
        "row = Remembered.objects.first()\n"
        "near = find_lookalikes([row])[0]\n"
        "result = [Problem.objects.count(), near.source, near.share]"
    )
    assert found == [0, "Older set", 1.0]


def test_gold_questions_are_imported_from_csv(site: Any, tmp_path: Path) -> None:
    table = tmp_path / "gold.csv"
    table.write_text(
        "sentence,option1,option2,answer,gold.explanation,gold.attention\n"
        "The cup fell and _ broke.,the cup,the floor,1,Cups break.,false\n"
        "Choose the jug: _.,cup,jug,2,The sentence says so.,true\n"
    )
    good = table.read_text()
    table.write_text(good.replace("Choose the jug", "Choose" * 200))
    refused = site.admin("gold", str(site.folder), str(table), "--new-ids", ok=False)
    assert refused.returncode == 2
    assert f"{table}:3: the sentence or an option has 1,204 " in refused.stderr.replace("\n", "")
    table.write_text(good)
    told = site.admin("gold", str(site.folder), str(table), "--new-ids").stdout
    assert told == "2 new, 0 already there\n"
    rows = site.do(
        "from winosmith.web.judge.models import Gold\n"
        "result = sorted(Gold.objects.values_list('attention', 'problem__answer'))"
    )
    assert rows == [[False, 0], [True, 1]]


def test_invitation_token_is_not_stored_in_plain_text(site: Any) -> None:
    link = site.admin(
        *("invite", str(site.folder), "--role", "moderator", "--minutes", "60"),
        *("--address", "https://twins.example.org"),
    ).stdout.strip()
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


def test_invitation_for_an_account_lets_its_owner_return(site: Any) -> None:
    site.people(adam="admin")
    link = site.admin("invite", str(site.folder), "--for", "Adam").stdout
    assert "/people/join/" in link
    named = "from winosmith.web.people.models import Invitation\n"
    assert site.do(named + "result = Invitation.objects.get().person.name") == "adam"
    refused = site.admin("invite", str(site.folder), "--for", "nobody", ok=False)
    assert refused.returncode == 2
    assert "there is no account 'nobody'" in refused.stderr
    both = site.admin("invite", str(site.folder), "--for", "adam", "--role", "judge", ok=False)
    assert "give --role for a new account, or --for NAME" in both.stderr


def test_old_rows_are_deleted_by_the_limits_of_the_site(site: Any) -> None:
    site.do(
        "from datetime import timedelta\n"
        "from django.utils import timezone\n"
        "from winosmith.web.people.models import Hits\n"
        "for days in (0, 400):\n"
        "    hour = timezone.now() - timedelta(days=days)\n"
        "    Hits.objects.create(who='x', what='write', hour=hour)\n"
    )
    deleted, left = site.do(
        "from winosmith.web.people.models import Hits\n"
        "from winosmith.web.people.privacy import delete_old_rows\n"
        "result = delete_old_rows()['hits'], Hits.objects.count()\n"
    )
    assert (deleted, left) == (1, 1)


@pytest.mark.parametrize(
    "arguments",
    [
        ("backup", "{}", "x.tar"),
        ("export", "{}", "--out", "x"),
        ("invite", "{}", "--role", "judge"),
    ],
)
def test_folder_without_a_site_is_refused_and_stays_empty(
    site: Any, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    (tmp_path / "none").mkdir()
    named = [part.format(tmp_path / "none") for part in arguments]
    refused = site.admin(*named, ok=False)
    assert refused.returncode == 2
    assert "contains no site" in refused.stderr
    assert not list((tmp_path / "none").iterdir())
