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

_SAME_SHAPE = str.maketrans("l10", "iio")
"""ASCII characters that many typefaces draw alike, in lower case (UTS 39, table 1)."""


def make_salt() -> str:
    return secrets.token_hex(16)


class PersonManager(BaseUserManager["Person"]):
    def create_user(self, name: str, password: str | None = None, **fields: Any) -> Person:
        person = self.model(**fields)
        person.set_name(self.model.normalize_username(name))
        person.set_password(password)
        person.save(using=self._db)
        return person

    def create_anonymous(self) -> Person:
        return self.create_user(f"anonymous-{secrets.token_hex(12)}", anonymous=True)

    def get_by_natural_key(self, name: str | None) -> Person:
        return self.get(Exact(Lower("name"), Lower(models.Value(name))))


class Person(AbstractBaseUser, PermissionsMixin):
    """A person who takes part, with an account or without one (`anonymous`).

    Everybody may write. The roles are `is_judge`, `is_moderator` and `is_superuser` (admin).

    Attributes:
        hired: Whether the person came by the link of a paid study. Such a person has no password,
            and takes part only in that study.
        look: The name's skeleton, unique among accounts; None if the site chose the name.
        salt: The salt of the pseudonym; an erasure replaces it.
        entry: The salt of log-in sessions; a new value ends all these sessions.
        email: The confirmed address, or "". See `people.news`.
        news_seen: The time of the person's last visit to their news, or None.
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
    salt = models.CharField(max_length=32, default=make_salt, editable=False)
    entry = models.CharField(max_length=32, default=make_salt, editable=False)
    joined = models.DateTimeField(default=timezone.now)
    erased = models.DateTimeField(null=True, blank=True)
    news_seen = models.DateTimeField(null=True, blank=True, editable=False)
    email = models.EmailField(blank=True, default="", editable=False)

    USERNAME_FIELD = "name"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []
    objects: ClassVar[PersonManager] = PersonManager()

    class Meta:
        verbose_name = _("person")
        verbose_name_plural = _("people")
        constraints: ClassVar = [models.UniqueConstraint(Lower("name"), name="name_whatever_case")]

    def set_name(self, name: str) -> None:
        self.name = name
        is_generated = self.anonymous or self.hired or self.erased
        self.look = None if is_generated else get_name_skeleton(name)

    def get_session_auth_hash(self) -> str:
        digest = salted_hmac("people.entry", f"{self.password}:{self.entry}", algorithm="sha256")
        return str(digest.hexdigest())

    @property
    def is_staff(self) -> bool:
        return self.is_superuser

    @property
    def can_moderate(self) -> bool:
        return self.is_active and (self.is_moderator or self.is_superuser)


def split_paragraphs(text: str) -> list[tuple[bool, str]]:
    """Return the paragraphs of a text; the flag marks headings, which end without punctuation."""
    found = [block.strip() for block in text.split("\n\n") if block.strip()]
    return [("\n" not in block and block[-1] not in ".!?:", block) for block in found]


class Document(models.Model):
    """A version of a text that people agree to; its row never changes.

    Attributes:
        licence: The licence named in the text; empty in the contributors' consent.
    """

    class Kind(models.TextChoices):
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

    def get_paragraphs(self) -> list[tuple[bool, str]]:
        return split_paragraphs(self.text)


class Agreement(models.Model):
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
    """A link that creates one account or resets one password; it works once, for a limited time.

    Only a digest is stored, so that readers of the database can't use the link.

    Attributes:
        label: The creator's note; deleted when the link's user or creator is erased.
        person: The person whose password the link resets; None if it creates an account.
        used: The time when the link was used or revoked.
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
    """The number of actions of a person or network in an hour, for rate limits."""

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
    """A log-in session that stores its user in a column, so that the session can be ended.

    Attributes:
        session_key: The digest of the cookie's key; see `gates.SessionStore`.
    """

    session_key = models.CharField(max_length=64, primary_key=True)
    person = models.ForeignKey(
        Person, models.CASCADE, null=True, blank=True, related_name="sessions"
    )


class SiteKey(models.Model):
    """A table with one row: the digest of the key on which the database's pseudonyms depend."""

    digest = models.CharField(max_length=64)

    def __str__(self) -> str:
        return "the site's key"


