"""The release.toml that `winosmith release --template` prints."""

from __future__ import annotations

from winosmith.release._questions import SECTIONS

__all__ = ["TEMPLATE"]

_HEAD = '''# What the people who release a benchmark say of it. The keys above the line of dashes
# are needed; what you leave out of the others is "not stated" in the cards.

name = "my-benchmark"            # letters, digits, '-', '_' and '.'; begins the names of folders
version = "1.0.0"                # a version is released once
date = "2026-11-21"              # the only date in the release
title = "My benchmark"
description = "Twins of sentences with one blank, to be filled by common sense."
licence = "CC-BY-4.0"            # of the whole; an SPDX identifier, or LicenseRef-… with terms
language = ["en"]
authors = ["The authors of my benchmark"]

# ---------------------------------------------------------------------------------------------
# homepage = "https://example.org/my-benchmark"
# citation = """
# @misc{mine2026, title = {My benchmark}, author = {…}, year = {2026}}
# """
# contact = "benchmark@example.org"
# intended_use = "To measure commonsense reasoning; not to train on dev or test."
# known_limits = "English alone; the contributors do not stand for everyone."
# terms = ["attribution"]        # of a LicenseRef-…: attribution, share-alike, non-commercial,
#                                # no-derivatives
# judges = "pseudonyms"          # publish who judged a problem, not only how many; needs --votes
# restored = ["id"]              # withdrawn before, and back now

# Where the problems come from. The name is that of their origin.source; "*" stands for all
# others. Every problem must have a source here, with the licence that the problem itself states.
[[source]]
name = "*"
licence = "CC-BY-4.0"
attribution = "the contributors of my benchmark"
# url = "https://example.org"
# terms = ["attribution"]        # of a LicenseRef-…
# permission = "by letter of the owners, 2026-10-01"   # where the licence does not fit

# Why a problem is no longer there, by its id in the release before.
# [withdrawn]
# "my-benchmark-0123456789ab" = "its contributor asked for it"

# Answers to the questions of the datasheet; what the files tell is filled in beside them.
# [datasheet]
'''


def _template() -> str:
    lines = [_HEAD]
    for title, questions in SECTIONS:
        lines.append(f"# # {title}\n")
        lines += [f'# {key} = ""  # {question}\n' for key, question in questions]
    return "".join(lines)


TEMPLATE = _template()
"""A release.toml with every key; what is not needed is commented out."""
