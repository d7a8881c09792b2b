"""People: accounts and roles, consent, sessions, digests, and pseudonyms."""

from __future__ import annotations

import hmac
import json
import re
import secrets
import unicodedata
from base64 import urlsafe_b64encode
from hashlib import sha256
from typing import Any, ClassVar

from cryptography.fernet import Fernet
from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.auth.models import PermissionsMixin
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.contrib.sessions.base_session import AbstractBaseSession
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower
from django.db.models.lookups import Exact
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext, gettext_lazy as _

from winosmith.errors import InputError

_ONE_SHAPE = str.maketrans("l10", "iio")
"""Characters of ASCII that many typefaces draw alike, in lower case (UTS 39, table 1)."""


def new_salt() -> str:
    """Return 32 random hex digits, on which a pseudonym or log-ins depend until they change."""
    return secrets.token_hex(16)


class People(BaseUserManager["Person"]):
    """Creates people."""

    def create_user(self, name: str, password: str | None = None, **fields: Any) -> Person:
        """Create a person with an account."""
        person = self.model(**fields)
        person.call(self.model.normalize_username(name))
        person.set_password(password)
        person.save(using=self._db)
        return person

    def create_superuser(self, name: str, password: str | None = None, **fields: Any) -> Person:
        """Create an admin, who has every role."""
        every = {"is_judge": True, "is_moderator": True, "is_superuser": True}
        return self.create_user(name, password, **{**every, **fields})

    def create_anonymous(self) -> Person:
        """Create a person without an account, known only by their browser's session."""
        return self.create_user(f"anonymous-{secrets.token_hex(12)}", anonymous=True)

    def get_by_natural_key(self, name: str | None) -> Person:
        """Return the person of a name in any case; no two names differ only in case."""
        return self.get(Exact(Lower("name"), Lower(models.Value(name))))


class Person(AbstractBaseUser, PermissionsMixin):
    """A person who takes part, with an account or without (`anonymous`).

    Everybody may write. The roles: `is_judge`, `is_moderator`, `is_superuser` (the admin).

    Attributes:
        hired: came by a study link of a crowd market, for one study, without a password.
        look: what no other account's name may look like; None if the site gave the name.
        salt: for the pseudonym; an erasure deletes it.
        entry: for log-in sessions; a new value ends all of them.
        email: optional and confirmed; "" for none. See `people.news`.
        mail_news: send a mail when there is news; `mailed` is when the last one was sent, or the
            address was confirmed.
        news_seen: when they last looked at their news; None if they never did.
    """

    name = models.CharField(
        _("name"), max_length=60, unique=True, validators=[UnicodeUsernameValidator()]
    )
    look = models.CharField(max_length=240, unique=True, null=True, editable=False)
    anonymous = models.BooleanField(default=False)
    hired = models.BooleanField(default=False)
    is_judge = models.BooleanField(default=False)
    is_moderator = models.BooleanField(default=False)
    is_active = models.BooleanField(default=True)
    salt = models.CharField(max_length=32, default=new_salt, editable=False)
    entry = models.CharField(max_length=32, default=new_salt, editable=False)
    joined = models.DateTimeField(default=timezone.now)
    erased = models.DateTimeField(null=True, blank=True)
    news_seen = models.DateTimeField(null=True, blank=True, editable=False)
    email = models.EmailField(blank=True, default="", editable=False)
    mail_news = models.BooleanField(default=False, editable=False)
    mailed = models.DateTimeField(null=True, blank=True, editable=False)

    USERNAME_FIELD = "name"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []
    objects: ClassVar[People] = People()

    class Meta:
        verbose_name = _("person")
        verbose_name_plural = _("people")
        constraints: ClassVar = [models.UniqueConstraint(Lower("name"), name="name_whatever_case")]

    def call(self, name: str) -> None:
        """Give the person a name; an account's name looks like no other account's."""
        self.name = name
        given = self.anonymous or self.hired or self.erased
        self.look = None if given else look(name)

    def get_session_auth_hash(self) -> str:
        """Return the hash of log-in sessions; it changes with the password and `entry`."""
        carried = salted_hmac("people.entry", f"{self.password}:{self.entry}", algorithm="sha256")
        return str(carried.hexdigest())

    @property
    def is_staff(self) -> bool:
        """Only admins see Django's admin pages."""
        return self.is_superuser

    @property
    def moderates(self) -> bool:
        """Whether the person may decide about other people's problems."""
        return self.is_active and (self.is_moderator or self.is_superuser)