class Done(models.Model):
    """A submitted form and its result, which is returned again if the form is resubmitted."""

    person = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE)
    key = models.CharField(max_length=64)
    result = models.JSONField(default=dict)
    at = models.DateTimeField(default=timezone.now, db_index=True)

    class Meta:
        app_label = "problems"  # the application that owns the table
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["person", "key"], name="done_once")
        ]

    def __str__(self) -> str:
        return f"a form, {self.at:%Y-%m-%d %H:%M}"


def digest_token(token: str) -> str:
    return sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def make_digest(purpose: str, text: str) -> str:
    message = f"{purpose}\0{text}".encode("utf-8", "surrogatepass")
    return hmac.new(settings.SECRET_KEY.encode(), message, sha256).hexdigest()


def encrypt(purpose: str, value: Any) -> str:
    """Return a JSON value as a string that only the holder of the site's key can read or create.

    Each purpose has its own key.
    """
    return _make_cipher(purpose).encrypt(json.dumps(value).encode()).decode("ascii")


def decrypt(purpose: str, text: str, max_age: int | None = None) -> Any:
    """Return the value that `encrypt` was given, if it is at most `max_age` seconds old.

    Raises:
        cryptography.fernet.InvalidToken: The string was made with another key, was changed, or is
            too old.
    """
    return json.loads(_make_cipher(purpose).decrypt(text.encode("utf-8", "replace"), ttl=max_age))


def _make_cipher(purpose: str) -> Fernet:
    return Fernet(urlsafe_b64encode(bytes.fromhex(make_digest("encryption", purpose))))


def get_pseudonym(person: Person) -> str:
    """Return the person's name in the data: "p-" and 12 hex digits.

    It depends on the site's key and on a salt that an erasure replaces.
    """
    return f"p-{make_digest('pseudonym', f'{person.pk}:{person.salt}')[:12]}"


def check_still_active(person: Person) -> None:
    """Raise InputError if a person was erased, or merged into an account, in the meantime.

    Must be called in a transaction; the person can't be erased until it ends.
    """
    active = Person.objects.select_for_update(no_key=True).filter(pk=person.pk, is_active=True)
    if active.values_list("pk").first() is None:
        raise InputError(gettext("This account was closed in the meantime; nothing was done."))


_PSEUDONYM = re.compile(r"p-[0-9a-f]{12}")
_cached_keys: dict[str, int] = {}
"""For each pseudonym that this process has computed, the person's key. Hits are verified."""

_RECHECKED = 1000
"""Number of people before the newest cached person who are checked again: in PostgreSQL, a person
may become visible after another person with a higher key."""


def find_person(name: str) -> Person | None:
    """Return the person with a pseudonym, or None.

    No table contains pseudonyms, so a stolen table identifies nobody. This process caches computed
    pseudonyms (8 µs each). For an unknown pseudonym, it computes only those of newer people and of
    erased people, whose pseudonyms have changed, so guesses are cheap.
    """
    if not _PSEUDONYM.fullmatch(name):
        return None
    if (found := _find_cached(name)) is None:
        since = max(_cached_keys.values(), default=0) - _RECHECKED
        people = Person.objects.filter(Q(pk__gt=since) | Q(erased__isnull=False))
        for person in people.only("pk", "salt").iterator(chunk_size=5000):
            _cached_keys[get_pseudonym(person)] = person.pk
        found = _find_cached(name)
    return found


def _find_cached(name: str) -> Person | None:
    person = Person.objects.filter(pk=_cached_keys.get(name)).first()
    return person if person is not None and get_pseudonym(person) == name else None


def get_name_skeleton(name: str) -> str:
    """Return the skeleton of a name, which is equal for names that look alike.

    A skeleton ignores case and alphabet: each letter becomes the Latin letter that looks like it. 0
    becomes o, and 1 and l become i. See Unicode Technical Standard 39, "Confusable Detection".

    >>> get_name_skeleton("Раul1") == get_name_skeleton("paull")  # the first two are Cyrillic
    True
    """
    shown = unicodedata.normalize("NFKC", name)
    folded = "".join(map(to_latin, shown)).casefold()
    return "".join(map(to_latin, folded)).translate(_SAME_SHAPE)


def to_latin(letter: str) -> str:
    """Return the ASCII character that a letter looks like, or the letter if there is none."""
    if letter.isascii():
        return letter
    from confusable_homoglyphs.confusables import confusables_data

    found = (each["c"] for each in confusables_data.get(letter, ()))
    sign = next((sign for sign in found if sign.isascii()), letter)
    return "I" if sign == "l" and letter.isupper() else sign
