"""`winosmith evolve`: families from WordNet and a chat model; sets split by root."""

import csv
import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.conftest import installed, need_wordnet
from winosmith import Problem, answers, formats, practice
from winosmith.chat import Message
from winosmith.cli import main
from winosmith.lineage import check_lineages
from winosmith.testing import chat_server, make_twins

HALVES = practice.read_handwritten()
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday May June July".split()
EXAMPLE = "parcel"
"""The first option of the prompt's own worked example."""


def author(messages: Sequence[Message]) -> str:
    """Write as many rows as were asked for: the original and a day, with either answer."""
    rows = [
        next(csv.reader([line]))
        for line in messages[0].content.splitlines()
        if re.match(r'0,"', line)
    ]
    _, sentence, one, two, *_ = next(row for row in rows if row[2] != EXAMPLE)
    count, first = map(
        int, re.findall(r"write (\d+) rows?, numbered from (\d+)", messages[-1].content)[0]
    )
    return "\n".join(
        f'{n},"{sentence.replace(chr(34), chr(34) * 2)} {DAYS[n % 10]} came.",'
        f'"{one}","{two}",{1 + n % 2},3'
        for n in range(first, first + count)
    )


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with the hand-written twins."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("OPENAI_BASE_URL", "OPENAI_MODEL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    formats.write(HALVES.problems[:40], "twins.jsonl")
    return tmp_path


@pytest.fixture(scope="module")
def wordnet() -> None:
    """Skip without WordNet or the libraries that inflect."""
    need_wordnet()


@pytest.fixture(scope="module")
def chat() -> None:
    """Skip without the packages of the extra `chat`."""
    installed("openai", "tenacity")


def run(line: str) -> None:
    """Run a command that must succeed."""
    assert main(line.split()) == 0


