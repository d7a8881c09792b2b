"""A small site with a user in each role and a problem in each state, and results of requests.

`outcome` summarizes the result of a request in one letter, a capital one if it changed the
database.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from tests.web.making import vote
from tests.web.market import visits as market
from tests.web.rounds import visits as rounds
from tests.web.run import visits as run
from tests.web.take import visits as take

ROLES = ("visitor", "anonymous", "owner", "other", "judge", "moderator", "admin")
"""In order: no session, no account, the contributor of everything, another user, …"""

STATES = ("public", "held", "judging", "rejected", "withdrawn", "revised", "embargoed", "gold")

PASSWORD = "twins-and-cups"

FLEETING = ("people.Session", "people.Hits", "contenttypes.ContentType", "auth.Permission")
"""Tables that every request may write to; they contain neither rights nor texts."""


@dataclass
class World:
    """The users and objects of a test.

    Attributes:
        people: Users by role; a visitor is not a user.
        problems: The first half of a twin of the owner, by state.
        refs: Values for addresses and forms: a draft, a batch, a contest, …
    """

    people: dict[str, Any] = field(default_factory=dict)
    problems: dict[str, Any] = field(default_factory=dict)
    refs: dict[str, Any] = field(default_factory=dict)


def _people() -> dict[str, Any]:
    from django.contrib.auth.hashers import make_password

    from winosmith.web.people.models import Person
    from winosmith.web.people.privacy import save_agreement

    make, hashed = Person.objects.create_user, make_password(PASSWORD)
    people = {
        "anonymous": Person.objects.create_anonymous(),
        "owner": make("the-owner"),
        "other": make("the-other"),
        "judge": make("the-judge", is_judge=True),
        "moderator": make("the-moderator", is_moderator=True, is_judge=True),
        "admin": make("the-admin", is_judge=True, is_moderator=True, is_superuser=True),
    }
    for role, person in people.items():
        save_agreement(person)
        if role != "anonymous":
            person.password = hashed
            person.save()
    return people


def _twin(owner: Any, name: str) -> Any:
    """Create a twin in a state; return its first half."""
    from winosmith.web.judge.trust import add_gold
    from winosmith.web.judge.votes import open_slots
    from winosmith.web.problems.models import Problem, State, Twin

    state = {"public": "valid", "embargoed": "valid", "gold": "held"}.get(name, name)
    row = Twin.objects.create(ref=f"twin-{name}", contributor=owner, topic="Kettles")
    halves = [
        Problem.objects.create(
            ref=f"{name}-{letter}",
            twin=row,
            sentence=f"The {name} kettle missed the cupboard because the _ was too {word}.",
            options=["kettle", "cupboard"],
            answer=answer,
            state=State(state),
            embargo=name == "embargoed",
        )
        for letter, word, answer in (("a", "large", 0), ("b", "narrow", 1))
    ]
    for half in halves:
        if name == "judging":
            open_slots(half)
        if name == "gold":
            add_gold(half, "A kettle goes into a cupboard.")
    return halves[0]


def make() -> World:
    """Create the users and objects; call it within a transaction that is rolled back."""
    from winosmith.web.jobs import VOTES, create_job
    from winosmith.web.moderate.batches import apply_to_selected
    from winosmith.web.people.accounts import invite
    from winosmith.web.people.models import Invitation, get_pseudonym
    from winosmith.web.write.models import Draft

    world = World(_people())
    owner = world.people["owner"]
    world.problems = {name: _twin(owner, name) for name in STATES if name != "gold"}
    _hold_something(world)  # before gold exists, which the judge might be given instead
    world.problems["gold"] = _twin(owner, "gold")
    _judge_gold(world)
    admin = world.people["admin"]
    batch = apply_to_selected(admin, "reject", [("held-b", 0)], "because")
    votes = create_job(admin, VOTES, {"name": get_pseudonym(owner)}, state="waiting", total=2)
    owner.appointments.create(actor=admin, kind="exclude", reason="because", job=votes)
    world.refs |= {
        "draft": Draft.objects.create(person=owner, topic="Kettles").ref,
        "batch": batch.mark,
        "votes": votes.mark,
        "owner": get_pseudonym(owner),
        "number": owner.pk,
        "token": invite("contributor", 30).split("/")[-2],
        "invitation": Invitation.objects.latest("pk").pk,
    }
    world.refs["version"] = _perturbed(world)
    world.refs |= take.staged(world.people)
    rounds.staged(world.people, world.problems)
    world.refs |= market.staged()
    world.refs |= run.staged(world.people)
    world.refs |= {f"session of {role}": session_of(world.people[role]) for role in ROLES[1:]}
    return world


def _perturbed(world: World) -> str:
    """Let the owner perturb the public problem; return the id of the version, now in judging."""
    from winosmith.web.people.gates import new_key
    from winosmith.web.perturb.rules import Position, SentenceInput, create_version

    public = world.problems["public"]
    typed = SentenceInput(public.sentence.replace("too", "far too"), tuple(public.options), 0)
    return create_version(Position.for_new_version(world.people["owner"], public), typed, new_key())


def _hold_something(world: World) -> None:
    """Lease a problem to the judge."""
    from winosmith.web.judge.turns import lease_next_problem

    slot = lease_next_problem(world.people["judge"])
    assert slot is not None
    world.refs["held"] = slot.ref


def _judge_gold(world: World) -> None:
    """Store two incorrect answers of the judge to gold questions, given just now."""
    from winosmith.web.judge.models import Contest, mark_seen
    from winosmith.web.judge.trust import digest_origin
    from winosmith.web.problems.models import Problem

    judge = world.people["judge"]
    for letter in "ab":
        problem = Problem.objects.get(ref=f"gold-{letter}")
        made = vote(
            judge, problem, 1 - problem.answer, judge.pk, gold=True, right=False,
            ref=problem.ref, origin=digest_origin("192.0.2.7"),
        )  # fmt: skip
        mark_seen(judge, [problem])
    world.refs["contest"] = Contest.objects.create(slot=made, text="It does not fit.").pk


def state_of_all() -> int:
    """Return a hash of all tables except FLEETING."""
    from django.apps import apps
    from django.db import connection

    rows = []
    with connection.cursor() as cursor:
        for model in apps.get_models(include_auto_created=True):
            if model._meta.label not in FLEETING:
                cursor.execute(f'SELECT * FROM "{model._meta.db_table}" ORDER BY 1, 2')  # noqa: S608
                rows.append(tuple(cursor.fetchall()))
    return hash(tuple(rows))


def session_of(person: Any) -> str:
    """Create a session of a user; return its key."""
    from django.conf import settings
    from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY

    from winosmith.web.people.gates import WRITER, SessionStore

    session = SessionStore()
    if person.anonymous:
        session[WRITER] = person.pk
    else:
        session[SESSION_KEY] = str(person.pk)
        session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
        session[HASH_SESSION_KEY] = person.get_session_auth_hash()
    session.save()
    return str(session.session_key)


def browser_of(world: World, role: str, **options: Any) -> Any:
    """Return a test client with the session of a role's user."""
    from django.conf import settings
    from django.test import Client

    browser = Client(**options)
    if role != "visitor":
        browser.cookies[settings.SESSION_COOKIE_NAME] = world.refs[f"session of {role}"]
    return browser


