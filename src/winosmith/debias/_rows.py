"""The input of AFLite: checks, the canonical order, groups, partitions and scratch files.

Groups are numbered from 0. The input specifies groups by one label per row (`encode_group_labels`),
or by the rows of each group, as in `Dataset.groups` (`encode_groups`). `draw_training_rows` draws
the rows on which a classifier is trained (Algorithm 1, line 6, of WinoGrande).

If the rows don't fit into memory, their rotated copy is in a scratch file, which is deleted at the
end of the run. Rows are processed in canonical order, which may differ from their order in a file.
Reading a file in canonical order takes one seek per row (for 4 GB on a network disk, this takes
twelve times as long as sequential reading), and the rows are needed three times. So the rows are
read once sequentially and written to regions of the scratch file; each region is then sorted in
memory.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from winosmith.dataset import Dataset
from winosmith.errors import DataError, OutputError

CHUNK = 2048
"""The number of rows to convert at a time, so that no float64 copy of all data is needed."""

CACHE_LINE = 16
"""The number of float32 values in a cache line of 64 bytes."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows and labels with their canonical order.

    Attributes:
        X: (N, d) rows in the order given.
        order: (N,) the row of `X` at each position of the canonical order.
        y: (N,) float32 labels in canonical order, 0 or 1.
        groups: (N,) group numbers in canonical order, in order of first occurrence; None without
            groups.
    """

    X: NDArray[Any]
    order: NDArray[np.intp]
    y: NDArray[np.float32]
    groups: NDArray[np.intp] | None

    def read_chunk(self, part: slice) -> NDArray[np.float64]:
        """Read a slice of the canonical order as float64, in file order for speed."""
        wanted = self.order[part]
        ascending = np.argsort(wanted)
        chunk = np.empty((len(wanted), self.X.shape[1]))
        chunk[ascending] = self.X[wanted[ascending]]
        return chunk

    def digest(self) -> str:
        """Return a BLAKE2b digest of rows, labels and groups in canonical order."""
        labels = np.empty(len(self.y), np.int16)
        labels[self.order] = self.y
        state = hashlib.blake2b(repr(self.X.shape).encode(), digest_size=16)
        state.update(_digest_rows(self.X, labels)[self.order].tobytes())
        if self.groups is not None:
            state.update(self.groups.astype("<i8").tobytes())
        return state.hexdigest()


def check_rows(
    X: ArrayLike,
    y: ArrayLike,
    ids: Sequence[Hashable] | None,
    groups: Sequence[Hashable] | None,
    scratch: str | Path | None = None,
    *,
    allow_one_label: bool = False,
) -> Rows:
    """Check the input and find its canonical order; see `check_labels` for `allow_one_label`."""
    X = np.asanyarray(X)
    if X.ndim != 2:
        raise DataError(f"X must have 2 dimensions, rows and columns; its shape is {X.shape}")
    if X.dtype.kind not in "fiub":
        raise DataError(f"X must contain real numbers; its type is {X.dtype}")
    if not X.size:
        raise DataError(f"X is empty: its shape is {X.shape}")
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise DataError(f"y must have 1 dimension, one label per row; its shape is {labels.shape}")
    for name, column in (("y", labels), ("ids", ids), ("groups", groups)):
        if column is not None and len(column) != len(X):
            raise DataError(f"X has {len(X)} rows, but {name} has {len(column)} entries")
    classes = check_labels(labels, ids, allow_one_label=allow_one_label)
    folder = choose_scratch_folder(X, scratch)
    if folder is not None:
        check_free_space(folder, 4 * X.size)  # before spending hours on reading X
    if X.dtype != np.float32 or not X.flags.c_contiguous:
        logging.getLogger(__name__).info(
            "X has type %s%s; it is converted %s rows at a time, and its rotated copy is float32",
            X.dtype.name if X.dtype.isnative else f"{X.dtype.name} in another byte order",
            "" if X.flags.c_contiguous else ", not contiguous",
            CHUNK,
        )
    # Integers are always finite.
    for first in range(0, len(X), CHUNK) if X.dtype.kind == "f" else ():
        finite = np.isfinite(X[first : first + CHUNK]).all(axis=1)
        if not finite.all():
            row = first + int(np.argmin(finite))
            place = int(np.argmin(np.isfinite(X[row])))
            raise DataError(
                f"{_format_row(row, ids)} of X contains {X[row, place]} in column {place}; "
                "embed the problem again, or remove it"
            )
    order = _sort_by_content(X, classes) if ids is None else sort_ids(ids)
    numbers = None if groups is None else encode_group_labels(groups, order)
    return Rows(X, order, classes[order].astype(np.float32), numbers)


def check_labels(
    y: ArrayLike, ids: Sequence[Hashable] | None = None, *, allow_one_label: bool = False
) -> NDArray[np.int16]:
    """Check that labels are 0 or 1, and return them as integers.

    `ids` are for error messages. With `allow_one_label`, all labels may be the same, which is valid
    if swapping options flips the sign of vectors: the order of options then has no meaning.
    """
    y = np.asarray(y)
    if y.ndim != 1:
        raise DataError(f"y must have 1 dimension, one label per row; its shape is {y.shape}")
    wrong = np.flatnonzero([label not in (0, 1) for label in y.tolist()])
    if wrong.size:
        row = int(wrong[0])
        raise DataError(
            f"the label of {_format_row(row, ids)} is {y.tolist()[row]!r}; labels are 0 or 1, the "
            f"index of the correct option ({wrong.size} of {len(y)} labels are invalid); for "
            "problems with more options use debias.mirror"
        )
    labels = y.astype(np.int16)
    if not allow_one_label and len(y) and labels.min() == labels.max():
        raise DataError(f"all {len(y)} labels are {labels[0]}; both 0 and 1 must occur")
    return labels


def get_choice_keys(data: Dataset) -> NDArray[np.intp]:
    """Return the index of each problem's correct option, shape (n,).

    Raises:
        DataError: There are no problems, or an answer is withheld.
    """
    if not len(data):
        raise DataError("there are no problems to filter")
    withheld = [problem for problem in data if problem.answer is None]
    if withheld:
        raise DataError(
            f"the answer to the problem {withheld[0].id!r} is withheld; a filter needs answers, so "
            f"remove the {len(withheld)} problems without one"
        )
    return np.array(data.answers, np.intp)


def get_problem_labels(data: Dataset) -> NDArray[np.int8]:
    """Return the answers to two-option problems as labels, 0 or 1, shape (n,).

    Raises:
        DataError: The problems are invalid for `get_choice_keys`, or a problem has more than two
            options.

    >>> from winosmith import Problem
    >>> get_problem_labels(Dataset([Problem("a", "A _ b.", ("x", "y"), 1)])).tolist()
    [1]
    """
    many = [problem for problem in data if len(problem.options) > 2]
    if many:
        raise DataError(
            f"the problem {many[0].id!r} has {len(many[0].options)} options; this filter needs "
            f"two, so remove the {len(many)} problems with more"
        )
    return get_choice_keys(data).astype(np.int8)


def _format_row(row: int, ids: Sequence[Hashable] | None) -> str:
    return f"row {row}" if ids is None else f"row {row} (id {ids[row]!r})"


def sort_ids(ids: Sequence[Hashable]) -> NDArray[np.intp]:
    """Return the row numbers sorted by id.

    The ids must be distinct, and all strings or all integers.
    """
    listed: list[Any] = ids.tolist() if isinstance(ids, np.ndarray) else list(ids)
    if len(set(listed)) < len(listed):
        twice = next(i for i, n in Counter(listed).items() if n > 1)
        raise DataError(f"the id {twice!r} occurs twice; ids must be distinct")
    try:
        return np.array(sorted(range(len(listed)), key=listed.__getitem__), np.intp)
    except TypeError as error:
        raise DataError(
            f"the ids can't be sorted ({error}); use only strings or only integers"
        ) from error


def find_canonical_order(X: NDArray[Any], ids: Sequence[Hashable] | None) -> NDArray[np.intp]:
    """Return row numbers sorted by id or, without ids, by a digest of each row."""
    if ids is None:
        return _sort_by_content(X, np.zeros(len(X), np.int16))
    if len(ids) != len(X):
        raise DataError(f"X has {len(X)} rows, but ids has {len(ids)} entries")
    return sort_ids(ids)


def _sort_by_content(X: NDArray[Any], y: NDArray[np.int16]) -> NDArray[np.intp]:
    high, low = _digest_rows(X, y).view(">u8").T
    return np.lexsort((low, high))


def _digest_rows(X: NDArray[Any], y: NDArray[np.int16]) -> NDArray[np.uint8]:
    digests = np.empty((len(X), 16), np.uint8)
    for first in range(0, len(X), CHUNK):
        chunk = np.ascontiguousarray(X[first : first + CHUNK].astype(np.float64) + 0.0, "<f8")
        for row, (numbers, label) in enumerate(
            zip(chunk, y[first : first + CHUNK].tolist(), strict=True), start=first
        ):
            key = bytes([label])  # there are few classes
            digest = hashlib.blake2b(numbers.tobytes(), digest_size=16, key=key).digest()
            digests[row] = np.frombuffer(digest, np.uint8)
    return digests


def encode_group_labels(
    labels: Sequence[Hashable], order: NDArray[np.intp] | None = None
) -> NDArray[np.intp]:
    """Return each row's group number, from 0, with groups numbered by first occurrence.

    A row whose group is None is a separate group.

    >>> encode_group_labels(["t1", None, "t1", None]).tolist()
    [0, 1, 0, 2]
    """
    listed = labels.tolist() if isinstance(labels, np.ndarray) else list(labels)
    rows = range(len(listed)) if order is None else order.tolist()
    seen: dict[tuple[bool, Hashable], int] = {}
    keys = ((False, row) if listed[row] is None else (True, listed[row]) for row in rows)
    return np.array([seen.setdefault(key, len(seen)) for key in keys], np.intp)


def encode_groups(groups: Sequence[Sequence[int]], row_count: int) -> NDArray[np.intp]:
    """Return the 0-based number of the group that lists each row; groups must list each row once.

    >>> encode_groups([(0, 2), (1,)], 3).tolist()
    [0, 1, 0]
    """
    members = np.fromiter((row for group in groups for row in group), np.intp)
    if not np.array_equal(np.sort(members), np.arange(row_count)):
        raise DataError(f"the groups must list each row from 0 to {row_count - 1} once")
    numbers = np.empty(row_count, np.intp)
    numbers[members] = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    return numbers


def make_read_only(*arrays: NDArray[Any]) -> None:
    for array in arrays:
        array.flags.writeable = False


TIES, FLIPS = (2**32 - number for number in (1, 2))
"""Numbers that replace the classifier's number in the seeds for ties and nulls. (A seed of only two
numbers would not be distinct, because numpy pads it with zeros.)"""


def make_generator(seed: int, phase: int, classifier: int) -> np.random.Generator:
    return np.random.default_rng([seed, phase, classifier])


def draw_training_rows(
    size: int,
    train_size: int,
    *,
    seed: int,
    phase: int,
    classifier: int,
    groups: NDArray[np.intp] | None = None,
) -> NDArray[np.int32]:
    """Draw one classifier's training set; the other rows are held out.

    All sets of `train_size` rows are equally likely. With `groups`, whole groups are drawn in
    random order, skipping groups that no longer fit: the set has at most `train_size` rows, and the
    shortfall is less than the size of the smallest omitted group.

    Args:
        size: The number of rows left in this phase.
        train_size: The number of rows to train on, at most `size`.
        seed: The random seed of the whole run.
        phase: The 0-based number of the phase.
        classifier: The 0-based number of the classifier.
        groups: (size,) the group of each row, integers from 0.

    Returns:
        Ascending positions among the rows left, in canonical order (see `aflite`).

    Raises:
        DataError: Every group has more rows than `train_size`.

    >>> draw_training_rows(6, 3, seed=0, phase=0, classifier=0).tolist()
    [3, 4, 5]
    >>> draw_training_rows(
    ...     6, 3, seed=0, phase=0, classifier=0, groups=np.array([0, 0, 1, 1, 2, 3])
    ... ).tolist()
    [0, 1, 4]
    """
    rng = make_generator(seed, phase, classifier)
    if groups is None:
        taken = np.zeros(size, np.bool_)
        taken[rng.choice(size, train_size, replace=False, shuffle=False)] = True
    else:
        taken = draw_fitting_groups(groups, train_size, rng)
        if not taken.any():
            raise DataError(f"every group is larger than train_size, which is {train_size}")
    return np.flatnonzero(taken).astype(np.int32)


def draw_fitting_groups(
    groups: NDArray[np.intp], max_rows: int, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Draw whole groups at random while they fit, and return a mask of the drawn rows.

    Groups that no longer fit are skipped. Some group numbers may be unused.
    """
    sizes = np.bincount(groups)
    order = rng.permutation(np.flatnonzero(sizes))
    taken = np.zeros(len(sizes), np.bool_)
    taken[order] = take_fitting(sizes[order], max_rows)
    return taken[groups]


