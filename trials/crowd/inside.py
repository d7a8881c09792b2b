"""Direct access to the site's database: people, their sessions, and audits of the data.

These functions run in a separate process (`scenario.py`), in which Django is set up for the site.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from .acts import AcknowledgedWrite


@dataclass(frozen=True)
class Member:
    """A person in the crowd, with the session cookie of their login."""

    name: str
    key: int
    cookies: dict[str, str]


def make_people(prefix: str, count: int, **fields: Any) -> list[Member]:
    """Create people who have accepted the terms and are logged in, each with a session."""
    from winosmith.web._lock import writing
    from winosmith.web.people.models import Person
    from winosmith.web.people.privacy import save_agreement

    made = []
    with writing():
        for number in range(count):
            person = Person.objects.create_user(f"{prefix}-{number}", None, **fields)
            save_agreement(person)
            made.append(Member(person.name, person.pk, _session(person)))
    return made


def _session(person: Any) -> dict[str, str]:
    from importlib import import_module

    from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY

    store = import_module(settings.SESSION_ENGINE).SessionStore()
    store[SESSION_KEY] = str(person.pk)
    store[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
    store[HASH_SESSION_KEY] = person.get_session_auth_hash()
    store.save()
    return {settings.SESSION_COOKIE_NAME: store.session_key}


def make_problems(
    count: int, contributor: int | None = None, *, state: str = "judging"
) -> list[str]:
    """Create problems (two per twin), open to judges if they are judged; return their refs."""
    import secrets

    from winosmith.web._lock import writing
    from winosmith.web.judge.votes import open_slots
    from winosmith.web.problems.models import Event, Problem, Twin

    from .sentences import make_twin

    refs = []
    with writing():
        for number in range(-(-count // 2)):
            twin = Twin.objects.create(
                ref=secrets.token_hex(8), contributor_id=contributor, domain="physical"
            )
            for half in make_twin(f"{state}{number}").halves():
                problem = Problem.objects.create(
                    ref=secrets.token_hex(8),
                    twin=twin,
                    sentence=half[0],
                    options=["lantern", "kettle"],
                    answer=half[1],
                    state=state,
                )
                Event.objects.create(problem=problem, kind="submit", after=state)
                if state == "judging":
                    open_slots(problem)
                refs.append(problem.ref)
    return refs


@dataclass(frozen=True)
class WriteFaults:
    """Numbers of acknowledged writes that are missing, stored twice, or different."""

    acknowledged: int
    missing: int
    twice: int
    otherwise: int


def audit_writes(acknowledged: Sequence[AcknowledgedWrite]) -> WriteFaults:
    """Look up each acknowledged write; unacknowledged writes may exist at most once."""
    from winosmith.web.judge.models import Slot
    from winosmith.web.problems.models import Event, Problem

    twins: dict[str, Counter[int]] = {}
    for sentence, twin in Problem.objects.values_list("sentence", "twin_id"):
        twins.setdefault(sentence.split()[1], Counter())[twin] += 1
    votes = {
        (holder, ref): choice
        for holder, ref, choice in Slot.objects.exclude(answered_at=None).values_list(
            "holder_id", "ref", "choice"
        )
    }
    acts = Counter(
        reason.split()[-1] for reason in Event.objects.values_list("reason", flat=True) if reason
    )
    missing = otherwise = 0
    for write in acknowledged:
        if write.kind == "twin":
            missing += write.mark not in twins
        elif write.kind == "moderation":
            missing += write.mark not in acts
        elif (write.person, write.mark) not in votes:
            missing += 1
        else:
            otherwise += votes[write.person, write.mark] != write.choice
    twice = sum(set(found.values()) != {2} or len(found) > 1 for found in twins.values())
    twice += sum(count > 1 for mark, count in acts.items() if re.fullmatch(r"m\w+m", mark))
    return WriteFaults(len(acknowledged), missing, twice, otherwise)


@dataclass(frozen=True)
class VoteFaults:
    """Numbers of votes that break each rule, and the number of all votes."""

    votes: int
    too_many: int
    twice: int
    own: int
    both_halves: int
    undecided: int

    @property
    def faults(self) -> int:
        """Number of faulty writes."""
        return self.too_many + self.twice + self.own + self.both_halves + self.undecided


def audit_votes() -> VoteFaults:
    """Count votes beyond k, repeated votes, and votes by contributors or readers of a half."""
    from winosmith.web.judge.models import Slot
    from winosmith.web.problems.models import Problem, State

    k = settings.RULES.judges
    rows = list(
        Slot.objects.filter(gold=False, excluded=False)
        .exclude(answered_at=None)
        .values_list("problem_id", "holder_id", "problem__twin__contributor_id", "problem__twin_id")
    )
    a_problem = Counter(row[0] for row in rows)
    a_person = Counter((row[0], row[1]) for row in rows)
    a_twin = Counter((row[3], row[1]) for row in rows)
    states = dict(Problem.objects.filter(pk__in=a_problem).values_list("pk", "state"))
    decided = (State.VALID, State.REJECTED)
    return VoteFaults(
        votes=len(rows),
        too_many=sum(count > k for count in a_problem.values()),
        twice=sum(count > 1 for count in a_person.values()),
        own=sum(holder == contributor for _, holder, contributor, _ in rows),
        both_halves=0
        if settings.RULES.both_halves
        else sum(count > 1 for count in a_twin.values()) - sum(c > 1 for c in a_person.values()),
        undecided=sum(
            (count >= k) != (states[key] in decided)
            for key, count in a_problem.items()
            if states[key] in (State.JUDGING, *decided)
        ),
    )
