"""A chat server on this machine that says what a function says, for tests without a model."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from winosmith.chat import Message, Reply

Author = Callable[[list[Message]], Reply | str | int | None]
"""Says what comes next: a reply, a text, an HTTP status that fails, or None to hang up."""


@contextmanager
def chat_server(author: Author) -> Iterator[str]:
    """Serve the OpenAI-compatible chat protocol; give the base URL.

    Args:
        author: called with each conversation, in the order in which they come. A status of HTTP
            (429, 500) is sent as an error, and None drops the connection in the middle.

    >>> import urllib.request
    >>> with chat_server(lambda messages: messages[-1].content.upper()) as url:
    ...     asked = json.dumps({"messages": [{"role": "user", "content": "hm"}]}).encode()
    ...     with urllib.request.urlopen(f"{url}/chat/completions", asked) as answer:
    ...         json.load(answer)["choices"][0]["message"]["content"]
    'HM'
    """
    handler = type("Handler", (_Handler,), {"author": staticmethod(author)})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/v1"
        finally:
            server.shutdown()
            thread.join()


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    author: Author

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        said = self.author([Message(**message) for message in asked["messages"]])
        if isinstance(said, int):
            self._send(said, {"error": {"message": f"scripted trouble {said}"}})
        elif said is None:
            self._send(200, {"choices": []}, cut=True)
        else:
            self._send(200, _completion(said if isinstance(said, Reply) else Reply(said)))

    def _send(self, status: int, body: Any, *, cut: bool = False) -> None:
        raw = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(raw)))
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(raw[: len(raw) // 2] if cut else raw)
        self.close_connection = self.close_connection or cut

    def log_message(self, *_: object) -> None:
        """Keep standard error quiet."""


def _completion(reply: Reply) -> Any:
    told = {"prompt_tokens": reply.tokens_in, "completion_tokens": reply.tokens_out}
    return {
        "object": "chat.completion",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": reply.text},
                "finish_reason": reply.finish or "stop",
            }
        ],
        "usage": {key: value for key, value in told.items() if value is not None},
    }
