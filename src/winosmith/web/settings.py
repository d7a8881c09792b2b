"""Django's settings for the site in the environment variables; see `Site.get_environment`."""

from __future__ import annotations

import logging
import os
from hashlib import blake2b
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from winosmith.web._site import Site

SITE = Site.from_environment()
RULES = SITE.rules
HERE = Path(__file__).parent

SECRET_KEY = SITE.secret
DEBUG = False
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
ROOT_URLCONF = "winosmith.web.urls"
WSGI_APPLICATION = "winosmith.web.wsgi.application"

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django_htmx",
    "ninja",  # for its page about the API, with Swagger UI
    # Sorted from the lowest layer up. Hooks run in this order; hooks that hide or erase data run in
    # reverse.
    "winosmith.web.people.Config",
    "winosmith.web.problems.Config",
    "winosmith.web.judge.Config",
    "winosmith.web.predict.Config",
    "winosmith.web.read.Config",
    "winosmith.web.families",
    "winosmith.web.perturb",
    "winosmith.web.moderate.Config",
    "winosmith.web.take.Config",
    "winosmith.web.market.Config",
    "winosmith.web.write.Config",
    "winosmith.web.rounds.Config",
    "winosmith.web.run.Config",
    "winosmith.web.api",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "winosmith.web.pages.add_security_headers",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "winosmith.web.pages.reject_nul",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "winosmith.web.people.gates.refusal_middleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [HERE / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "winosmith.web.pages.site_context",
                "winosmith.web.people.gates.account_context",
                "winosmith.web.people.news.badge_context",
            ],
            "builtins": ["winosmith.web.pages"],
            "libraries": {
                "families": "winosmith.web.families.views",
                "market": "winosmith.web.market.workers",
                "reasons": "winosmith.web.moderate.decisions",
                "rounds": "winosmith.web.rounds.results",
                "run": "winosmith.web.run.views",
                "sentences": "winosmith.web.read.views",
            },
        },
    }
]


def _make_postgresql_settings(url: str) -> dict[str, Any]:
    parts = urlsplit(url)
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": unquote(parts.hostname or ""),
        "PORT": str(parts.port or ""),
        # From its second use on, a connection reuses a statement's plan.
        "OPTIONS": {
            "connect_timeout": "5",
            "server_side_binding": True,
            "prepare_threshold": 1,
            **dict(parse_qsl(parts.query)),
        },
        "CONN_MAX_AGE": 600,
        "CONN_HEALTH_CHECKS": True,
    }


DATABASES = {
    "default": _make_postgresql_settings(SITE.database.url)
    if SITE.database.url
    else {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": SITE.database.path,
        "CONN_MAX_AGE": 600,
        "OPTIONS": {
            "timeout": 5,  # seconds (`_lock.MAX_WAIT`)
            # Transactions take the write lock when they begin, so that none fails half-way.
            "transaction_mode": "IMMEDIATE",
            # synchronous=FULL: a commit is on the disk before it is acknowledged, in WAL mode, too.
            # A connection caches only 1 MB, because the kernel caches the file.
            "init_command": (
                "PRAGMA journal_mode=WAL;PRAGMA synchronous=FULL;PRAGMA cache_size=-1000;"
                "PRAGMA temp_store=MEMORY;"
            ),
        },
        # Tests need a real file, because workers and threads share it.
        "TEST": {"NAME": os.environ.get("WINOSMITH_TEST_DATABASE")},
    }
}

AUTH_USER_MODEL = "people.Person"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}", "OPTIONS": options}
    for name, options in (
        ("UserAttributeSimilarityValidator", {"user_attributes": ("name",)}),
        ("MinimumLengthValidator", {}),
        ("CommonPasswordValidator", {}),
        ("NumericPasswordValidator", {}),
    )
]
PASSWORD_HASHERS = [
    "winosmith.web.people.accounts.Argon2",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]
LOGIN_URL = "people:login"
LOGIN_REDIRECT_URL = LOGOUT_REDIRECT_URL = "read:home"

SECURE = bool(SITE.public_url and SITE.public_url.startswith("https://"))
"""Whether the site is served with https, through a proxy."""

ALLOWED_HOSTS = [urlsplit(SITE.public_url).hostname] if SITE.public_url else []
ALLOWED_HOSTS += ["127.0.0.1", "localhost", "[::1]"]
CSRF_TRUSTED_ORIGINS = [SITE.public_url] if SITE.public_url else []
COOKIE_MARK = blake2b(SITE.secret.encode(), digest_size=4, person=b"cookies").hexdigest()
"""Part of the cookie names that distinguishes sites, because a browser shares cookies between all
ports of a host."""
CSRF_COOKIE_NAME = f"csrftoken-{COOKIE_MARK}"
CSRF_COOKIE_HTTPONLY = True
CSRF_COOKIE_SAMESITE = SESSION_COOKIE_SAMESITE = LANGUAGE_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SECURE = SESSION_COOKIE_SECURE = LANGUAGE_COOKIE_SECURE = SECURE
CSRF_FAILURE_VIEW = "winosmith.web.read.views.show_csrf_failure"
SESSION_ENGINE = "winosmith.web.people.gates"
SESSION_COOKIE_NAME = f"{'__Host-' if SECURE else ''}session-{COOKIE_MARK}"
SESSION_COOKIE_AGE = 60 * 60 * 24 * 60
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if SECURE else None
SECURE_HSTS_SECONDS = 31_536_000 if SECURE else 0
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
DATA_UPLOAD_MAX_MEMORY_SIZE = 1_000_000
DATA_UPLOAD_MAX_NUMBER_FIELDS = 500

EMAIL_BACKEND = f"django.core.mail.backends.{'smtp' if RULES.mail else 'dummy'}.EmailBackend"
if RULES.mail:
    EMAIL_HOST, EMAIL_PORT, EMAIL_TIMEOUT = RULES.mail.host, RULES.mail.port, 20
    EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = RULES.mail.user, RULES.mail.read_password(SITE.folder)
    EMAIL_USE_TLS = RULES.mail.security == "starttls"
    EMAIL_USE_SSL = RULES.mail.security == "tls"
    DEFAULT_FROM_EMAIL = RULES.mail.sender

LANGUAGE_CODE = "en"
# Each language has its own name. Add a language when its catalogue is complete
# (docs/how-to/translate.md).
LANGUAGES = [("en", "English")]
LANGUAGE_COOKIE_NAME = "language"
LANGUAGE_COOKIE_AGE = 60 * 60 * 24 * 365
LANGUAGE_COOKIE_HTTPONLY = True
LOCALE_PATHS = [HERE / "locale"]
USE_TZ = True
TIME_ZONE = "UTC"

STATIC_URL = "/static/"
STATICFILES_DIRS = [HERE / "static"]
STATIC_ROOT = SITE.folder / "static"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}
# Messages are in a signed cookie, because sessions would need two more synced writes per message.
MESSAGE_STORAGE = "django.contrib.messages.storage.cookie.CookieStorage"

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(levelname)s %(name)s: %(message)s"}},
    "filters": {
        "secrets": {"()": "winosmith.web.pages.SecretLinkFilter"},
        "addresses": {"()": "winosmith.web.pages.ClientAddressFilter"},
    },
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": logging.WARNING},
    # Only the site's own errors are logged: client errors contain people's addresses and pages.
    "loggers": {
        "django.request": {"level": logging.ERROR, "filters": ["secrets"]},
        "django.security": {"level": logging.CRITICAL},
        "waitress": {"level": logging.ERROR, "filters": ["addresses"]},
    },
}
