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
from winosmith.lineage import check_lineages
from winosmith.testing import chat_server, make_twins

HALVES = practice.read_handwritten()
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday May June July".split()
EXAMPLE = "parcel"
"""The first option of the example in the prompt."""


def author(messages: Sequence[Message]) -> str:
    """Write the requested number of rows:

    the original sentence and a day, with alternating answers.
    """
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


@pytest.fixture(autouse=True)
def _folder(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a folder with the hand-written twins."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("OPENAI_BASE_URL", "OPENAI_MODEL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    formats.write(HALVES.problems[:40], "twins.jsonl")


@pytest.fixture(scope="module")
def wordnet() -> None:
    """Skip if WordNet or the libraries for inflection are missing."""
    need_wordnet()


@pytest.fixture(scope="module")
def chat() -> None:
    """Skip if the packages of the extra `chat` are missing."""
    installed("openai", "tenacity")


def published(folder: str) -> dict[str, bytes]:
    """Return every file of a folder, except the dialogues in its subfolders."""
    return {path.name: path.read_bytes() for path in Path(folder).iterdir() if path.is_file()}


@pytest.mark.parametrize(
    ("name", "line", "fit"),
    [
        ("right.lst", "{key}", 20),
        ("right.jsonl", '{{"id": "{id}", "choice": {choice}}}', 20),
        ("right.csv", "{id},{letter},{invalid}", 2),
    ],
)
def test_roots_are_selected_by_answers_in_three_formats(name, line, fit, wordnet, cli):
    """An invalid answer is incorrect."""
    lines = ["id,a,b"] * name.endswith("csv")
    for row, one in enumerate(HALVES.problems[:40]):
        key, letter = one.answer or 0, "AB"[one.answer or 0]
        values = {"letter": letter, "invalid": letter if row < 4 else "E"}
        lines.append(line.format(id=one.id, key=key + 1, choice=key, **values))
    Path(name).write_text("\n".join(lines), "utf-8")
    told = cli.refused(f"evolve twins.jsonl --with wordnet --roots 99 --right {name} --out out")
    assert f"only {fit} roots, not 99, can be drawn" in told


def test_second_perturber_also_perturbs_the_children_of_the_first(wordnet, cli):
    formats.write(HALVES, "all.jsonl")
    cli("evolve all.jsonl --with wordnet --with wordnet --out out")
    evolved = formats.read("out/evolved.jsonl")
    parents = {p.id: p for p in evolved}
    steps = [p.lineage and parents[p.lineage.parent].lineage is not None for p in evolved]
    assert any(steps)
    assert check_lineages(evolved) == {}


@pytest.mark.long
def test_sets_are_made_from_two_data_sets(wordnet, chat, data_dir, cli):
    """Seven roots are of WSC273 and seven of WinoGrande's dev; two solvers answer all correctly.

    Run again, the command sends nothing to the chat model. `winosmith score` reads the sets.
    """
    dev = formats.read(data_dir / "winogrande" / "dev.jsonl")
    wsc = next(
        data
        for path in sorted((data_dir / "wsc").rglob("*.xml"))
        if len(data := formats.read(path)) >= 273
    )
    formats.write(dev.problems[:300], "dev.jsonl")
    formats.write([p for p in wsc if len(p.options) == 2], "wsc.jsonl")
    right = ""
    for name in ("wsc", "dev"):
        for seed in (1, 2):
            out = f"{name}-{seed}.jsonl"
            cli(f"solve {name}.jsonl --solver random --seed {seed} --out {out}")
            right += f" --right {out}"
    asked: list[int] = []

    def heard(messages: list[Message]) -> str:
        asked.append(len(messages))
        return author(messages)

    with chat_server(heard) as url:
        command = (
            f"evolve wsc.jsonl dev.jsonl --roots 7 {right} --with chat --model m --base-url {url} "
            "--wanted 6 --batches 4,2 --with wordnet --sets --out sets"
        )
        cli(command)
        before, count = published("sets"), len(asked)
        cli(command)
    assert len(asked) == count
    assert published("sets") == before
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
        cli(f"solve sets/large-dev.jsonl --solver random --seed {seed} --out s{seed}.jsonl")
    shown = cli("score sets/large-dev.jsonl s1.jsonl s2.jsonl --by lineage --out stability.html")
    assert "error depth" in shown.lower()
    page = Path("stability.html").read_text("utf-8")
    for shown in ("Families without an error", "Errors by kind of edit"):
        assert f">{shown}</" in page


def test_signature_includes_the_model_of_the_environment(chat, monkeypatch, cli):
    with chat_server(author) as url:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        monkeypatch.setenv("OPENAI_MODEL", "gemma")
        told = cli.told("evolve twins.jsonl --with chat --wanted 1 --batches 1 --out out")
    assert "|model:gemma|" in told["signature"]


def test_folder_of_other_settings_is_refused_without_force(wordnet, cli):
    cli("evolve twins.jsonl --with wordnet --count 1 --out out")
    before = published("out")
    again = "evolve twins.jsonl --with wordnet --count 3 --out out"
    said = cli.refused(again)
    assert all(part in said for part in ("count:1", "count:3", "--force")), said
    assert published("out") == before
    cli(f"{again} --force")
    assert len(formats.read("out/evolved.jsonl")) > len(formats.read("twins.jsonl"))
    assert published("out") != before


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
def test_invalid_options_are_refused_and_nothing_is_written(wordnet, chat, line, said, cli):
    Path("empty").mkdir()
    formats.write(make_twins(4).problems, "others.jsonl")
    cli("solve others.jsonl --solver random --out other.jsonl")
    assert said in cli.refused(f"evolve {line}")
    assert not Path("o").exists()


def test_problems_with_three_to_five_options_are_perturbed(wordnet, cli):
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


def test_chat_perturber_refuses_three_options_before_any_request(cli):
    three = [Problem("x", "A, B and C met because _ called.", ("A", "B", "C"), 2)]
    formats.write(three, "three.jsonl")
    line = "evolve three.jsonl --with chat --model m --base-url http://localhost:9/v1 --out out"
    assert "1 of 1 problems have more than two options (first: 'x')" in cli.refused(line)
    assert not Path("out").exists()
