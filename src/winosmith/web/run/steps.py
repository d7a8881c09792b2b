"""The steps for an admin to set up a new site, each with its state and page."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from django.db.models import Count, Model, Q
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _, ngettext

from winosmith.web._cache import get_cached_stats
from winosmith.web._rules import GROUPS, SiteRules, get_editable, get_settings
from winosmith.web.jobs import BACKUP, SETTINGS, Job
from winosmith.web.judge.trust import count_address_judges, get_askable_questions
from winosmith.web.market.models import Study
from winosmith.web.people import addresses
from winosmith.web.people.accounts import get_active_links
from winosmith.web.people.models import Person, get_pseudonym
from winosmith.web.people.privacy import find_people_to_erase_again
from winosmith.web.predict.asking import check_model, get_current_models
from winosmith.web.problems.models import Problem
from winosmith.web.take.models import Round

MAX_BACKUP_AGE = timedelta(days=7)
"""Maximum age of a backup that counts as recent."""


@dataclass(frozen=True, slots=True)
class Step:
    """A setup step.

    Attributes:
        purpose: The purpose, in a sentence.
        state: The state, in words.
        is_required: Whether every site needs the step.
        url: The URL of the page for the step.
        link_text: The label of the link.
    """

    title: str
    purpose: str
    state: str
    is_done: bool
    is_required: bool
    url: str
    link_text: str


def list_setup_steps() -> list[Step]:
    return [
        _make_name_step(),
        _make_rules_step(),
        _make_problems_step(),
        _make_gold_step(),
        _make_backup_step(),
        _make_invitations_step(),
        _make_model_step(),
        _make_count_step(
            _("Test problems on people"),
            _("A human test measures how well people solve problems that nobody has seen."),
            Round,
            Q(state=Round.State.OPEN),
            reverse("run:tests"),
            _("Human tests"),
        ),
        _make_count_step(
            _("Pay people from a crowd market"),
            _(
                "People judge or write here through a study link, and the study’s page shows "
                "their pay."
            ),
            Study,
            Q(closed__isnull=True),
            reverse("run:studies"),
            _("Studies"),
        ),
    ]


def count_incomplete(steps: list[Step]) -> int:
    return sum(step.is_required and not step.is_done for step in steps)


def list_site_faults() -> list[str]:
    """List the site's faults that an admin must repair, as sentences."""
    found = addresses.list_address_faults()
    if judges := count_address_judges():
        fault = _(
            "All %d judges within an hour had the same address, so their votes can’t decide "
            "problems. If they are in different places, add the missing proxy to `proxies` in "
            "site.toml; otherwise, set `hold_accounts` to 0 for that time."
        )
        found.append(fault % judges)
    if people := find_people_to_erase_again():
        fault = _(
            "This site was restored from a backup. People erased since then: %(names)s. Run on "
            "the server: winosmith admin erase-again %(folder)s"
        )
        names = ", ".join(get_pseudonym(person) for person, _texts in people)
        found.append(fault % {"names": names, "folder": settings.SITE.folder})
    return found


def _make_name_step() -> Step:
    rules = settings.RULES
    named = rules.title != SiteRules().title
    title = rules.title if named else _("default name: %s") % rules.title
    contact = rules.contact or _("no contact yet")
    return Step(
        _("Enter a name and a contact for the site"),
        _("The name is at the top of each page, the contact at the bottom."),
        f"{title}, {contact}",
        named and bool(rules.contact),
        True,
        f"{reverse('run:settings')}#name",
        _("Name and contact"),
    )


def _make_rules_step() -> Step:
    rules = settings.RULES
    judges = ngettext("%d judge per problem", "%d judges per problem", rules.judges) % rules.judges
    join = _("everyone can sign up") if rules.signup == "open" else _("accounts only by invitation")
    others = get_editable().keys() - get_settings(GROUPS[0]).keys()
    looked = bool(settings.SITE.fixed & others) or Job.objects.filter(kind=SETTINGS).exists()
    return Step(
        _("Check the rules"),
        _("Who may take part, how many people judge a problem, and which votes are checked."),
        f"{judges}, {join}",
        looked,
        True,
        f"{reverse('run:settings')}#people",
        _("Rules"),
    )


def _make_problems_step() -> Step:
    counts = get_cached_stats("run.steps.problems", _count_problems)
    total = ngettext("%d problem on the site", "%d problems on the site", counts["all"])
    total %= counts["all"]
    public = ngettext("%d of them public", "%d of them public", counts["public"]) % counts["public"]
    return Step(
        _("Import problems"),
        _(
            "Import a file, to be judged or as valid problems. People can also "
            "write all problems on the site."
        ),
        f"{total}, {public}" if counts["all"] else _("none yet"),
        counts["all"] > 0,
        False,
        reverse("run:import"),
        _("Import problems"),
    )


def _count_problems() -> tuple[int, dict[str, int]]:
    rows = Problem.objects.filter(gold=False)
    counts = rows.aggregate(all=Count("pk"), public=Count("pk", filter=Q(public=True)))
    return counts["all"], counts


def _make_gold_step() -> Step:
    wanted = settings.RULES.training_questions
    count = get_askable_questions().values("twin").distinct().count()
    if count < wanted:
        values = {"count": count, "wanted": wanted}
        state = _("%(count)d of the %(wanted)d needed for training") % values
    else:
        state = ngettext("%d for each judge", "%d for each judge", count) % count
    return Step(
        _("Add questions with a known answer"),
        _("Gold questions train judges and show who reads carefully. They are never in the data."),
        state,
        count >= max(1, wanted),
        True,
        f"{reverse('run:import')}?as=gold",
        _("Import gold questions"),
    )


def _make_invitations_step() -> Step:
    accounts = Person.objects.filter(anonymous=False, hired=False, erased=None).count()
    open_ = get_active_links().filter(person=None).count()
    total = ngettext("%d account", "%d accounts", accounts) % accounts
    links = ngettext("%d active link", "%d active links", open_) % open_
    return Step(
        _("Invite people"),
        _("Create links for contributors, judges and moderators. Two moderators are best."),
        f"{total}, {links}",
        accounts > 1 or open_ > 0,
        True,
        reverse("people:invitations"),
        _("Invitations"),
    )


def _make_model_step() -> Step:
    models = get_current_models()
    alive = sum(check_model(model)[0] for model in models)
    return Step(
        _("Check that the models work"),
        _("Models show which problems are easy to guess. Add other models in site.toml."),
        _("%(alive)d of %(all)d running") % {"alive": alive, "all": len(models)}
        if models
        else _("none"),
        bool(models) and alive == len(models),
        False,
        reverse("predict:models"),
        _("Models"),
    )


def _make_count_step(
    title: str, why: str, table: type[Model], is_open: Q, url: str, action: str
) -> Step:
    counts = table.objects.aggregate(all=Count("pk"), open=Count("pk", filter=is_open))
    state = _("%(all)d created, %(open)d open") % counts if counts["all"] else _("none yet")
    return Step(title, why, state, counts["all"] > 0, False, url, action)


def _make_backup_step() -> Step:
    last = Job.objects.filter(kind=BACKUP, state=Job.State.DONE).order_by("-pk").first()
    return Step(
        _("Make a backup"),
        _("A backup contains the whole site with its key, and stays on the server."),
        _("last backup: %s") % f"{date_format(last.at, _('j M Y, H:i'))} UTC"
        if last
        else _("no backup made in the browser yet"),
        last is not None and last.at > timezone.now() - MAX_BACKUP_AGE,
        True,
        reverse("run:backups"),
        _("Backups"),
    )
