"""Visits and routes of admins for the tests of every page, with a job in each state."""

from collections.abc import Callable
from typing import Any

from tests.web.forms import KEY, form, none, ref

HEAD = "sentence,option1,option2,answer"

CUPS = (
    f"{HEAD}\nThe cup hit the jug and the _ broke because it was thin.,cup,jug,1\n"
    "The cup hit the jug and the _ broke because it was old.,cup,jug,2\n"
)
"""A file of two problems."""

SCHEMAS = HEAD + "".join(
    f"\nThe {one} hit the {two} and the _ broke because it was {word}.,{one},{two},{answer}"
    for one, two in (("cup", "jug"), ("ball", "vase"), ("stone", "window"))
    for word, answer in (("thin", 2), ("hard", 1))
)
"""A file of three twins."""


def make_file(count: int) -> str:
    """Return a file of `count` twins, all different."""
    rows = [
        f"The {n:x} cup hit the {n:x} jug and the _ broke because it was {word}.,cup,jug,{answer}"
        for n in range(count)
        for word, answer in (("thin", 1), ("old", 2))
    ]
    return "\n".join([HEAD, *rows])


STUDY = {
    "name": "pilot", "provider": "prolific", "kind": "judge", "amount": "20", "places": "50",
    "minutes": "12", "reward": "2.50", "currency": "GBP", "code": "DONE2",
}  # fmt: skip

VISITS: tuple[tuple[str, str, tuple[Any, ...], dict[str, Any]], ...] = (
    ("admin", "run:start", (), {}),
    ("admin", "run:dashboard", (), {}),
    ("admin", "run:settings", (), {}),
    ("admin", "run:settings", (), {"form": {"judges": "2", "title": ""}, "status": 422}),
    ("admin", "run:import", (), {}),
    ("admin", "run:import", (), {"query": "as=gold"}),
    ("admin", "run:import", (), {"form": {"as_": "judging"}, "status": 422}),
    ("admin", "run:tests", (), {}),
    ("admin", "run:tests", (), {"form": {"name": "a name"}, "status": 422}),
    ("admin", "run:close_test", ("open",), {"form": {"key": KEY.format(1100), "drop": "1"}}),
    ("admin", "run:close_test", ("open",), {"form": {"key": KEY.format(1101)}, "status": 409}),
    ("admin", "run:publish_test", ("empty",), {"form": {"key": KEY.format(1106)}, "status": 409}),
    ("admin", "run:study", ("judging",), {}),
    ("admin", "run:study", ("judging",),
     {"form": {"do": "places", "places-places": "0"}, "status": 422}),
    ("admin", "run:study", ("nothing",), {"status": 404}),
    ("admin", "run:studies", (), {}),
    ("admin", "run:studies", (), {"form": {**STUDY, "currency": "pounds"}, "status": 422}),
    ("admin", "run:new_link", ("judging",), {}),
    ("admin", "run:close_study", ("judging",), {}),
    ("admin", "run:new_link", ("judging",), {"form": {"key": KEY.format(1102)}}),
    ("admin", "run:close_study", ("judging",), {"form": {"key": KEY.format(1103)}}),
    ("admin", "run:close_study", ("judging",),
     {"form": {"key": KEY.format(1104)}, "status": 409}),
    ("admin", "run:backups", (), {}),
    ("admin", "run:job", ("{shown import}",), {}),
    ("admin", "run:job", ("{shown test}",), {}),
    ("admin", "run:job", ("{failed import}",), {}),
    ("admin", "run:job", ("{done import}",), {}),
    ("admin", "run:job", ("{done backup}",), {}),
    ("admin", "run:job", ("{shown publishing}",), {}),
    ("admin", "run:job", ("{done publishing}",), {}),
    ("admin", "run:job", ("{shown places}",), {}),
    ("admin", "run:job", ("{shown list}",), {}),
    ("admin", "run:job", ("{shown paid}",), {}),
    ("admin", "run:job", ("{done paid}",), {}),
    ("admin", "run:job", ("{stopped import}",), {}),
    ("admin", "run:job", ("nothing",), {"status": 404}),
    ("admin", "run:confirm", ("{done import}",),
     {"form": {"key": KEY.format(1105), "do": "confirm"}, "status": 409}),
    ("admin", "run:jobs", (), {}),
    ("admin", "run:log", (), {}),
)  # fmt: skip
"""Role, route, arguments, and other fields of a `visits.Visit`."""

