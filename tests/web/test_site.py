"""A site's folder: its key, its settings and its database."""

import stat
from concurrent.futures import ThreadPoolExecutor

import pytest

from winosmith.errors import InputError, RecipeError
from winosmith.web import Site, SiteRules


def test_key_is_created_once_and_private(tmp_path):
    first, again = Site.open(tmp_path / "site"), Site.open(tmp_path / "site")
    secret = tmp_path / "site" / "secret"
    assert first.secret == again.secret == secret.read_text().strip()
    assert len(first.secret) >= 50
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600


def test_simultaneous_openings_of_a_new_site_share_one_key(tmp_path):
    with ThreadPoolExecutor(16) as threads:
        keys = set(threads.map(lambda _: Site.open(tmp_path / "site").secret, range(16)))
    assert len(keys) == 1
    assert [path.name for path in (tmp_path / "site").iterdir()] == ["secret"]


def test_key_readable_by_others_is_refused(tmp_path):
    Site.open(tmp_path)
    (tmp_path / "secret").chmod(0o644)
    with pytest.raises(InputError, match="chmod 600"):
        Site.open(tmp_path)


def test_empty_key_is_refused(tmp_path):
    """It is not replaced, because sessions and pseudonyms depend on the key."""
    (tmp_path / "secret").touch(mode=0o600)
    with pytest.raises(InputError, match="restore it from a backup"):
        Site.open(tmp_path)


def test_missing_key_of_an_existing_site_is_not_replaced(tmp_path):
    """A new key would change all pseudonyms."""
    Site.open(tmp_path)
    (tmp_path / "secret").unlink()
    (tmp_path / "site.sqlite3").touch()
    with pytest.raises(InputError, match="restore the file from a backup"):
        Site.open(tmp_path)
    assert not (tmp_path / "secret").exists()


def test_path_of_a_file_is_refused(tmp_path):
    (tmp_path / "x").write_text("")
    with pytest.raises(InputError, match="is a file"):
        Site.open(tmp_path / "x")


@pytest.mark.parametrize("url", ["http://twins.example.org", "twins.example.org", "https://"])
def test_public_url_must_be_https_without_a_path(tmp_path, url):
    with pytest.raises(InputError, match=r"give one like .public_url=.https"):
        Site.open(tmp_path, public_url=url)
    with pytest.raises(InputError, match=r"a site can't be served under a path \(/path\)"):
        Site.open(tmp_path, public_url="https://x.org/path")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "twins.example.org"])  # noqa: S104
def test_host_beyond_loopback_needs_a_public_url(tmp_path, host):
    with pytest.raises(InputError, match="public_url="):
        Site.open(tmp_path).check_host(host)
    Site.open(tmp_path, public_url="https://twins.example.org").check_host(host)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "[::1]", "127.8.8.8"])
def test_loopback_host_needs_no_public_url(tmp_path, host):
    Site.open(tmp_path).check_host(host)


def test_location_of_a_database_omits_user_and_password(tmp_path):
    site = Site.open(tmp_path, database="postgresql://ann:secret@db.example.org:5433/twins")
    assert site.database.location == "postgresql://db.example.org:5433/twins"
    assert site.database.name == "twins"


def test_database_other_than_postgresql_is_refused(tmp_path):
    with pytest.raises(InputError, match="is not a postgresql"):
        Site.open(tmp_path, database="mysql://x/y")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("judges = 4", "must be odd"),
        ("judges = 0", "from 1 to 99"),
        ("judges = true", "from 1 to 99"),
        ("training_right = 9", "training_right is 9, more than training_questions \\(5\\)"),
        ("training_questions = 3", "training_right is 4, more than training_questions \\(3\\)"),
        ('review = "some"', '"none", "flagged" or "all"'),
        ('anonymous = "yes"', "true or false"),
        ("contact = 5", "contact is 5; it must be text"),
        ('[mail]\nhost = "x"\nsendr = "a@b"', "mail. unknown key 'sendr'; did you mean 'sender'"),
        ("judge = 1", "unknown key 'judge'; did you mean 'judges'"),
        ("judges 3", "correct the file"),
    ],
)
def test_invalid_setting_is_refused_with_its_file(tmp_path, text, reason):
    (tmp_path / "site.toml").write_text(text)
    with pytest.raises(RecipeError, match=reason) as refused:
        Site.open(tmp_path)
    assert str(refused.value).startswith(f"{tmp_path / 'site.toml'}: ")
    assert not (tmp_path / "site.sqlite3").exists()


def test_site_toml_overrides_the_defaults(tmp_path):
    text = 'judges = 5\nwords_to_flag = ["idiot"]\ntraining_questions = 0\n'
    (tmp_path / "site.toml").write_text(text)
    rules = Site.open(tmp_path).rules
    assert (rules.judges, rules.words_to_flag, rules.training_questions) == (5, ("idiot",), 0)
    assert rules.lease_minutes == SiteRules().lease_minutes


def test_long_settings_are_accepted(tmp_path):
    long = "x@" * 500
    words = '["", "' + long + '"' + ', "y"' * 9_998 + "]"
    (tmp_path / "site.toml").write_text(
        f'title = "{long}"\ncontact = "{long}"\nwords_to_flag = {words}\n'
    )
    rules = Site.open(tmp_path).rules
    assert (rules.title, rules.contact, rules.words_to_flag[:2]) == (long, long, ("", long))