def paragraphs(text: str) -> list[tuple[bool, str]]:
    """Return the paragraphs of a text, each with whether it is a heading."""
    found = [block.strip() for block in text.split("\n\n") if block.strip()]
    return [("\n" not in block and block[-1] not in ".!?:", block) for block in found]


class Document(models.Model):
    """A text that people agree to; a new version is a new row, and rows never change.

    Attributes:
        licence: named in the text; empty in the consent of contributors.
    """

    class Kind(models.TextChoices):
        """The kind of the text."""

        CONSENT = "consent", _("consent")
        LICENCE = "licence", _("contributor licence")
        STUDY = "study", _("consent to judge in a paid study")

    kind = models.CharField(max_length=10, choices=Kind)
    version = models.PositiveIntegerField()
    text = models.TextField()
    licence = models.CharField(max_length=60, blank=True)
    created = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["kind", "version"], name="document_version")
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()}, version {self.version}"

    def blocks(self) -> list[tuple[bool, str]]:
        """Return the paragraphs, each with whether it is a heading: a line without a full stop."""
        return paragraphs(self.text)


class Agreement(models.Model):
    """A person's agreement to a version of a text, with its time."""

    person = models.ForeignKey(Person, models.CASCADE, related_name="agreements")
    document = models.ForeignKey(Document, models.PROTECT)
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["person", "document"], name="agreed_once")
        ]

    def __str__(self) -> str:
        return f"{self.document}, {self.at:%Y-%m-%d %H:%M}"


class Invitation(models.Model):
    """A link that creates one account with roles; it works once, for a while.

    Only a digest is stored: a reader of the database can't use it.

    Attributes:
        label: a note of the person who created the link, for those who may create links; deleted
            when its user or creator is erased.
        person: whose password the link resets; None if it creates an account.
        used: when it was used or revoked.
    """

    digest = models.CharField(max_length=64, unique=True)
    label = models.CharField(max_length=100, blank=True, default="")
    is_judge = models.BooleanField(default=False)
    is_moderator = models.BooleanField(default=False)
    is_superuser = models.BooleanField(default=False)
    created = models.DateTimeField(default=timezone.now)
    expires = models.DateTimeField()
    used = models.DateTimeField(null=True, blank=True)
    person = models.ForeignKey(
        Person, models.CASCADE, null=True, blank=True, related_name="ways_back"
    )
    made_by = models.ForeignKey(
        Person, models.SET_NULL, null=True, blank=True, related_name="invitations"
    )
    used_by = models.ForeignKey(
        Person, models.SET_NULL, null=True, blank=True, related_name="invited_by"
    )

    def __str__(self) -> str:
        return f"invitation of {self.created:%Y-%m-%d %H:%M}"


class Hits(models.Model):
    """How often somebody did something in an hour: rate limits shared by all processes."""

    who = models.CharField(max_length=64)
    what = models.CharField(max_length=20)
    hour = models.DateTimeField(db_index=True)
    count = models.PositiveIntegerField(default=0)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["who", "what", "hour"], name="hits_of_an_hour")
        ]

    def __str__(self) -> str:
        return f"{self.count} {self.what}, {self.hour:%Y-%m-%d %H:00}"


class Session(AbstractBaseSession):
    """A log-in session, with its person in a column, so that it can be ended.

    Attributes:
        session_key: the digest of the cookie's key; see `gates.SessionStore`.
    """

    session_key = models.CharField(max_length=64, primary_key=True)
    person = models.ForeignKey(
        Person, models.CASCADE, null=True, blank=True, related_name="sessions"
    )

    @classmethod
    def get_session_store_class(cls) -> type[Any]:
        """Return the store of these rows."""
        from winosmith.web.people.gates import SessionStore

        return SessionStore


class SiteKey(models.Model):
    """One row: a digest of the key on which the pseudonyms in this database depend."""

    digest = models.CharField(max_length=64)

    def __str__(self) -> str:
        return "the site's key"


