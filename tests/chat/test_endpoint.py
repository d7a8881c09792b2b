"""Addresses that are safe to speak to, and keys that go only where they are meant to."""

import pytest

from winosmith.chat import ChatError, Client
from winosmith.chat._server import find_api_key


@pytest.mark.parametrize(
    "url",
    [
        "https://api.example.com/v1",
        "http://localhost:11434/v1",
        "http://127.0.0.1:8000/v1/",
        "http://[::1]:8000/v1",
        "http://vllm.localhost/v1",
    ],
)
def test_https_and_this_machine_are_safe(url: str) -> None:
    """An encrypted address, or one of this machine, is taken."""
    assert Client("m", url).base_url == url


@pytest.mark.parametrize(
    "url",
    ["http://api.example.com/v1", "http://10.0.0.7:8000/v1", "http://localhost.example.com/v1"],
)
def test_plain_http_elsewhere_needs_a_word(url: str) -> None:
    """Another machine without encryption is refused, unless it is allowed expressly."""
    with pytest.raises(ChatError, match="is not encrypted"):
        Client("m", url)
    assert Client("m", url, insecure=True).base_url == url


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost:8000/v1",
        "ftp://host/v1",
        "https://",
        "/v1",
        "https://host:99999/v1",
        "file:///x",
    ],
)
def test_what_is_no_address_is_told(url: str) -> None:
    """What is no http address is refused with what one looks like."""
    with pytest.raises(ChatError, match="it should look like https://host/v1"):
        Client("m", url)


@pytest.mark.parametrize(
    "url", ["https://me:hush@host/v1", "https://host/v1?api-key=hush", "https://host/v1#hush"]
)
def test_a_secret_in_an_address_is_refused(url: str) -> None:
    """A key or password in the address is refused, and not repeated."""
    with pytest.raises(ChatError, match="a key belongs in an environment variable") as told:
        Client("m", url)
    assert "hush" not in str(told.value)


@pytest.mark.parametrize(
    ("url", "variable", "key"),
    [
        ("https://api.example.com/v1", None, "general"),
        ("http://localhost:8000/v1", None, None),
        ("https://localhost:8000/v1", None, None),
        ("http://10.0.0.7/v1", None, None),
        ("http://localhost:8000/v1", "MINE", "own"),
        ("https://api.example.com/v1", "MINE", "own"),
    ],
)
def test_the_general_key_goes_only_to_encrypted_strangers(
    monkeypatch: pytest.MonkeyPatch, url: str, variable: str | None, key: str | None
) -> None:
    """OPENAI_API_KEY is sent by https to other machines; a key that is named goes anywhere."""
    monkeypatch.setenv("OPENAI_API_KEY", "general")
    monkeypatch.setenv("MINE", " own\n")
    assert find_api_key(url, variable) == key


def test_a_key_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable that was named must hold a key; without a name there may be none."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("MINE", raising=False)
    assert find_api_key("https://host/v1", None) is None
    with pytest.raises(ChatError, match="MINE is empty"):
        find_api_key("https://host/v1", "MINE")
    monkeypatch.setenv("MINE", "hush\nhush")
    with pytest.raises(ChatError, match="MINE contains characters that are not allowed") as told:
        find_api_key("https://host/v1", "MINE")
    assert "hush" not in str(told.value)
