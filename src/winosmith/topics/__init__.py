"""Topics: short texts that set contributors writing, and the anchor words that they must use.

WinoGrande's authors got a random article and picked anchor words from it (section 2): what a
writer has to work with is random, so that sentences differ. A source of topics is a folder of
texts, a JSONL file, an https address, or the how-to articles that ship.

>>> from winosmith import topics
>>> topic = topics.shipped().draw(seed=7)
>>> topic == topics.shipped().draw(seed=7), len(topic.anchors)
(True, 3)
"""

from __future__ import annotations

from winosmith.topics._folder import FolderTopics
from winosmith.topics._http import HttpTopics
from winosmith.topics._jsonl import JsonlTopics
from winosmith.topics._open import open_topics
from winosmith.topics._shipped import shipped
from winosmith.topics._topic import Topic, Topics

__all__ = [
    "FolderTopics",
    "HttpTopics",
    "JsonlTopics",
    "Topic",
    "Topics",
    "open_topics",
    "shipped",
]