NO_PAGE = {
    "run:progress": "a part of run:job",
    "run:piece": "keeps a part of a file",
}


def _with_file(**data: Any) -> Callable[[Any], dict[str, Any]]:
    def made(_: Any) -> dict[str, Any]:
        from django.core.files.uploadedfile import SimpleUploadedFile

        return {**form(**data)(_), "file": SimpleUploadedFile("cups.csv", CUPS.encode())}

    return made


def choices(**others: Any) -> dict[str, Any]:
    """Return the form of the current settings, with some values replaced."""
    from winosmith.web.run.choices import SettingsForm

    shown = SettingsForm().initial
    typed = {name: value for name, value in shown.items() if value is not False}
    return {**{f"initial-{name}": value for name, value in shown.items()}, **typed, **others}


def _chosen(_: Any) -> dict[str, Any]:
    return form(**choices(title="Twins of Leeds"))(_)


ROUTES: list[tuple[str, str, tuple[Any, ...], Callable[[Any], dict[str, Any]], str]] = [
    ("run:start", "get", (), none, "llffffo"),
    ("run:dashboard", "get", (), none, "llffffo"),
    ("run:settings", "get", (), none, "llffffo"),
    ("run:settings", "post", (), _chosen, "llffffD"),
    ("run:import", "get", (), none, "llffffo"),
    ("run:import", "post", (), _with_file(as_="judging", new_ids="on"), "llffffD"),
    ("run:tests", "get", (), none, "llffffo"),
    ("run:tests", "post", (), _with_file(name="new", title="x", orders="1", new_ids="on"),
     "llffffD"),
    ("run:close_test", "get", ("open",), none, "mmmmmmm"),
    ("run:close_test", "post", ("open",), form(), "llffffx"),
    ("run:close_test", "post", ("open",), form(drop="1"), "llffffD"),
    ("run:close_test", "post", ("nothing",), form(), "llffffn"),
    ("run:publish_test", "get", ("closed",), none, "mmmmmmm"),
    ("run:publish_test", "post", ("closed",), form(), "llffffD"),
    ("run:publish_test", "post", ("open",), form(), "llffffx"),
    ("run:study", "get", ("judging",), none, "llffffo"),
    ("run:study", "get", ("nothing",), none, "llffffn"),
    ("run:study", "post", ("judging",), form(**{"do": "places", "places-places": "60"}),
     "llffffD"),
    ("run:study", "post", ("judging",), form(do="list"), "llffffx"),
    ("run:study", "post", ("judging",), form(do="paid"), "llffffx"),
    ("run:piece", "get", ("0" * 32,), none, "mmmmmmm"),
    ("run:piece", "post", ("0" * 32,), none, "llffffn"),
    ("run:studies", "get", (), none, "llffffo"),
    ("run:studies", "post", (), form(**STUDY), "llffffO"),
    ("run:new_link", "get", ("judging",), none, "llffffo"),
    ("run:new_link", "post", ("judging",), form(), "llffffO"),
    ("run:close_study", "get", ("judging",), none, "llffffo"),
    ("run:close_study", "post", ("judging",), form(), "llffffD"),
    ("run:backups", "get", (), none, "llffffo"),
    ("run:backups", "post", (), form(), "llffffD"),
    ("run:job", "get", (ref("shown import"),), none, "llffffo"),
    ("run:confirm", "get", (ref("shown import"),), none, "mmmmmmm"),
    ("run:confirm", "post", (ref("shown import"),), form(do="confirm"), "llffffD"),
    ("run:confirm", "post", (ref("shown import"),), form(do="drop"), "llffffD"),
    ("run:confirm", "post", (ref("shown publishing"),), form(do="confirm"), "llffffD"),
    ("run:confirm", "post", (ref("shown paid"),), form(do="confirm"), "llffffD"),
    ("run:confirm", "post", (ref("busy import"),), form(do="stop"), "llffffD"),
    ("run:confirm", "post", (ref("done import"),), form(do="stop"), "llffffx"),
    ("run:progress", "get", (ref("busy import"),), none, "llffffo"),
    ("run:confirm", "post", (ref("failed import"),), form(do="retry"), "llffffD"),
    ("run:jobs", "get", (), none, "llffffo"),
    ("run:log", "get", (), none, "llffffo"),
]  # fmt: skip
"""Rows of the authorisation table; see `test_authorisation`."""

