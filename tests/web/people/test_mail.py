"""Mail through an SMTP server: confirmation of addresses, and password resets."""

import re
import socketserver
import threading
from base64 import urlsafe_b64decode
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from email import message_from_string, policy
from typing import Any

import pytest
from django.conf import settings
from django.test import override_settings
from django.utils import timezone

from tests import forking
from tests.web.making import fresh
from tests.web.serving import PASSWORD
from tests.web.working import work_off
from winosmith.errors import InputError, RecipeError
from winosmith.web._rules import MAIL_PASSWORD, Mail, SiteRules
from winosmith.web.jobs import MAIL, Job, UnavailableError, queue_job, run_next_job
from winosmith.web.people import news as mail
from winosmith.web.people.accounts import (
    create_emailed_reset_link,
    end_access,
    find_invitation,
    set_new_password,
)
from winosmith.web.people.models import Person
from winosmith.web.people.news import STALE
from winosmith.web.people.privacy import erase, export_personal_data

ADDRESS = "ann@example.org"


class Post(socketserver.ThreadingTCPServer):
    """A minimal SMTP server (RFC 5321) that keeps the mails it accepts."""

    allow_reuse_address = daemon_threads = True

    def __init__(self) -> None:
        self.taken: list[tuple[list[str], Any]] = []
        self.refused = ""  # an address
        self.code = 550
        super().__init__(("127.0.0.1", 0), _Talk)


class _Talk(socketserver.StreamRequestHandler):
    server: Post

    def handle(self) -> None:
        """Talk with one client until it leaves."""
        to: list[str] = []
        self._say("220 tests")
        while line := self.rfile.readline().decode().strip():
            word = line[:4].upper()
            if word == "QUIT":
                self._say("221 bye")
                return
            if word == "RCPT":
                to.append(line.partition("<")[2].partition(">")[0])
                if to[-1] == self.server.refused:
                    self._say(f"{self.server.code} <{to.pop()}> is not served")
                    continue
            if word == "DATA":
                self._say("354 go on")
                body = []
                while (part := self.rfile.readline().decode()) != ".\r\n":
                    body.append(part)
                read = message_from_string("".join(body), policy=policy.default)
                self.server.taken.append((to, read))
                to = []
            self._say("250 ok")

    def _say(self, text: str) -> None:
        self.wfile.write(f"{text}\r\n".encode())


@pytest.fixture
def post() -> Iterator[Post]:
    """Run a mail server."""
    with Post() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def _link(message: Any) -> str:
    found = re.search(r"http://\S+", message.get_content())
    return found[0]


@pytest.fixture
def mailing(db: Any, post: Post) -> Iterator[None]:
    """Configure the site with the mail server."""
    mail = Mail("127.0.0.1", "twins@example.org", port=post.server_address[1], security="none")
    with override_settings(
        RULES=replace(settings.RULES, mail=mail),
        DEFAULT_FROM_EMAIL="twins@example.org",
        EMAIL_BACKEND="django.core.mail.backends.smtp.EmailBackend",
        EMAIL_HOST="127.0.0.1",
        EMAIL_PORT=post.server_address[1],
    ):
        yield


def test_lost_password_can_be_reset_by_mail(mailing, post, ann, visit):
    """The address must be confirmed first. The link works once."""
    stranger = visit()
    browser = visit(ann)
    wrong = browser.post("/people/mail/", {"email": ADDRESS, "password": "a guess"})
    assert (wrong.status_code, "This password is not correct." in wrong.text) == (422, True)
    browser.post("/people/mail/", {"email": ADDRESS, "password": PASSWORD})
    assert run_next_job([MAIL])
    (to, message) = post.taken[0]
    assert (to, message["From"]) == ([ADDRESS], "twins@example.org")
    assert (
        'name="password"' in stranger.get(_link(message), follow=True).text
    )  # asks to log in first
    assert Person.objects.get(pk=ann.pk).email == ""
    assert "Your address has been confirmed." in browser.get(_link(message), follow=True).text
    assert Person.objects.get(pk=ann.pk).email == ADDRESS
    lost = "/people/password/lost/"
    said = [stranger.post(lost, {"email": given}) for given in ("nobody@example.org", ADDRESS)]
    assert [answer.status_code for answer in said] == [200, 200]
    assert len({re.sub(r'middlewaretoken" value="\w+"', "", one.text) for one in said}) == 1
    work_off()
    assert [to for to, _message in post.taken] == [[ADDRESS]] * 2
    link, new = _link(post.taken[1][1]), "jugs-and-lamps"
    assert "too short" in stranger.post(link, {"password": "1", "again": "1"}).text
    changed = stranger.post(link, {"password": new, "again": new}, follow=True)
    assert "The password was changed." in changed.text
    assert "About you" in stranger.get("/people/").text
    assert "works only once" in visit().get(link).text
    old = visit().post("/people/login/", {"name": "ann", "password": PASSWORD})
    assert "The name or the password is not correct." in old.text


def test_requests_for_mails_are_limited(mailing, post, visit):
    """Unknown addresses have the limit, too."""
    form = {"email": "nobody@example.org"}
    asks = [visit().post("/people/password/lost/", form).status_code for _ in range(6)]
    assert asks == [200] * 5 + [429]
    work_off()
    assert post.taken == []


def test_site_without_mail_server_has_no_pages_of_mail(db, person, visit):
    ann = visit(person("ann"))
    for path in ("password/lost/", "mail/", "mail/x/"):
        assert ann.get(f"/people/{path}").status_code == 404
    assert "Add an address" not in ann.get("/people/").text
    assert "/people/password/lost/" not in visit().get("/people/login/").text


