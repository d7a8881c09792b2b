"""Mechanical Turk's ExternalQuestion, and the page that it shows in its frame."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode
from xml.sax.saxutils import escape

from winosmith.errors import InputError

__all__ = ["FRAME_POLICY", "entry_query", "external_question", "submit_to"]

NAMESPACE = (
    "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2006-07-14/"
    "ExternalQuestion.xsd"
)
"""MTurk API 2017-01-17, "ExternalQuestion"."""

HEIGHT = 480
"""Pixels of the frame."""

SUBMIT = ("https://www.mturk.com", "https://workersandbox.mturk.com")
"""Where MTurk takes results from a frame, and its sandbox; what `turkSubmitTo` may name."""

FRAMED_BY = (
    "https://worker.mturk.com",
    "https://workersandbox.mturk.com",
    "https://www.mturk.com",
    "https://requester.mturk.com",
    "https://requestersandbox.mturk.com",
)
"""The pages of MTurk that may frame ours: for workers, and for requesters who look at it."""

FRAME_POLICY = "; ".join(
    (
        "default-src 'none'",
        "style-src 'self'",
        "img-src 'self' data:",
        f"form-action {' '.join(SUBMIT)}",
        f"frame-ancestors {' '.join(FRAMED_BY)}",
        "base-uri 'none'",
    )
)
"""The content policy of the one page that may be framed; it has no scripts and no cookies."""


def external_question(address: str, path: str) -> str:
    """Return the XML of an ExternalQuestion that shows a study's frame.

    >>> print(external_question("https://twins.example.org", "/study/x/frame/"))
    <?xml version="1.0" encoding="UTF-8"?>
    <ExternalQuestion xmlns="http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2006-07-14/ExternalQuestion.xsd">
      <ExternalURL>https://twins.example.org/study/x/frame/</ExternalURL>
      <FrameHeight>480</FrameHeight>
    </ExternalQuestion>

    Raises:
        InputError: the address is no https address; MTurk takes no other.
    """
    if not address.startswith("https://"):
        raise InputError(f"MTurk shows pages of https addresses alone, not of {address}")
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<ExternalQuestion xmlns="{NAMESPACE}">\n'
        f"  <ExternalURL>{escape(address.rstrip('/') + path)}</ExternalURL>\n"
        f"  <FrameHeight>{HEIGHT}</FrameHeight>\n"
        "</ExternalQuestion>"
    )


def submit_to(query: Mapping[str, str]) -> str:
    """Return where the frame's form sends its code: MTurk itself, whatever else a link names."""
    named = query.get("turkSubmitTo", "").rstrip("/")
    return f"{named if named in SUBMIT else SUBMIT[0]}/mturk/externalSubmit"


def entry_query(query: Mapping[str, str]) -> str:
    """Return the parameters with which the study is opened from the frame."""
    return urlencode({name: query.get(name, "") for name in ("workerId", "assignmentId", "hitId")})
