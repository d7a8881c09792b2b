"""Somebody who wrote without an account logs in to theirs: what they wrote becomes its own."""

from __future__ import annotations

from django.utils.translation import gettext as _

from winosmith.errors import InputError
from winosmith.web._lock import writing
from winosmith.web.people.models import Agreement, Person


def adopt(account: Person, anonymous: Person) -> None:
    """Move everything of a person without an account to one; they never judge what they wrote.

    What the account has read already it can't have judged fairly: that is withdrawn.

    Raises:
        InputError: the one has no account, or the other has.
    """
    from winosmith.web.judge.models import Seen, Slot
    from winosmith.web.moderate.models import Appeal
    from winosmith.web.problems.models import Event, Twin
    from winosmith.web.write.models import Draft
    from winosmith.web.write.rules import may_withdraw, withdraw

    with writing():
        rows = {
            one.pk: one
            for one in Person.objects.select_for_update()
            .order_by("pk")
            .filter(pk__in=(account.pk, anonymous.pk))
        }
        if rows[account.pk].anonymous or not rows[anonymous.pk].anonymous:
            raise InputError(_("Only what was written without an account can join one."))
        twins = Twin.objects.filter(contributor=anonymous)
        read = list(twins.filter(pk__in=Seen.objects.filter(person=account).values("twin")))
        Slot.objects.filter(contributor=anonymous).update(contributor=account)
        twins.update(contributor=account)
        Draft.objects.filter(person=anonymous).update(person=account)
        Event.objects.filter(actor=anonymous).update(actor=account)
        Appeal.objects.filter(person=anonymous).update(person=account)
        agreed = set(account.agreements.values_list("document_id", flat=True))
        Agreement.objects.filter(person=anonymous).exclude(document__in=agreed).update(
            person=account
        )
        for twin in read:
            twin.contributor = account
            if may_withdraw(account, twin):
                withdraw(account, twin, _("its contributor has read it as a judge"))
        Person.objects.filter(pk=anonymous.pk).update(is_active=False)
        anonymous.sessions.all().delete()