def take_fitting(sizes: NDArray[np.intp], limit: int) -> NDArray[np.bool_]:
    """Take groups in order, skipping those that no longer fit, and return a mask of the groups."""
    taken = np.zeros(len(sizes), np.bool_)
    left = np.arange(len(sizes))
    while limit and left.size:
        left = left[sizes[left] <= limit]
        fits = np.cumsum(sizes[left]) <= limit
        taken[left[fits]] = True
        limit -= int(sizes[left[fits]].sum())
        left = left[~fits]
    return taken


REGION_BYTES = 1 << 26
"""The size in bytes of each region of the scratch file; regions are sorted in memory."""

READ_ROWS = 2048

Matrix = NDArray[np.float32]


def is_memory_mapped(X: NDArray[Any]) -> bool:
    """Return whether an array, or the array that it is a view of, is memory-mapped."""
    array: Any = X
    while array is not None:
        if isinstance(array, np.memmap):
            return True
        array = getattr(array, "base", None)
    return False


def choose_scratch_folder(X: NDArray[Any], scratch: str | Path | None) -> Path | None:
    """Return the folder for the rotated copy of the rows, or None to keep the copy in memory."""
    if scratch is None and not is_memory_mapped(X):
        return None
    return Path(tempfile.gettempdir() if scratch is None else scratch)


