"""Forms and jobs of an admin; the site's folder is reset after each test."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(autouse=True)
def kept(ready_site: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Yield the site's folder; chosen settings, uploads and backups are deleted after the test.

    Settings that the tests' `site.toml` contains can be chosen, too.
    """
    from django.conf import settings

    from winosmith.web import pages
    from winosmith.web._rules import CHOSEN

    folder, before = ready_site.folder, settings.RULES
    monkeypatch.setattr(settings, "SITE", replace(settings.SITE, fixed=frozenset()))
    yield folder
    for name in ("uploads", "backups"):
        shutil.rmtree(folder / name, ignore_errors=True)
    (folder / CHOSEN).unlink(missing_ok=True)
    pages._applied_stamp[0] = None
    settings.RULES = before


def job_of(answer: Any) -> Any:
    """Return the job to which a form redirects."""
    from winosmith.web.jobs import Job

    assert answer.status_code == 302, answer.text
    return Job.objects.get(mark=answer["Location"].split("/")[-2])


@pytest.fixture
def send(adam: Any, visit: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that sends an admin's form: `send("/admin/import/", as_="gold")`.

    A text named `file`, or bytes, is uploaded as cups.csv.
    """
    from django.core.files.uploadedfile import SimpleUploadedFile

    from winosmith.web.people.gates import new_key

    browser = visit(adam)

    def form(path: str, *, method: str = "post", **data: Any) -> Any:
        if method == "get":
            return browser.get(path)
        if "body" in data:
            return browser.post(path, data["body"], content_type="application/octet-stream")
        if "file" in data:
            raw = data["file"] if isinstance(data["file"], bytes) else data["file"].encode()
            data["file"] = SimpleUploadedFile("cups.csv", raw)
        return browser.post(path, {"key": new_key(), **data})

    return form


@pytest.fixture
def done(adam: Any) -> Callable[[Any], Any]:
    """Return a function that confirms a previewed job, runs it, and returns it."""
    from tests.web.working import work_off
    from winosmith.web.jobs import Job

    def finish(job: Any) -> Any:
        job.confirm(adam)
        work_off()
        return Job.objects.get(pk=job.pk)

    return finish
