"""Safe server addresses, and the servers that get an API key."""

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
def test_https_and_local_addresses_are_accepted(url: str) -> None:
    assert Client("m", url).base_url == url


@pytest.mark.parametrize(
    "url",
    ["http://api.example.com/v1", "http://10.0.0.7:8000/v1", "http://localhost.example.com/v1"],
)
def test_remote_plain_http_needs_insecure(url: str) -> None:
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
def test_invalid_addresses_are_refused(url: str) -> None:
    with pytest.raises(ChatError, match="it should look like https://host/v1"):
        Client("m", url)


@pytest.mark.parametrize(
    "url", ["https://me:hush@host/v1", "https://host/v1?api-key=hush", "https://host/v1#hush"]
)
def test_secret_in_an_address_is_refused_and_not_repeated(url: str) -> None:
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
def test_openai_key_is_sent_only_to_remote_https_servers(
    monkeypatch: pytest.MonkeyPatch, url: str, variable: str | None, key: str | None
) -> None:
    """A key from a named variable is sent to any server."""
    monkeypatch.setenv("OPENAI_API_KEY", "general")
    monkeypatch.setenv("MINE", " own\n")
    assert find_api_key(url, variable) == key


def test_missing_and_invalid_keys_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a named variable, there may be no key."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("MINE", raising=False)
    assert find_api_key("https://host/v1", None) is None
    with pytest.raises(ChatError, match="MINE is empty"):
        find_api_key("https://host/v1", "MINE")
    monkeypatch.setenv("MINE", "hush\nhush")
    with pytest.raises(ChatError, match="MINE contains characters that are not allowed") as told:
        find_api_key("https://host/v1", "MINE")
    assert "hush" not in str(told.value)