def check_free_space(folder: Path, size: int) -> None:
    """Check that a folder exists and has at least `size` bytes free."""
    try:
        free = shutil.disk_usage(folder).free
    except OSError as error:
        raise _make_disk_space_error(error, folder, size) from error
    if size > free:
        raise OutputError(
            f"{folder}: the rotated copy of the rows takes {size / 2**20:,.0f} MiB, but only "
            f"{free / 2**20:,.0f} MiB are free; choose another scratch folder"
        )


@contextlib.contextmanager
def map_scratch_matrix(shape: tuple[int, int], folder: Path) -> Iterator[tuple[Matrix, Path]]:
    """Yield a memory-mapped matrix of zeros and its .npy file, which is deleted afterwards.

    All space is allocated in advance, because a disk that becomes full while the process writes to
    a mapped file would kill the process.
    """
    size = 4 * shape[0] * shape[1]
    check_free_space(folder, size)
    with contextlib.ExitStack() as stack:
        try:
            inside = tempfile.TemporaryDirectory(
                prefix="winosmith-", dir=folder, ignore_cleanup_errors=True
            )
            path = Path(stack.enter_context(inside)) / "basis.npy"
            logging.getLogger(__name__).info(
                "the rotated copy of the rows takes %s MiB in %s until the end of the run",
                f"{size / 2**20:,.0f}",
                folder,
            )
            mapped = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=shape)
            if hasattr(os, "posix_fallocate"):
                with path.open("r+b") as file:
                    os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
        except OSError as error:
            raise _make_disk_space_error(error, folder, size) from error
        yield np.asarray(mapped), path