ASKED = {"file": "cups.csv", "as": "judging", "format": "", "pair_by": "", "new_ids": True,
         "embargo": False, "source": ""}  # fmt: skip

REFUSED = {"refused": 1, "faults": ["cups.csv:4: the sentence has no blank ('_'); 1 is needed"]}

COMING = {
    **REFUSED, "format": "csv", "new": 2, "known": 1, "twins": 1,
    "notes": ["A blank was set apart."],
    "examples": [{"sentence": "The cup hit the jug and the _ broke.", "options": ["cup", "jug"],
                  "answer": 0}],
}  # fmt: skip

PUBLIC = {"used": 6, "alternates": 6, "withheld": 2}

PAID = {
    "same": 1, "votes": 20, "all_changes": 1, "all_doubts": 1, "all_notes": 1, "all_unknown": 1,
    "all_missing": 1, "unmatched": "2.50", "unknown": [9], "missing": ["p-1"],
    "changes": [{"worker": "p-0123456789", "before": "waiting", "verdict": "approved",
                 "said": "APPROVED", "paid": "2.50", "votes": 20}],
    "doubts": [[3, "this worker started on the site with another submission"]],
    "notes": [[4, "approved, although the stored work is incomplete"]],
}  # fmt: skip

SHEETS = {"format": "csv", "notes": [], "sheets": [["a-1", 6], ["b-1", 6]], "alone": 1,
          "left_out": [["x", "it looks like another one"]]}  # fmt: skip


def staged(people: dict[str, Any]) -> dict[str, str]:
    """Create a job of the admin in each state; return the jobs' marks."""
    from winosmith.web.jobs import Job

    def made(kind: str, state: str, came: Any, asked: Any = ASKED, **more: Any) -> str:
        row = Job.objects.create(actor=people["admin"], kind=kind, state=state, asked=asked,
                                  came=came, **more)  # fmt: skip
        return str(row.mark)

    test = {"file": "cups.csv", "name": "new", "title": "Cups"}
    imported = {**REFUSED, "added": 2, "known": 1, "versions": 1, "apart": 1}
    paid = {"name": "judging", "file": "x.csv", "final": True}
    backup = {"file": "site-20260101-120000.tar.gz", "bytes": 9}
    return {
        "shown import": made("import", "shown", COMING, total=3),
        "shown test": made("test", "shown", SHEETS, test, total=12),
        "busy import": made("import", "running", COMING, total=3, done=1),
        "failed import": made("import", "failed", {}, error="cups.csv:2: so."),
        "done import": made("import", "done", imported),
        "done backup": made("backup", "done", backup, {}),
        "shown publishing": made("test-publish", "shown", PUBLIC, {"name": "closed"}),
        "done publishing": made("test-publish", "done", PUBLIC, {"name": "closed"}),
        "shown places": made("study-places", "shown", {"before": 9, "places": 40, "may_begin": 60},
                             {"name": "judging", "places": 40}),
        "shown list": made("study-list", "shown", {"people": 12, "listed": 3, "began": 1},
                           {"name": "judging", "file": "l.csv", "allowed": "only"}),
        "shown paid": made("study-paid", "shown", PAID, paid),
        "done paid": made("study-paid", "done", {**PAID, "counted": 20}, paid),
        "done bonuses": made("study-bonus", "done", {"payments": 3, "total": "4.50", "new": 2},
                             {"name": "judging", "file": "bonuses.csv"}),
        "stopped import": made("import", "stopped", COMING, total=3, done=1),
    }  # fmt: skip
