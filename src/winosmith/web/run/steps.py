"""What an admin does next on a new site: each step with how it stands, and where it is done."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db.models import Count, Q
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _, ngettext

from winosmith.web._rules import GROUPS, SiteRules, choosable, settings_of
from winosmith.web.jobs import BACKUP, SETTINGS, Job
from winosmith.web.judge.trust import askable_questions, enough_gold, judges_of_one_address
from winosmith.web.market.models import Study
from winosmith.web.people import addresses
from winosmith.web.people.models import Invitation, Person, pseudonym
from winosmith.web.people.privacy import to_erase_again
from winosmith.web.predict.asking import current_models, state_of
from winosmith.web.problems.models import Problem
from winosmith.web.take.models import Round

FRESH = timedelta(days=7)
"""For which a backup is as good as a new one here."""


@dataclass(frozen=True, slots=True)
class Step:
    """One thing to do.

    Attributes:
        title: what.
        why: what it is for, in a sentence.
        state: how it stands, in words.
        done: nothing is left to do.
        needed: a site does not go without it.
        to: the address of the page where it is done.
        act: what the link there says.
    """

    title: str
    why: str
    state: str
    done: bool
    needed: bool
    to: str
    act: str


def steps() -> list[Step]:
    """Return the steps in the order in which they are best done."""
    return [
        _name(),
        _rules(),
        _problems(),
        _gold(),
        _backup(),
        _invitations(),
        _model(),
        _test(),
        _study(),
    ]


def left(found: list[Step]) -> int:
    """Return how many needed steps are not done."""
    return sum(step.needed and not step.done for step in found)


def faults() -> list[str]:
    """Return what is wrong with the site and changes verdicts, in sentences."""
    found = addresses.faults()
    if judges := judges_of_one_address():
        told = _(
            "All %d judges of an hour had one address, so that their votes decide nothing. If they "
            "are not in one place, a proxy is missing in site.toml (proxies); if they are, set "
            "hold_accounts to 0 for that time."
        )
        found.append(told % judges)
    if people := to_erase_again():
        told = _(
            "This site comes from a backup. Erased since: %(names)s. Run on the server: "
            "winosmith admin erase-again %(folder)s"
        )
        names = ", ".join(pseudonym(person) for person, _texts in people)
        found.append(told % {"names": names, "folder": settings.SITE.folder})
    return found


def _name() -> Step:
    rules = settings.RULES
    named = rules.title != SiteRules().title
    return Step(
        _("Enter a name and a contact for the site"),
        _("The name is at the top of each page, the contact at the bottom."),
        ", ".join(
            [
                rules.title if named else _("still called %s") % rules.title,
                rules.contact or _("no contact yet"),
            ]
        ),
        named and bool(rules.contact),
        True,
        f"{reverse('run:settings')}#name",
        _("Name and contact"),
    )


def _rules() -> Step:
    rules = settings.RULES
    judges = ngettext("%d judge a problem", "%d judges a problem", rules.judges) % rules.judges
    join = _("everyone can sign up") if rules.signup == "open" else _("accounts only by invitation")
    others = choosable().keys() - settings_of(GROUPS[0]).keys()
    looked = bool(settings.SITE.fixed & others) or Job.objects.filter(kind=SETTINGS).exists()
    return Step(
        _("Check the rules"),
        _("Who may take part, how many judge a problem, and when votes wait for a moderator."),
        f"{judges}, {join}",
        looked,
        True,
        f"{reverse('run:settings')}#people",
        _("Rules"),
    )


def _problems() -> Step:
    counts = Problem.objects.filter(gold=False).aggregate(
        all=Count("pk"), public=Count("pk", filter=Q(public=True))
    )
    told = ngettext("%d problem", "%d problems", counts["all"]) % counts["all"]
    public = ngettext("%d of them public", "%d of them public", counts["public"]) % counts["public"]
    return Step(
        _("Import problems"),
        _(
            "From a file, to be judged or as part of the set. People can also "
            "write all problems on the site."
        ),
        f"{told}, {public}" if counts["all"] else _("none yet"),
        counts["all"] > 0,
        False,
        reverse("run:import"),
        _("Import problems"),
    )


def _gold() -> Step:
    wanted = settings.RULES.training_questions
    there = askable_questions().values("twin").distinct().count()
    if there < wanted:
        state = _("%(there)d of the %(wanted)d needed for training") % {
            "there": there,
            "wanted": wanted,
        }
    else:
        state = ngettext("%d question", "%d questions", there) % there
    return Step(
        _("Add questions with a known answer"),
        _("Gold questions train judges and show who reads carefully. They are never in the data."),
        state,
        bool(there) if not wanted else enough_gold(),
        True,
        f"{reverse('run:import')}?as=gold",
        _("Import gold questions"),
    )


def _invitations() -> Step:
    accounts = Person.objects.filter(anonymous=False, hired=False, erased=None).count()
    open_ = Invitation.objects.filter(used=None, person=None, expires__gt=timezone.now()).count()
    told = ngettext("%d account", "%d accounts", accounts) % accounts
    links = ngettext("%d link works", "%d links work", open_) % open_
    return Step(
        _("Invite people"),
        _("A link makes somebody a contributor, a judge or a moderator. Two moderators are best."),
        f"{told}, {links}",
        accounts > 1 or open_ > 0,
        True,
        reverse("people:invitations"),
        _("Invitations"),
    )


def _model() -> Step:
    models = current_models()
    alive = sum(state_of(model)[0] for model in models)
    return Step(
        _("Check that models answer"),
        _("They show what a model can guess. Other models are added in site.toml on the server."),
        _("%(alive)d of %(all)d running") % {"alive": alive, "all": len(models)}
        if models
        else _("none"),
        bool(models) and alive == len(models),
        False,
        reverse("predict:models"),
        _("Models"),
    )


def _test() -> Step:
    counts = Round.objects.aggregate(
        all=Count("pk"), open=Count("pk", filter=Q(state=Round.State.OPEN))
    )
    return _counted(
        _("Test problems on people"),
        _("A human test measures how well people solve problems that nobody has seen."),
        counts,
        reverse("run:tests"),
        _("Human tests"),
    )


def _study() -> Step:
    counts = Study.objects.aggregate(
        all=Count("pk"), open=Count("pk", filter=Q(closed__isnull=True))
    )
    return _counted(
        _("Pay people of a crowd market"),
        _("A study link lets them judge or write here, and the ledger shows each person’s pay."),
        counts,
        reverse("run:studies"),
        _("Studies"),
    )


def _counted(title: str, why: str, counts: dict[str, Any], to: str, act: str) -> Step:
    told = _("%(all)d made, %(open)d open") % counts if counts["all"] else _("none yet")
    return Step(title, why, told, counts["all"] > 0, False, to, act)


def _backup() -> Step:
    last = Job.objects.filter(kind=BACKUP, state=Job.State.DONE).order_by("-pk").first()
    return Step(
        _("Make a backup"),
        _("It contains the whole site with its key, and stays on the server."),
        _("the last one of %s") % f"{date_format(last.at, _('j M Y, H:i'))} UTC"
        if last
        else _("none made in the browser yet"),
        last is not None and last.at > timezone.now() - FRESH,
        True,
        reverse("run:backups"),
        _("Backups"),
    )