def _make_disk_space_error(error: OSError, folder: Path, size: int) -> OutputError:
    return OutputError(
        f"{error.filename or folder}: {error.strerror or error}; choose a folder with "
        f"{size / 2**20:,.0f} MiB free for scratch"
    )


def gather_rows(X: NDArray[Any], order: NDArray[np.intp], matrix: Matrix) -> None:
    """Copy rows in the given order to the first columns of a matrix, reading X sequentially.

    X, (N, d), contains numbers that float32 can represent exactly, such as float16. The matrix, (N,
    D), is mapped from a file.
    """
    count, columns = X.shape
    size = max(READ_ROWS, REGION_BYTES // (4 * matrix.shape[1]))
    regions = [slice(first, first + size) for first in range(0, count, size)]
    arriving = np.concatenate([np.sort(order[region]) for region in regions])
    place = np.empty_like(arriving)
    place[arriving] = np.arange(count)
    for first in range(0, count, READ_ROWS):
        matrix[place[first : first + READ_ROWS], :columns] = X[first : first + READ_ROWS]
    for region in regions:
        wanted = np.searchsorted(arriving[region], order[region])
        matrix[region, :columns] = matrix[region, :columns][wanted]


def compute_padded_width(columns: int) -> int:
    """Return the row width for coordinates and an intercept, padded to whole cache lines.

    Rows whose distance is a multiple of 1 KiB would compete for the same cache sets.
    """
    width = -(-(columns + 1) // CACHE_LINE) * CACHE_LINE
    return width + CACHE_LINE if width % 256 == 0 else width


def copy_aligned(values: NDArray[np.float64]) -> NDArray[np.float32]:
    copy = make_aligned_zeros(*values.shape)
    copy[:] = values
    return copy


def make_aligned_zeros(rows: int, width: int) -> NDArray[np.float32]:
    """Return float32 zeros aligned to a cache line; unaligned vector loads take a tenth longer."""
    flat = np.zeros(rows * width + CACHE_LINE, np.float32)
    first = -flat.ctypes.data % (4 * CACHE_LINE) // 4
    return flat[first : first + rows * width].reshape(rows, width)
