"""The data sets of WinoGrande's table 5, told by what their files hold."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from winosmith import formats
from winosmith.dataset import Dataset
from winosmith.errors import DataError, FormatError, InputError
from winosmith.problem import Claim, Problem

__all__ = ["TARGETS", "TEST_FILES", "Target", "read_target", "test_files"]

TARGETS = {
    "wsc": "WSC (Levesque et al. 2011)",
    "pdp": "PDP (Morgenstern et al. 2016)",
    "superglue-wsc": "SuperGLUE-WSC (Wang et al. 2019)",
    "dpr": "DPR (Rahman and Ng 2012)",
    "knowref": "KnowRef (Emami et al. 2019)",
    "copa": "COPA (Roemmele et al. 2011)",
    "winogender": "Winogender (Rudinger et al. 2018)",
    "winogrande-dev": "WinoGrande, dev (Sakaguchi et al. 2020)",
    "winogrande-test": "WinoGrande, test (Sakaguchi et al. 2020)",
}
"""The data sets by name, in the order of table 6."""

WSC_SIZE, PDP_SIZE = 273, 60
"""The Winograd schemas that everybody's figures are on, the first of the 285; the PDPs of 2016."""

_BY_FORMAT = {
    "wsc-xml": "wsc",
    "wsc-csv": "wsc",
    "wsc273-jsonl": "wsc",
    "pdp-xml": "pdp",
    "superglue-wsc": "superglue-wsc",
    "dpr": "dpr",
    "dpr-tsv": "dpr",
    "knowref": "knowref",
    "copa-xml": "copa",
    "superglue-copa": "copa",
    "winogender": "winogender",
    "winogrande": "winogrande-dev",
}

TEST_FILES = {
    "WSCollection.xml": "wsc",
    "PDPChallenge2016.xml": "pdp",
    "WSC/val.jsonl": "superglue-wsc",
    "superglue_wsc/val.jsonl": "superglue-wsc",
    "test.c.txt": "dpr",
    "knowref_test.json": "knowref",
    "copa-test.xml": "copa",
    "all_sentences.tsv": "winogender",
    "winogrande_1.1/dev.jsonl": "winogrande-dev",
    "winogrande/dev.jsonl": "winogrande-dev",
}
"""The ends of the paths that `winosmith data get` gives the files that are solved."""


@dataclass(frozen=True)
class Target:
    """A data set to solve.

    Attributes:
        name: one of `TARGETS`.
        asked: its problems, or its claims in the order of the file.
        file: where it was read from.
        unreadable: records of the file that are no problems, and were left out.
    """

    name: str
    asked: Dataset | tuple[Claim, ...]
    file: str
    unreadable: int = 0

    def __len__(self) -> int:
        return len(self.asked)


def read_target(path: str | Path, name: str | None = None) -> Target:
    """Read a data set of table 5, told by its format, or as the one that is named.

    Of the Winograd Schema Challenge's 285 schemas the first 273 are kept, as everywhere in print.
    Records that are no problems (two in KnowRef) are left out and counted.

    Args:
        path: the file.
        name: one of `TARGETS`; told by the format when None.

    Raises:
        FormatError: the file can't be read, or holds no problem.
        InputError: no data set of that name, or none has that format.
        DataError: answers are withheld.
    """
    if name is not None and name not in TARGETS:
        raise InputError(f"there is no data set {name!r}; there are {', '.join(TARGETS)}")
    contents = formats.scan(path)
    contents.tell(path)
    if not contents.items:
        raise FormatError("the file holds no record that can be read", path)
    name = name or _name(contents.format.name, len(contents.items), path)
    claims = [item for item in contents.items if isinstance(item, Claim)]
    problems = [item for item in contents.items if isinstance(item, Problem)]
    asked: Dataset | tuple[Claim, ...]
    if claims:
        withheld = [claim.problem_id for claim in claims if claim.holds is None]
        asked = tuple(claims)
    else:
        asked = Dataset(problems[:WSC_SIZE] if name == "wsc" else problems, Path(path).stem)
        withheld = [problem.id for problem in asked if problem.answer is None]
    if withheld:
        raise DataError(
            f"{path}: {len(withheld):,} of {len(asked):,} answers are withheld; name a file with "
            "the answers, such as the dev or val part"
        )
    return Target(name, asked, str(path), len(contents.bad))


def _name(format_name: str, size: int, path: str | Path) -> str:
    if format_name == "substitutions":
        return "pdp" if size == PDP_SIZE else "wsc"
    if format_name in _BY_FORMAT:
        return _BY_FORMAT[format_name]
    raise InputError(
        f"{path} is {format_name}, which is the format of no data set of table 5; say which it is, "
        f"as NAME={path}, with a name of {', '.join(TARGETS)}"
    )


def test_files(folder: str | Path) -> list[tuple[str, Path]]:
    """Return the name and path of each data set of table 5 below a folder, the first of each.

    Files are known by the names that `winosmith data get` gives them; see `TEST_FILES`.

    Raises:
        InputError: there is none.
    """
    found: dict[str, Path] = {}
    for file in sorted(Path(folder).rglob("*")):
        name = next(
            (name for end, name in TEST_FILES.items() if file.as_posix().endswith(f"/{end}")), None
        )
        if name and file.is_file():
            found.setdefault(name, file)
    if not found:
        raise InputError(
            f"{folder}: no data set of table 5 is there; get some with: winosmith data get"
        )
    return [(name, found[name]) for name in TARGETS if name in found]
