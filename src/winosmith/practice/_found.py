"""How much of what was planted a filter found, and how much else it took."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from winosmith.errors import DataError


@dataclass(frozen=True, slots=True)
class Share:
    """A count out of a total.

    >>> Share(3, 4).value
    0.75
    """

    count: int
    total: int

    @property
    def value(self) -> float | None:
        """The share, 0–1; None of nothing."""
        return self.count / self.total if self.total else None


@dataclass(frozen=True, slots=True)
class Found:
    """What a filter did to the planted and to the sound problems.

    Attributes:
        recall: the planted that it dropped, of all planted.
        false_removals: the sound that it dropped, of all sound.
        by_kind: the recall for each kind of artifact that was present, in the order of the kinds.
    """

    recall: Share
    false_removals: Share
    by_kind: Mapping[str, Share]

    @property
    def precision(self) -> Share:
        """The planted among the dropped."""
        dropped = self.recall.count + self.false_removals.count
        return Share(self.recall.count, dropped)


def found(planted: Mapping[str, str], ids: Iterable[str], dropped: Collection[str]) -> Found:
    """Return how many planted problems a filter dropped, and how many sound ones.

    Args:
        planted: the artifact of each planted problem by its id, as in `PracticeCorpus.planted`;
            ids that the filter did not see do not count.
        ids: the problems that went into the filter.
        dropped: those that it dropped.

    Raises:
        DataError: a dropped problem did not go in.

    >>> result = found({"a": "length", "b": "length", "z": "position"}, "abcdef", {"a", "c"})
    >>> result.recall, result.false_removals
    (Share(count=1, total=2), Share(count=1, total=4))
    """
    seen, gone = set(ids), set(dropped)
    if not gone <= seen:
        raise DataError(
            f"{min(gone - seen)!r} was dropped but did not go in; give all ids that the filter saw"
        )
    by_kind = {
        kind: _share({item for item in seen if planted.get(item) == kind}, gone)
        for kind in sorted({planted[item] for item in seen if item in planted})
    }
    return Found(
        recall=_share({item for item in seen if item in planted}, gone),
        false_removals=_share({item for item in seen if item not in planted}, gone),
        by_kind=by_kind,
    )


def _share(items: set[str], gone: set[str]) -> Share:
    return Share(len(items & gone), len(items))
