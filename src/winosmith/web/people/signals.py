"""What other areas may join: tidying up, and erasing somebody.

Receivers run inside the same transaction. `tidying` comes with `now` and `before` (what is older
goes), and a receiver returns how many rows it deleted; `erasing` comes with `person` and `texts`
(whether unreleased text goes, too).
"""

from __future__ import annotations

from django.dispatch import Signal

tidying = Signal()
erasing = Signal()