def test_erasure_deletes_the_address(db, person):
    ann = person("ann", email=ADDRESS)
    assert export_personal_data(ann)["email"] == ADDRESS
    erase(ann, True)
    assert fresh(ann).email == ""


def _queue_mail(person: Any) -> None:
    queue_job(
        MAIL,
        person=person.pk,
        email=ADDRESS,
        there="https://twins.example.org",
        language="en",
    )


@pytest.mark.parametrize("fault", ["refused", "unreachable"])
def test_mail_is_retried_after_a_temporary_fault(mailing, ann, post, fault):
    """Code 451 is that of greylisting."""
    _queue_mail(ann)
    post.refused, post.code = (ADDRESS, 451) if fault == "refused" else ("", 550)
    port = post.server_address[1] if fault == "refused" else 1
    with override_settings(EMAIL_PORT=port), pytest.raises(UnavailableError) as raised:
        run_next_job([MAIL])
    assert raised.value.args == (Job.objects.get(kind=MAIL).pk,)
    assert not post.taken
    post.refused = ""
    assert run_next_job([MAIL])
    assert [to for to, _message in post.taken] == [[ADDRESS]]
    assert not Job.objects.filter(kind=MAIL).exists()


def test_refused_mail_is_shown_as_failed_without_the_address(mailing, ann, post, adam, visit):
    """Nobody can retry it, because its address is deleted."""
    _queue_mail(ann)
    post.refused = ADDRESS
    assert run_next_job([MAIL])
    job = Job.objects.get(kind=MAIL)
    assert (job.state, job.asked) == ("failed", {})
    assert "550" in job.error
    page = visit(adam).get("/admin/jobs/").text
    assert job.error in page
    assert ADDRESS not in page
    assert 'value="retry"' not in page
    with pytest.raises(InputError):
        job.retry(Person.objects.get(name="adam"))


def test_mail_older_than_an_hour_is_not_sent(mailing, ann, post):
    _queue_mail(ann)
    Job.objects.filter(kind=MAIL).update(at=timezone.now() - STALE - timedelta(minutes=1))
    assert run_next_job([MAIL])
    job = Job.objects.get(kind=MAIL)
    assert (post.taken, job.state, job.asked) == ([], "failed", {})


def test_address_is_confirmed_only_by_its_owner_and_once(db, ann, bob):
    token = mail.make_address_token(ann, ADDRESS)
    for who, given in ((bob, token), (ann, token[:-2]), (ann, "x")):
        with pytest.raises(InputError, match="no longer works"):
            mail.confirm_address(who, given)
    mail.confirm_address(ann, token)
    assert ann.email == ADDRESS
    with pytest.raises(InputError, match="no longer works"):
        mail.confirm_address(ann, token)


def test_mailed_link_ends_when_access_changes(db, person):
    """A log-out everywhere, a new password and a changed address end it; another mail does not."""
    ann = person("ann", email=ADDRESS)
    for end in (
        lambda: end_access(ann),
        lambda: set_new_password(ann, "jugs-and-lamps"),
        lambda: mail.delete_address(ann),
    ):
        tokens = [
            create_emailed_reset_link(ann, mail.RESET_MINUTES).split("/")[-2] for _ in range(2)
        ]
        assert all(find_invitation(token) for token in tokens)
        end()
        assert not any(find_invitation(token) for token in tokens)


def test_mailed_link_does_not_contain_addresses_or_secrets(db, person):
    ann = person("ann", email="old@example.org")
    first, second = (mail.make_address_token(ann, ADDRESS) for _ in range(2))
    assert first != second
    shown = urlsafe_b64decode(first)
    for hidden in (ADDRESS, "old@example.org", ann.get_session_auth_hash()[:8]):
        assert hidden.encode() not in shown
        assert hidden.encode().hex().encode() not in shown


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("host = 'x'", "sender"),
        ("host = 'x'\nsender = 'a@b'\nport = 0", "port"),
        ("host = 'x'\nsender = 'a@b'\nsecurity = 'ssl'", "starttls"),
        ("host = 'x'\nsender = 'a@b'\npassword = 'x'", "password_file"),
    ],
)
def test_invalid_mail_settings_are_refused(text, said, tmp_path):
    """`site.toml` may not contain the password itself."""
    path = tmp_path / "site.toml"
    path.write_text(f"[mail]\n{text}\n")
    with pytest.raises(RecipeError, match=said):
        SiteRules.read(path)


def test_mail_settings_are_passed_to_django(tmp_path):
    (tmp_path / "site.toml").write_text(
        "[mail]\nhost = 'mail.example.org'\nport = 2525\nsender = 'a@example.org'\n"
    )
    done = forking.script(
        "import sys; from winosmith.web import Site; Site.open(sys.argv[1]).activate();"
        "from django.conf import settings as s;"
        "print(s.EMAIL_BACKEND, s.EMAIL_HOST, s.EMAIL_PORT, s.DEFAULT_FROM_EMAIL)",
        str(tmp_path),
    )
    smtp = "django.core.mail.backends.smtp.EmailBackend"
    assert done.stdout.split() == [smtp, "mail.example.org", "2525", "a@example.org"], done.stderr


def test_mail_password_comes_from_a_file_or_the_environment(tmp_path, monkeypatch):
    """The file has priority; if it is missing, it is reported."""
    monkeypatch.setenv(MAIL_PASSWORD, "of the environment")
    mail = Mail("mail.example.org", "a@example.org")
    assert mail.read_password(tmp_path) == "of the environment"
    filed = replace(mail, password_file="word")
    with pytest.raises(InputError, match="word"):
        filed.read_password(tmp_path)
    (tmp_path / "word").write_text("of the file\nmore\n")
    assert filed.read_password(tmp_path) == "of the file"