LETTERS = {200: "o", 401: "u", 403: "f", 404: "n", 405: "m", 409: "x", 410: "g", 422: "x", 429: "t"}


def outcome(response: Any, changed: bool) -> str:
    """Return a letter for a response.

    `o` page, `l` redirect to the log-in, `c` redirect to the consent, `d` other redirect, `f`
    forbidden, `n` not found, `m` method not allowed, `x` refused by a rule, `g` gone, `t` too
    many requests, `u` not authenticated; a capital letter if the database changed.
    """
    letter = LETTERS.get(response.status_code, "?")
    if response.status_code == 302:
        to = response.headers["Location"]
        letter = "l" if "/login/" in to else "c" if "/consent/" in to else "d"
    return letter.upper() if changed else letter


@contextmanager
def taken_back() -> Iterator[None]:
    """Roll back at the end what was written."""
    from django.db import transaction

    with transaction.atomic():
        yield
        transaction.set_rollback(True)


@contextmanager
def standing(**rules: Any) -> Iterator[World]:
    """Create the small site with these rules, and no gold questions; roll it back at the end."""
    from django.conf import settings
    from django.test import override_settings

    changed = replace(settings.RULES, **{"gold_every": 0, **rules})
    with override_settings(RULES=changed), taken_back():
        yield make()


def changing(do: Callable[[], Any]) -> tuple[Any, bool]:
    """Call a function on SQLite and roll it back; return its result, and whether rows changed.

    The rows are those of `state_of_all`. It takes longer than most requests, so it is only
    called if a row was written.
    """
    from django.db import connection

    connection.ensure_connection()
    with taken_back():
        written = connection.connection.total_changes
        came = do()
        after = state_of_all() if connection.connection.total_changes != written else None
    return came, after is not None and after != state_of_all()


def ask(
    world: World, role: str, method: str, url: str, data: Callable[[World], dict[str, Any]]
) -> str:
    """Return the outcome of a request by a role's user; roll back what it wrote.

    What `data` writes to fill the form is written before the request.
    """

    def asked() -> Any:
        response = getattr(browser_of(world, role), method)(url, form)
        response.getvalue()
        return response

    with taken_back():
        form = data(world)
        return outcome(*changing(asked))
