"""Every page of the site with a user who may see it, or the reason why a route has no page.

A test fails for a route that is neither in VISITS nor in NO_PAGE, and for a page template that
no visit shows. A new area adds its lines at the end of VISITS.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.web import world as w
from tests.web.api import visits as api
from tests.web.making import single, vote
from tests.web.market import visits as market
from tests.web.rounds import visits as rounds
from tests.web.run import visits as run
from tests.web.take import visits as take
from winosmith.web._rules import Mail

LONG = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft" * 2
"""A word that is wider than a phone."""


@dataclass(frozen=True)
class Visit:
    """A user opens a page, or sends a form that leads to one.

    Attributes:
        role: One of `world.ROLES`.
        route: Its name, or a path that starts with "/".
        args: Arguments of the route; "{draft}" stands for the value of that name from `staged`.
        query: Query of the address, without "?".
        form: Fields of the form; None to open the page.
        status: Status of the last page.
        forged: Whether the form lacks its token.
        before: Python that runs on the site first.
        rules: Settings of the site that differ from the usual ones.
    """

    role: str
    route: str
    args: tuple[Any, ...] = ()
    query: str = ""
    form: dict[str, str] | None = None
    status: int = 200
    forged: bool = False
    before: str = ""
    rules: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        said = [
            self.role,
            self.route,
            *map(str, self.args),
            self.query,
            *(self.form or {}).values(),
        ]
        return f"{' '.join(filter(None, said))} {self.status}"[:100]

    def path(self, refs: dict[str, str]) -> str:
        """Return the address."""
        from django.urls import reverse

        args = [arg.format_map(refs) if isinstance(arg, str) else arg for arg in self.args]
        bare = self.route if self.route.startswith("/") else reverse(self.route, args=args)
        return f"{bare}?{self.query.format_map(refs)}" if self.query else bare

    def fields(self, refs: dict[str, str]) -> dict[str, str] | None:
        """Return the form that is sent."""
        if self.form is None:
            return None
        return {name: value.format_map(refs) for name, value in self.form.items()}


V = Visit
OPEN = w.STATES[:-1]


def _key(n: int) -> str:
    """Return the key of a form that is sent once."""
    return f"{n:032x}"


WHY = {"reason": "So.", "text": "So."}
BAD_JOIN = {"name": "anonymous-1", "password": "1", "again": "2"}
TWIN = {
    "version": "0", "do": "submit", "domain": "social", "option_1": LONG[:90], "option_2": "x",
    "sentence_1": f"{LONG} and {LONG} and the _ fell.", "sentence_2": f"{LONG} and the _ rose.",
}  # fmt: skip
BENT = {
    "sentence": f"The public kettle missed the cupboard because the _ was too {LONG}.",
    "option_1": "kettle", "option_2": "cupboard", "answer": "0",
}  # fmt: skip
FULL = """
from django.utils import timezone
from winosmith.web.people.gates import _make_limit_key
from winosmith.web.people.models import Hits, Person
hour = timezone.now().replace(minute=0, second=0, microsecond=0)
who = _make_limit_key(Person.objects.get(name="the-owner"))
Hits.objects.create(who=who, what="download", hour=hour, count=10**6)
"""
BROKEN = """
from django.db import connection
with connection.cursor() as cursor:
    cursor.execute("DROP TABLE judge_contest")
