"""How passwords are kept."""

from __future__ import annotations

from django.contrib.auth.hashers import Argon2PasswordHasher


class Argon2(Argon2PasswordHasher):
    """Argon2id with the least that OWASP asks for: 19 MiB, two passes, one thread.

    Django's own 100 MiB and eight threads take six times as long, and 1.6 GB where sixteen people
    log in at once; the limit on guesses does the rest (OWASP, "Password Storage Cheat Sheet").
    """

    time_cost = 2
    memory_cost = 19 * 1024
    parallelism = 1