def published(folder: Path) -> dict[str, bytes]:
    """Return every file of a folder but the dialogues."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize(
    ("name", "line", "fit"),
    [
        ("right.lst", "{key}", 20),
        ("right.jsonl", '{{"id": "{id}", "choice": {choice}}}', 20),
        ("right.csv", "{id},{letter},{invalid}", 2),
    ],
)
def test_roots_are_drawn_by_answers_of_any_source(
    name: str, line: str, fit: int, folder: Path, wordnet: None, cli: Cli
) -> None:
    """A list, predictions and a table of two models are read; an invalid answer is incorrect."""
    lines = ["id,a,b"] * name.endswith("csv")
    for row, one in enumerate(HALVES.problems[:40]):
        key = one.answer or 0
        letter = "AB"[key]
        invalid = letter if row < 4 else "E"
        lines.append(line.format(id=one.id, key=key + 1, choice=key, letter=letter,
                                 invalid=invalid))  # fmt: skip
    Path(name).write_text("\n".join(lines), "utf-8")
    words = f"evolve twins.jsonl --with wordnet --roots 99 --right {name} --out out"
    assert f"only {fit} roots, not 99, can be drawn" in cli.refused(*words.split())


def test_generations_follow_one_another(folder: Path, wordnet: None) -> None:
    """With two perturbers, the second perturbs the children of the first, too."""
    formats.write(HALVES, "all.jsonl")
    run("evolve all.jsonl --with wordnet --with wordnet --out out")
    evolved = formats.read("out/evolved.jsonl")
    parents = {p.id: p for p in evolved}
    steps = [p.lineage and parents[p.lineage.parent].lineage is not None for p in evolved]
    assert any(steps)
    assert check_lineages(evolved) == {}


@pytest.mark.long
def test_sets_from_two_data_sets(
    folder: Path, wordnet: None, chat: None, data_dir: Path, cli: Cli
) -> None:
    """One command makes three sets of 14 roots that two solvers get right; another scores them.

    Seven are of WSC273 and seven of WinoGrande's dev; run again, the first asks nothing.
    """
    dev = formats.read(data_dir / "winogrande" / "dev.jsonl")
    wsc = next(
        data
        for path in sorted((data_dir / "wsc").rglob("*.xml"))
        if len(data := formats.read(path)) >= 273
    )
    formats.write(dev.problems[:300], "dev.jsonl")
    formats.write([p for p in wsc if len(p.options) == 2], "wsc.jsonl")
    right = []
    for name in ("wsc", "dev"):
        for seed in (1, 2):
            out = f"{name}-{seed}.jsonl"
            run(f"solve {name}.jsonl --solver random --seed {seed} --out {out}")
            right += ["--right", out]
    asked: list[int] = []

    def heard(messages: list[Message]) -> str:
        asked.append(len(messages))
        return author(messages)

    with chat_server(heard) as url:
        command = [
            "evolve", "wsc.jsonl", "dev.jsonl", "--roots", "7", *right,
            "--with", "chat", "--model", "m", "--base-url", url, "--wanted", "6",
            "--batches", "4,2", "--with", "wordnet", "--sets", "--out", "sets",
        ]  # fmt: skip
        assert main(command) == 0
        before, count = published(Path("sets")), len(asked)
        assert main(command) == 0
    assert len(asked) == count
    assert published(Path("sets")) == before
    told = json.loads(before["report.json"])
    assert [len(ids) for ids in told["sources"].values()] == [7, 7]
    small = formats.read("sets/small.jsonl")
    assert len(small) == 14
    for name, wanted in (("train", 10), ("dev", 2), ("test", 2)):
        medium, large = (formats.read(f"sets/{size}-{name}.jsonl") for size in ("medium", "large"))
        assert len(medium.families) == len(large.families) == wanted
        assert len(medium) == 7 * wanted
        assert check_lineages(large) == {}
        assert len(large) >= len(medium)
        if name != "dev":  # two roots may have no word with a synonym
            assert (len(large) > len(medium)) == (name == "train")
    for dataset, ids in zip(("wsc", "dev"), told["sources"].values(), strict=True):
        data = formats.read(f"{dataset}.jsonl")
        for seed in (1, 2):
            chosen = answers.read_predictions(f"{dataset}-{seed}.jsonl", data)
            by_id = {p.problem_id: p.choice for p in chosen.predictions}
            assert all(by_id[i] == data[data.row(i)].answer for i in ids)
    for seed in (1, 2):
        run(f"solve sets/large-dev.jsonl --solver random --seed {seed} --out s{seed}.jsonl")
    shown = cli("score sets/large-dev.jsonl s1.jsonl s2.jsonl --by lineage --out stability.html")
    assert "error depth" in shown.lower()
    page = Path("stability.html").read_text("utf-8")
    for shown in ("Families without an error", "Errors by kind of edit"):
        assert f">{shown}</" in page


def test_the_model_of_the_environment_is_in_the_signature(
    folder: Path, chat: None, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    """Children of another model have another signature, wherever the model was named."""
    with chat_server(author) as url:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        monkeypatch.setenv("OPENAI_MODEL", "gemma")
        told = cli.told("evolve twins.jsonl --with chat --wanted 1 --batches 1 --out out")
    assert "|model:gemma|" in told["signature"]


def test_another_recipe_is_refused(folder: Path, wordnet: None, cli: Cli) -> None:
    """A folder of another recipe stays as it is, the difference is told, and --force replaces."""
    run("evolve twins.jsonl --with wordnet --count 1 --out out")
    before = published(Path("out"))
    again = "evolve twins.jsonl --with wordnet --count 3 --out out"
    said = cli.refused(again)
    assert "count:1" in said
    assert "count:3" in said
    assert "--force" in said
    assert published(Path("out")) == before
    run(f"{again} --force")
    assert len(formats.read("out/evolved.jsonl")) > len(formats.read("twins.jsonl"))
    assert published(Path("out")) != before


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("twins.jsonl --with chat --batches 9,x --model m --out o", "use whole numbers separated"),
        ("twins.jsonl --with chat --batches 0,9 --model m --out o", "batches is [0, 9]; it must"),
        ("twins.jsonl --with wordnet --sets --out o", "--with twice"),
        ("twins.jsonl --with wordnet --with wordnet --sets --out o", "--sets needs roots"),
        ("twins.jsonl twins.jsonl --with wordnet --out o", "with several data sets, add --roots"),
        ("twins.jsonl --with wordnet --roots 2 --roots 3 --out o", "given 2 times for 1"),
        ("twins.jsonl --with magic --out o", "is not one of"),
        ("twins.jsonl --with wordnet --right other.jsonl --out o", "needs --roots N"),
        (
            "twins.jsonl --with wordnet --roots 2 --right other.jsonl --out o",
            "40 of 40 problems have no prediction",
        ),
        ("twins.jsonl --with wordnet --wordnet empty --out o", "does not contain WordNet's"),
    ],
)
def test_what_does_not_go_together_is_told(
    folder: Path, wordnet: None, chat: None, line: str, said: str, cli: Cli
) -> None:
    """Bad options end with code 2 and a sentence that says what to do; no folder is left."""
    Path("empty").mkdir()
    formats.write(make_twins(4).problems, "others.jsonl")
    run("solve others.jsonl --solver random --out other.jsonl")
    assert said in cli.refused("evolve", *line.split())
    assert not Path("o").exists()


def test_more_than_two_options_are_perturbed(folder: Path, wordnet: None, cli: Cli) -> None:
    """Problems with three to five options make families, roots and sets like any others."""
    nouns = "car boat bottle house road store street woman baby dog".split()
    many = [
        Problem(
            f"m{n}",
            f"The {nouns[n % 10]}, the {nouns[(n + 1) % 10]} and the {nouns[(n + 2) % 10]} were "
            f"seen by {name} because the _ was big.",
            tuple(f"the {nouns[(n + k) % 10]}" for k in range(3 + n % 3)),
            n % (3 + n % 3),
        )
        for n, name in enumerate("Ann Bea Cleo Dora Edna Fay Gwen Hope Ida June".split())
    ]
    formats.write(many, "many.jsonl")
    told = cli.told("evolve many.jsonl --with wordnet-paper --count 4 --out out")
    evolved = formats.read("out/evolved.jsonl")
    assert told["parts"]["evolved"]["answers"].keys() > {"A", "B", "C"}
    assert sum(told["parts"]["evolved"]["answers"].values()) == len(evolved) > 30
    old = {problem.id: problem for problem in many}
    children = [p for p in evolved if p.lineage]
    assert all(len(p.options) == len(old[p.root].options) for p in children)
    assert any(p.options != old[p.root].options for p in children)
    sets = "--roots 8 --with wordnet-paper --with wordnet-paper --sets --out sets"
    assert "A / B / C / D" in cli(f"evolve many.jsonl {sets}")
    assert len(formats.read("sets/large-train.jsonl")) > len(formats.read("sets/small.jsonl"))


def test_a_chat_model_is_not_asked_about_three_options(folder: Path, cli: Cli) -> None:
    """That it takes problems with two options alone is said before anything is done."""
    three = [Problem("x", "A, B and C met because _ called.", ("A", "B", "C"), 2)]
    formats.write(three, "three.jsonl")
    line = "evolve three.jsonl --with chat --model m --base-url http://localhost:9/v1 --out out"
    assert "1 of 1 problems have more than two options (first: 'x')" in cli.refused(line)
    assert not Path("out").exists()