class Done(models.Model):
    """A form that was sent, and its result: sent again, it only returns the result."""

    person = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE)
    key = models.CharField(max_length=64)
    result = models.JSONField(default=dict)
    at = models.DateTimeField(default=timezone.now, db_index=True)

    class Meta:
        app_label = "problems"  # its table is that application's
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["person", "key"], name="done_once")
        ]

    def __str__(self) -> str:
        return f"a form, {self.at:%Y-%m-%d %H:%M}"


def token_digest(token: str) -> str:
    """Return the stored digest of a token; 64 hex digits."""
    return sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def keyed(purpose: str, text: str) -> str:
    """Return a digest that needs the site's key; 64 hex digits."""
    message = f"{purpose}\0{text}".encode("utf-8", "surrogatepass")
    return hmac.new(settings.SECRET_KEY.encode(), message, sha256).hexdigest()


def encrypt(purpose: str, value: Any) -> str:
    """Return a value as a text that only the holder of the site's key can read or make.

    Args:
        purpose: each has its own key.
        value: for JSON.
    """
    return _fernet(purpose).encrypt(json.dumps(value).encode()).decode("ascii")


def decrypt(purpose: str, text: str, seconds: int | None = None) -> Any:
    """Return a value that `encrypt` was given.

    Raises:
        cryptography.fernet.InvalidToken: another key made the text, it was changed, or it is older
            than `seconds`.
    """
    return json.loads(_fernet(purpose).decrypt(text.encode("utf-8", "replace"), ttl=seconds))


def _fernet(purpose: str) -> Fernet:
    return Fernet(urlsafe_b64encode(bytes.fromhex(keyed("encryption", purpose))))


def pseudonym(person: Person) -> str:
    """Return the person's name in the data: "p-" and 12 hex digits.

    It depends on the site's key and on a salt that an erasure deletes.
    """
    return f"p-{keyed('pseudonym', f'{person.pk}:{person.salt}')[:12]}"


def stop_if_gone(person: Person) -> None:
    """Stop a request whose person was erased, or joined to an account, while it waited.

    The caller is in a transaction; until its end this person can't be erased.

    Raises:
        InputError: the person no longer takes part.
    """
    there = Person.objects.select_for_update(no_key=True).filter(pk=person.pk, is_active=True)
    if there.values_list("pk").first() is None:
        raise InputError(gettext("This account was closed in the meantime; nothing was done."))


_NAME = re.compile(r"p-[0-9a-f]{12}")
_known: dict[str, int] = {}
"""People by pseudonym, as far as this process has computed them; a hit is checked again."""

_AGAIN = 1000
"""People before the newest known one who are checked again: in PostgreSQL, one may become visible
after another with a higher key."""


def person_of(name: str) -> Person | None:
    """Return the person of a pseudonym, or None.

    No table has pseudonyms, so that a stolen one reveals nobody. This process keeps those that it
    has computed, 8 µs each. For an unknown one it computes those of newer people, and of the
    erased, whose pseudonyms are new; so guessing does not compute all of them again.
    """
    if not _NAME.fullmatch(name):
        return None
    if (found := _person_if_current(name)) is None:
        since = max(_known.values(), default=0) - _AGAIN
        people = Person.objects.filter(Q(pk__gt=since) | Q(erased__isnull=False))
        for person in people.only("pk", "salt").iterator(chunk_size=5000):
            _known[pseudonym(person)] = person.pk
        found = _person_if_current(name)
    return found


def _person_if_current(name: str) -> Person | None:
    person = Person.objects.filter(pk=_known.get(name)).first()
    return person if person is not None and pseudonym(person) == name else None


def look(name: str) -> str:
    """Return a text that is equal for names that look alike, in any alphabet and case.

    Each letter becomes the Latin letter that looks like it (Unicode Technical Standard 39,
    "Confusable Detection"); 0 becomes o, and 1 and l become i.

    >>> look("Раul1") == look("paull")  # the first two are Cyrillic
    True
    """
    shown = unicodedata.normalize("NFKC", name)
    folded = "".join(map(latin, shown)).casefold()
    return "".join(map(latin, folded)).translate(_ONE_SHAPE)


def latin(letter: str) -> str:
    """Return the ASCII character that a letter looks like; the letter if there is none."""
    if letter.isascii():
        return letter
    from confusable_homoglyphs.confusables import confusables_data

    found = (each["c"] for each in confusables_data.get(letter, ()))
    sign = next((sign for sign in found if sign.isascii()), letter)
    return "I" if sign == "l" and letter.isupper() else sign
