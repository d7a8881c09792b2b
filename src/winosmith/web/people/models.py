"""People: who takes part, in which role, what they agreed to, and their pseudonyms."""

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
"""Signs of ASCII that many typefaces draw alike, after capitals are gone (UTS 39, table 1)."""


def new_salt() -> str:
    """Return 32 random hex digits: what a pseudonym, or a log-in, hangs on until they change."""
    return secrets.token_hex(16)


class People(BaseUserManager["Person"]):
    """Makes people."""

    def create_user(self, name: str, password: str | None = None, **fields: Any) -> Person:
        """Make a person with an account."""
        person = self.model(**fields)
        person.call(self.model.normalize_username(name))
        person.set_password(password)
        person.save(using=self._db)
        return person

    def create_superuser(self, name: str, password: str | None = None, **fields: Any) -> Person:
        """Make an admin, who holds every role."""
        every = {"is_judge": True, "is_moderator": True, "is_superuser": True}
        return self.create_user(name, password, **{**every, **fields})

    def create_anonymous(self) -> Person:
        """Make a person without an account, whom only their browser's session knows."""
        return self.create_user(f"anonymous-{secrets.token_hex(12)}", anonymous=True)

    def get_by_natural_key(self, name: str | None) -> Person:
        """Return the person of a name, whatever its capitals; two never differ by them alone."""
        return self.get(Exact(Lower("name"), Lower(models.Value(name))))


class Person(AbstractBaseUser, PermissionsMixin):
    """Somebody who takes part; with an account, or without (`anonymous`).

    Everyone may write. The roles: `is_judge`, `is_moderator`, `is_superuser` (the admin).

    Attributes:
        hired: came by a study link of a crowd market, for one study, without a password.
        look: what no other account's name may look like; None if the site gave the name.
        salt: what the pseudonym hangs on; an erasure throws it away.
        entry: what log-in sessions hang on; a new one ends all of them.
        email: of their own accord, and confirmed; "" for none. See `people.news`.
        mail_news: there is to be a mail when there is news; `mailed` is when the last one went, or
            the address was confirmed.
        news_seen: when they looked at their news last; None if they never did.
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
        """Give the person a name, which looks like nobody else's where they have an account."""
        self.name = name
        given = self.anonymous or self.hired or self.erased
        self.look = None if given else look(name)

    def get_session_auth_hash(self) -> str:
        """Return what a log-in session must carry; it ends with the password and with `entry`."""
        carried = salted_hmac("people.entry", f"{self.password}:{self.entry}", algorithm="sha256")
        return str(carried.hexdigest())

    @property
    def is_staff(self) -> bool:
        """Django's admin pages are the admin's alone."""
        return self.is_superuser

    @property
    def moderates(self) -> bool:
        """Whether the person may decide what becomes of other people's problems."""
        return self.is_active and (self.is_moderator or self.is_superuser)


class Document(models.Model):
    """A text that people agree to; a new version is a new row, and none is ever changed.

    Attributes:
        licence: the licence that the text names; empty in the consent of contributors.
    """

    class Kind(models.TextChoices):
        """What the text is."""

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
        """Return its paragraphs, each with whether it is a heading: a line without a stop."""
        found = [block.strip() for block in self.text.split("\n\n") if block.strip()]
        return [("\n" not in block and block[-1] not in ".!?:", block) for block in found]


