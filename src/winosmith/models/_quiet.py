"""Keep transformers from drawing bars and tables of its own while it loads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from winosmith.extras import require

__all__ = ["quiet"]


@contextmanager
def quiet() -> Iterator[None]:
    """Silence transformers below the level of errors, and put its settings back afterwards."""
    logging = require("transformers", "models").utils.logging
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