"""
THREE = """
from winosmith.web.problems.models import Problem
Problem.objects.filter(ref="public-a").update(options=["kettle", "cupboard", "shelf"])
"""
MODELS = """
from django.conf import settings
from winosmith.web.predict.asking import set_current_models
set_current_models(settings.RULES.models)
"""

MAILING = {"mail": Mail("127.0.0.1", "site@example.org", security="none")}

VISITS: tuple[Visit, ...] = (
    V("visitor", "read:home"),
    V("anonymous", "read:home"),
    V("admin", "read:home"),
    V("visitor", "read:browse"),
    V("visitor", "read:browse", query="q=kettle&domain=physical"),
    V("visitor", "read:browse", query=f"q={LONG}"),
    V("visitor", "read:browse", query="since=x", status=422),
    V("visitor", "read:problem", ("public-a",)),
    V("owner", "read:problem", ("embargoed-a",)),
    V("visitor", "read:download"),
    V("visitor", "read:file", ("problems.csv",), query="since=x", status=422),
    V("visitor", "read:file", ("problems.winogrande.jsonl",), status=422, before=THREE),
    V("visitor", "read:guidelines"),
    V("visitor", "read:card"),
    V("visitor", "language", query="next=/guidelines/"),
    V("visitor", "set_language", form={"language": "xx"}),
    V("owner", "people:me"),
    V("anonymous", "people:me"),
    V("admin", "people:me"),
    V("owner", "people:news"),
    V("moderator", "people:news"),
    V("judge", "people:news"),
    V("owner", "people:erase"),
    V("anonymous", "people:erase"),
    V("owner", "people:erase", form={"texts": "on"}, status=422),
    V("admin", "people:erase_other", ("{number}",)),
    V("admin", "people:erase_other", ("{number}",), form={"sure": "on"}, status=422),
    V("visitor", "people:join"),
    V("visitor", "people:join", form=BAD_JOIN, status=422),
    V("owner", "people:join"),
    V("visitor", "people:join", rules={"signup": "invited"}),
    V("visitor", "people:invited", ("{token}",)),
    V("owner", "people:invited", ("{token}",)),
    V("visitor", "people:invited", ("{way back}",)),
    V("visitor", "people:invited", ("{way back}",), form={"password": "1"}, status=422),
    V("visitor", "people:invited", ("nothing",), status=404),
    V("visitor", "people:login"),
    V("visitor", "people:login", form={"name": "the-owner", "password": "x"}, status=422),
    V("owner", "people:password"),
    V("owner", "people:password", form={"old": "x", "password": "1"}, status=422),
    V("visitor", "people:login", rules=MAILING),
    V("visitor", "people:reset", rules=MAILING),
    V("visitor", "people:reset", form={"email": "x"}, rules=MAILING, status=422),
    V("visitor", "people:reset", form={"email": "nobody@example.org"}, rules=MAILING),
    V("owner", "people:me", rules=MAILING),
    V("owner", "people:mail", rules=MAILING),
    V("owner", "people:mail", form={"email": "x"}, rules=MAILING, status=422),
    V("owner", "people:mail_confirm", ("token",), rules=MAILING),
    V("visitor", "people:consent"),
    V("visitor", "people:consent", form={"agree": ""}, status=422),
    V("visitor", "people:texts"),
    V("visitor", "people:text", ("consent", 1)),
    V("visitor", "people:text", ("licence", 1)),
    V("moderator", "people:invitations"),
    V("admin", "people:invitations"),
    V("admin", "people:invitations", form={"role": "judge", "days": "1"}),
    V("admin", "people:invitations", form={"role": "x", "days": "0"}, status=422),
    V("admin", "people:invitations", form={"role": "judge", "days": "1", "name": "nobody"},
      status=422),
    V("visitor", "write:start"),
    V("owner", "write:start"),
    V("visitor", "write:mine"),
    V("owner", "write:mine"),
    *(V("owner", "write:twin", (f"twin-{state}",)) for state in OPEN),
    V("owner", "write:appeal", ("twin-rejected",), form={"key": _key(1), "problem": "x"},
      status=422),
    V("owner", "write:draft", ("{draft}",)),
    V("owner", "write:draft", ("{draft}",), form=TWIN, status=422),
    V("owner", "write:draft", ("{draft}",), form={**TWIN, "version": "99", "option_2": "y"},
      status=409),
    V("judge", "judge:turn"),
    V("judge", "judge:local", form={"key": _key(2), "problem": "{held}"}, status=422),
    V("judge", "judge:local", form={"key": _key(3), "problem": "{held}", "choice": "0"}),
    V("judge", "judge:answer", form={"key": _key(4), "problem": "{held}"}, status=422),
    V("judge", "judge:answer", form={"key": _key(5), "problem": "{held}", "choice": "0"}),
    V("judge", "judge:checked", ("gold-a",)),
    V("judge", "judge:checked", ("gold-b",)),
    V("judge", "judge:contest", ("gold-a",), form={"key": _key(6), "text": ""}, status=422),
    V("moderator", "judge:turn"),
    V("moderator", "judge:answer", form={"key": _key(7), "problem": "{held}", "comment": LONG},
      status=409),
    V("other", "judge:turn", status=403),
    V("judge", "judge:history"),
    V("moderator", "judge:history"),
    V("visitor", "judge:agreement"),
    V("moderator", "moderate:queue"),
    V("admin", "moderate:queue", query="state="),
    V("moderator", "moderate:queue", query="state=&text=nothing"),
    *(V("moderator", "moderate:problem", (f"{state}-a",)) for state in w.STATES),
    V("moderator", "moderate:ask", query="action=reject&pick=judging-b:0"),
    V("moderator", "moderate:ask", query="action=withdraw&everything=1&where=state%3D"),
    V("moderator", "moderate:act", form={"key": _key(8), "action": "reject", "pick": "judging-b:0"},
      status=422),
    V("moderator", "moderate:act",
      form={"key": _key(9), "action": "reject", "pick": "held-b:0", **WHY}, status=409),
    V("moderator", "moderate:act",
      form={"key": _key(10), "action": "reject", "pick": "judging-b:0", **WHY}),
    V("admin", "moderate:batch", ("{batch}",)),
    V("admin", "moderate:batch", ("{left alone}",)),
    V("admin", "moderate:undo", form={"key": _key(11), "batch": "{batch}"}),
    V("admin", "moderate:undo", form={"key": _key(12), "batch": "{batch}"}, status=409),
    V("moderator", "moderate:contests"),
    V("moderator", "moderate:settle", ("{contest}",), form={"key": _key(13), "answer": ""},
      status=422),
    V("moderator", "moderate:settle", ("{contest}",),
      form={"key": _key(14), "answer": LONG, "upheld": "1"}),
    V("moderator", "moderate:log"),
    V("moderator", "moderate:log", query="what=nothing"),
    V("moderator", "moderate:people"),
    V("admin", "moderate:people", query="who=nobody"),
    V("moderator", "moderate:agreement"),
    V("moderator", "moderate:agreement", query="who={judge}"),
    V("admin", "moderate:agreement", query="who=nobody"),
    V("admin", "moderate:person", ("{owner}",)),
    V("moderator", "moderate:person", ("{judge}",)),
    V("moderator", "moderate:person", ("{moderator}",)),
    V("moderator", "moderate:appoint", ("{judge}",), form={"key": _key(15), "kind": "pause"},
      status=422),
    V("moderator", "moderate:appoint", ("{judge}",),
      form={"key": _key(16), "kind": "pause", "reason": LONG}),
    V("judge", "judge:turn"),
    V("visitor", "predict:models"),
    V("visitor", "predict:models", before=MODELS),
    V("moderator", "predict:model", ("association",), before=MODELS),
    *(V(role, route, args, **more) for role, route, args, more in take.VISITS),
    *(V(role, route, args, **more) for role, route, args, more in rounds.VISITS),
    *(V(role, route, args, **more) for role, route, args, more in market.VISITS),
    *(V(role, route, args, **more) for role, route, args, more in run.VISITS),
    V("visitor", "perturb:start"),
    V("owner", "perturb:build", ("public-a",)),
    V("owner", "perturb:build", ("public-a",), form={"key": _key(18), "do": "submit"}, status=422),
    V("owner", "perturb:build", ("public-a",), form={"key": _key(19), "do": "check", **BENT}),
    V("owner", "perturb:made", ("{version}",)),
    V("moderator", "perturb:made", ("{version}",)),
    V("moderator", "moderate:problem", ("{version}",)),
    V("owner", "perturb:revise", ("{version}",)),
    V("visitor", "/nothing/is/here", status=404),
    V("visitor", "/problems/", query="&".join(f"a{n}=" for n in range(501)), status=400),
    V("owner", "people:hide", form={"key": _key(17)}, forged=True, status=403),
    V("owner", "read:file", ("problems.csv",), status=429, before=FULL),
    V("other", "people:erase", form={"sure": "on", "password": w.PASSWORD}),
    V("visitor", "families:index"),
    V("visitor", "families:index", query=f"q={LONG}"),
    V("visitor", "families:family", ("public-a",)),
    V("owner", "families:family", ("public-a",), query="depth=edit"),
    V("visitor", "families:models"),
    V("admin", "moderate:batch", ("{waiting batch}",)),
    V("moderator", "moderate:batch", ("{stopped batch}",)),
    V("moderator", "moderate:batch", ("{failed batch}",)),
    V("admin", "run:job", ("{waiting batch}",)),
    V("admin", "run:job", ("{stopped batch}",)),
    V("admin", "run:job", ("{votes}",)),
    # The last one breaks the site.
    V("moderator", "moderate:contests", status=503, before=BROKEN),
)  # fmt: skip

NO_PAGE = {
    "perturb:check": "a part of perturb:build",
    "perturb:check_revision": "a part of perturb:revise",
    "perturb:predictions": "a part of perturb:made",
    "families:below": "a part of families:family",
    "families:file": "a file",
    "predict:again": "leads to predict:model",
    "people:data": "a file",
    "people:hide": "leads to people:me",
    "people:logout": "leads to read:home",
    "people:take_back": "leads to people:invitations",
    **rounds.NO_PAGE,
    **market.NO_PAGE,
    **run.NO_PAGE,
    "read:card_text": "a file",
    "write:check": "a part of write:draft",
    "write:save": "a part of write:draft, or JSON",
    "write:discard": "leads to write:start",
    "write:withdraw": "leads to write:twin",
    "write:revise": "leads to write:draft",
    "judge:next": "leads to judge:turn",
    "judge:skip": "leads to judge:turn",
    "judge:undo": "leads to judge:turn",
    "moderate:job": "a part of moderate:batch and moderate:person",
    "take:count": "leads to take:round",
    **api.NO_PAGE,
}
"""Routes that show no page of their own, and what they do instead."""


def staged() -> dict[str, str]:
    """Create the small site of `world` and what else pages need; return references by name."""
    from django.conf import settings

    from winosmith.web.jobs import BATCH, create_job
    from winosmith.web.moderate import batches, people
    from winosmith.web.moderate.models import Batch
    from winosmith.web.people.accounts import create_reset_link
    from winosmith.web.people.models import get_pseudonym
    from winosmith.web.problems.models import Problem

    world = w.make()
    admin, judge = world.people["admin"], world.people["judge"]
    twin = world.problems["rejected"].twin
    twin.topic = twin.anchor = LONG[:60]
    twin.save()
    vote(judge, world.problems["rejected"], 1, local_choice=0, ambiguous=True, comment=LONG)
    Problem.objects.filter(ref="held-a").update(hints=[f"looks like {LONG}"])
    for state in ("waiting", "stopped", "failed"):
        job = create_job(
            admin, BATCH, {}, state=state, done=3, total=40, error=LONG if state == "failed" else ""
        )
        world.refs[f"{state} batch"] = job.mark
        Batch.objects.create(mark=job.mark, actor=admin, action="withdraw", where="state=", job=job)
    _agreeing([world.people[name] for name in ("judge", "moderator", "admin", "owner", "other")])
    left = batches.apply_to_selected(admin, "let-through", [("held-a", 99), ("held-b", 0)], LONG)
    people.change_person(admin, world.people["owner"], "pause", LONG)
    refs = {
        **world.refs,
        "session cookie": settings.SESSION_COOKIE_NAME,
        "way back": create_reset_link(world.people["other"], 30).split("/")[-2],
        "left alone": left.mark,
        "judge": get_pseudonym(judge),
        "moderator": get_pseudonym(world.people["moderator"]),
    }
    return {name: str(value) for name, value in refs.items()}


def _agreeing(people: list[Any]) -> None:
    """Create votes of five people: the first two always agree, and often differ from the others."""
    from django.utils import timezone

    from winosmith.web.judge.models import Slot

    now = timezone.now()
    for at in range(40):
        text = f"The cup {at} hit the jug and the _ broke."
        problem = single(f"alike-{at}", text, answer=at % 2, state="rejected")
        Slot.objects.bulk_create(
            Slot(
                problem=problem, twin=problem.twin, n=n, place=0, holder=person, open=False,
                choice=int(at % 2 == (at % 5 < 3 if n < 2 else at % 9 == n)), answered_at=now,
                provisional=n == 4 and at < 3,
            )
            for n, person in enumerate(people)
        )  # fmt: skip


def routes() -> Iterator[tuple[str, Any]]:
    """Yield every route of the site: its name ("" if it has none) and its pattern."""
    return ((name, pattern) for name, _address, pattern in addresses())


def addresses() -> Iterator[tuple[str, str, Any]]:
    """Yield every route of the site: its name, its address with placeholders, and its pattern."""
    from django.urls import get_resolver

    def walk(resolver: Any, spaces: tuple[str, ...], start: str) -> Iterator[tuple[str, str, Any]]:
        for pattern in resolver.url_patterns:
            address = f"{start}{pattern.pattern}"
            if hasattr(pattern, "url_patterns"):
                inside = (*spaces, pattern.namespace) if pattern.namespace else spaces
                yield from walk(pattern, inside, address)
            else:
                yield ":".join((*spaces, pattern.name or "")), address, pattern

    return walk(get_resolver(), (), "/")