class Agreement(models.Model):
    """That a person agreed to a version of a text, and when."""

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
    """A link that makes one account with the roles it names; it works once, for a while.

    Only a digest is kept: anyone who reads the database can't use it.

    Attributes:
        label: for whom, or for what it is, in the words of who made it; seen by those alone who
            may make links, and gone with anyone who used it or made it.
        person: whose password the link sets again; None if it makes an account.
        used: when it was; a link that was taken back is used, too.
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
    """How often somebody did something in an hour: rate limits that all workers share."""

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
    """What a browser's cookie stands for; whose it is stands next to it, so that it can be ended.

    Attributes:
        session_key: the digest of the cookie's key; see `sessions`.
    """

    session_key = models.CharField(max_length=64, primary_key=True)
    person = models.ForeignKey(
        Person, models.CASCADE, null=True, blank=True, related_name="sessions"
    )

    @classmethod
    def get_session_store_class(cls) -> type[Any]:
        """Return what reads and writes these rows."""
        from winosmith.web.people.gates import SessionStore

        return SessionStore


class SiteKey(models.Model):
    """One row: a digest of the key on which the pseudonyms in this database depend."""

    digest = models.CharField(max_length=64)

    def __str__(self) -> str:
        return "the site's key"


class Done(models.Model):
    """That a form was sent, and what came of it: sent again, it does nothing but say so."""

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
    """Return what a table keeps of a token that opens something; 64 hex digits."""
    return sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def keyed(purpose: str, text: str) -> str:
    """Return a digest that only the holder of the site's key can make; 64 hex digits."""
    message = f"{purpose}\0{text}".encode("utf-8", "surrogatepass")
    return hmac.new(settings.SECRET_KEY.encode(), message, sha256).hexdigest()


def encrypt(purpose: str, value: Any) -> str:
    """Return a value as a text that only the holder of the site's key reads, and makes.

    Args:
        purpose: each has a key of its own.
        value: what JSON can hold.
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

    It hangs on the site's key and on a salt that an erasure throws away.
    """
    return f"p-{keyed('pseudonym', f'{person.pk}:{person.salt}')[:12]}"


def stop_if_gone(person: Person) -> None:
    """Stop what waited in a request while its person was erased, or joined to an account.

    The caller is in a transaction; until its end nobody can be erased who is there now.

    Raises:
        InputError: the person takes part no more.
    """
    there = Person.objects.select_for_update(no_key=True).filter(pk=person.pk, is_active=True)
    if there.values_list("pk").first() is None:
        raise InputError(gettext("This account was closed in the meantime; nothing was done."))


_NAME = re.compile(r"p-[0-9a-f]{12}")
_known: dict[str, int] = {}
"""People by pseudonym, as far as this process has made them; a hit is made again to be sure."""

_AGAIN = 1000
"""People before the newest that is known, who are looked at again: in PostgreSQL one may come to be
seen after another with a higher key."""


def person_of(name: str) -> Person | None:
    """Return whom a pseudonym stands for; None for nobody.

    Pseudonyms are in no table, so that a stolen one tells nobody who is who. This process keeps
    those that it has made, 8 µs each. For one that it does not know it makes those of who came
    since, and of the erased, whose pseudonyms are new: anyone who guesses has not all of them made.
    """
    if not _NAME.fullmatch(name):
        return None
    if (found := _who(name)) is None:
        since = max(_known.values(), default=0) - _AGAIN
        people = Person.objects.filter(Q(pk__gt=since) | Q(erased__isnull=False))
        for person in people.only("pk", "salt").iterator(chunk_size=5000):
            _known[pseudonym(person)] = person.pk
        found = _who(name)
    return found


def _who(name: str) -> Person | None:
    person = Person.objects.filter(pk=_known.get(name)).first()
    return person if person is not None and pseudonym(person) == name else None


def look(name: str) -> str:
    """Return what names have in common that look alike, whatever their alphabets and capitals.

    Each letter stands for the Latin one that it is drawn like (Unicode Technical Standard 39,
    "Confusable Detection"); so do 0 for o, and 1 and l for i.

    >>> look("Раul1") == look("paull")  # the first two are Cyrillic
    True
    """
    shown = unicodedata.normalize("NFKC", name)
    folded = "".join(map(latin, shown)).casefold()
    return "".join(map(latin, folded)).translate(_ONE_SHAPE)


def latin(letter: str) -> str:
    """Return the sign of ASCII that a letter is drawn like; itself if there is none."""
    if letter.isascii():
        return letter
    from confusable_homoglyphs.confusables import confusables_data

    found = (each["c"] for each in confusables_data.get(letter, ()))
    sign = next((sign for sign in found if sign.isascii()), letter)
    return "I" if sign == "l" and letter.isupper() else sign
