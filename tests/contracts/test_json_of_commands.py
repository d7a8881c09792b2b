"""The JSON of every command has the committed shape; that of measurements, also its values.

After an intended change, renew the snapshot, and list the old and new values in the changelog:

    WINOSMITH_RENEW=1 .venv/bin/python -m pytest tests/contracts/test_json_of_commands.py
"""

import difflib
import io
import json
import os
import re
from contextlib import chdir, redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from tests.cli.conftest import ways
from tests.cli.test_release import ABOUT
from tests.conftest import installed
from tests.contracts.test_inputs_of_commands import write_xml
from tests.exposure.test_coins import pairs_of, write_release
from tests.json_schemas import FOLDER, refuse_invalid, validator
from tests.test_docs import schemas
from winosmith import Dataset, Prediction, Problem, Response, answers, formats, practice
from winosmith.cli import main
from winosmith.exposure import read_keyed_release
from winosmith.humans import Subject, TakenSheet, make_subject_record
from winosmith.lineage import make_child
from winosmith.metrics import switch_options
from winosmith.recast import to_claims
from winosmith.records import dump_json
from winosmith.testing import make_twins
from winosmith.validate import write_votes

SNAPSHOT = Path(__file__).with_name("json_of_commands.json")

ELSEWHERE = {
    "demo": "the JSON of `build`, after a minute",
    "data get": "a download",
    "evolve": "WordNet or a chat model",
    "train": "torch; its files are tested in tests/cli/test_train.py",
    **dict.fromkeys(
        [name for name in ways() if name.startswith("admin ")], "a site, in tests/web and tests/cli"
    ),
}
"""Commands that are not run here, with the reason."""

DATA = make_twins(16, singles=2)

TOML = {
    "build.toml": """name = "b"
data = "pool.jsonl"
[structure]
rules = "none"
[filter]
ensemble_size = 4
again = false
[measure]
splits = 1
""",
    "round.toml": """name = "r"
data = "pool.jsonl"
roots = 3
[embed]
dimensions = 8
[filter]
method = "none"
[measure]
splits = 1
[[solvers]]
name = "chance"
solver = "random"
""",
    "release.toml": ABOUT.replace('"trial"', '"t"'),
    "curve.csv": "size,accuracy\n160,51.5\n640,58.6\n2558,66.9\n10234,75.8\n40398,79.3\n",
    "board.lst": "".join(
        ",".join(str(1 + ((p.answer or 0) ^ (row % n == 0))) for n in (2, 3, 4, 5, 10)) + "\n"
        for row, p in enumerate(DATA)
    ),
    "women.tsv": "occupation\tbls_pct_female\nnurse\t90\nmechanic\t5\n",
    "winogender.tsv": "sentid\tsentence\n"
    + "".join(
        f"{who}.customer.{answer}.{gender}.txt\tThe {who} {verb} the customer because {he} paid.\n"
        for who in ("nurse", "mechanic")
        for answer, verb in enumerate(("thanked", "helped"))
        for gender, he in (("male", "he"), ("female", "she"), ("neutral", "they"))
    ),
    "gender.lst": "1\n2\n1\n2\n2\n1\n1\n1\n2\n2\n1\n1\n",
    "used.jsonl": "".join(formats.to_lines([DATA[0], DATA[4]])),
}

VALUES = {
    "check": "check data.jsonl --votes votes.jsonl",
    "stats": "stats data.jsonl",
    "stats, lineages": "stats evolved.jsonl",
    "stats, claims": "stats claims.jsonl",
    "audit": "audit data.jsonl --draws 19 --no-probes",
    "audit, several files": "audit items.jsonl other.jsonl --draws 19 --no-probes",
    "audit, probes, check": "audit items.jsonl --draws 19 --check 12 --check-to check",
    "humans keys": "humans keys check judged.jsonl",
    "score": "score data.jsonl scored.jsonl half.lst --people said.jsonl "
    "--switched-data switched.jsonl --switched first.lst --switched second.lst",
    "score, more options": "score items.jsonl items.lst",
    "score, lineage": "score evolved.jsonl near.jsonl far.jsonl --by lineage --people fresh.csv",
    "score, gender": "score winogender.tsv gender.lst --occupations women.tsv",
    "compare": "compare data.jsonl scored.jsonl half.lst",
    "exposure": "exposure keyed/small-1.0.0-0 --scores exposed.jsonl",
    "compare, lineage": "compare evolved.jsonl near.jsonl far.jsonl --by lineage",
    "curve": "curve curve.csv --human 94.1 --problems 1267",
    "leaderboard": "leaderboard board.lst --data data.jsonl",
    "humans results": "humans results data.jsonl said.jsonl --subjects subjects.jsonl --without 1",
    "humans select": "humans select data.jsonl said.jsonl --floor 0.5 --out chosen",
}
"""Commands that measure. Their values are compared, too."""

SHAPES = {
    "build": "build build.toml --out built",
    "round": "round round.toml --out first",
    "debias": "debias pool.jsonl --out filtered --method mirror --splits 1",
    "embed": "embed data.jsonl --out vectors.npz --dimensions 8",
    "solve": "solve data.jsonl --solver random --out random.jsonl",
    "transfer": "transfer wsc.xml --solver random --out transferred",
    "data list": "data list",
    "convert": "convert data.jsonl data.csv",
    "release": "release pool.jsonl --about release.toml --out released --disjoint twin",
    "verify": "verify released/t-1.0.0-*",
    "humans sheets": "humans sheets data.jsonl --out sheets --orders 1",
    "humans assign": "humans assign sheets P1 P2",
    "humans enter": "humans enter sheets --answers paper.csv --out typed",
    "humans publish": "humans publish data.jsonl used.jsonl --out public",
}


def _make_evolved() -> Dataset:
    """Return families in which each version adds a word to an earlier one."""
    problems: list[Problem] = []
    for root in make_twins(0, singles=4):
        family = [root]
        for number in range(6):
            parent = family[number // 2]
            words = parent.sentence.split()
            words.insert(2 + number % 2, ("old", "small", "quickly")[number % 3])
            family.append(
                make_child(parent, " ".join(words), root.options, root.answer, source="made")
            )
        problems += {one.id: one for one in family}.values()
    return Dataset(problems, "evolved")


def _write_inputs() -> None:
    """Write the input files of all commands into the current folder."""
    for name, text in TOML.items():
        Path(name).write_text(text, "utf-8")
    formats.write(DATA, "data.jsonl")
    formats.write(practice.generate_corpus(40, seed=6).dataset.problems, "pool.jsonl")
    evolved, rng = _make_evolved(), np.random.default_rng(0)
    formats.write(evolved, "evolved.jsonl")
    for name, every in (("near", 3), ("far", 5)):
        said = [Prediction(p.id, (p.answer or 0) ^ (row % every == 1)) for row, p in
                enumerate(evolved)]  # fmt: skip
        answers.write_predictions(said, f"{name}.jsonl", evolved, solver=name)
    drawn = {p.id: tuple(rng.normal(size=2).tolist()) for p in DATA}
    scored = [Prediction(name, int(np.argmax(own)), own) for name, own in drawn.items()]
    answers.write_predictions(scored, "scored.jsonl", DATA, solver="scored")
    for name in ("half.lst", "first.lst", "second.lst"):
        Path(name).write_text("1\n" * len(DATA))
    formats.write(switch_options(DATA).kept, "switched.jsonl")
    fresh = [Response(p.id, f"P{who}", "test", (p.answer or 0) ^ ((row + who) % 7 == 0))
             for who in range(3) for row, p in enumerate(evolved)]  # fmt: skip
    write_votes(fresh, "fresh.csv")
    formats.write(_items(), "items.jsonl")
    formats.write(_items(1), "other.jsonl")
    Path("items.lst").write_text("1\n2\n3\n" * 10)
    claims = to_claims(Problem(p.id, p.sentence, p.options, p.answer, pronoun="it") for p in DATA)
    formats.write(claims, "claims.jsonl", "superglue-wsc")
    write_xml(Path("wsc.xml"), DATA)
    keyed = read_keyed_release(
        write_release(
            Path("keyed"), bytes(32), pairs_of(practice.generate_corpus(90, seed=2).dataset)
        )
    )
    scores = [{"id": pair.a.id, "a": rng.normal(), "b": rng.normal()} for pair in keyed.pairs]
    lines = [{"release": keyed.digest, "model": "new"}, *scores]
    Path("exposed.jsonl").write_text("".join(dump_json(line) + "\n" for line in lines))
    _write_human_test()


def _items(seed: int = 0) -> list[Problem]:
    """Return questions with three options, of which the answer is the longest."""
    rng = np.random.default_rng(seed)
    items = []
    for at in range(30):
        key = int(rng.integers(3))
        options = [f"{'very ' * (place == key)}stone {seed}{at}{place}" for place in range(3)]
        items.append(Problem(f"{seed}-{at}", f"What is {seed} and {at}? _", tuple(options), key))
    return items


def _write_human_test() -> None:
    """Write a test by six people, three on each half, and the votes of three judges."""
    said, people = [], []
    for who in range(6):
        mine = [DATA[pair[who % 2]] for pair in DATA.twins]
        ids = tuple(problem.id for problem in mine)
        taken = (TakenSheet(f"{'ab'[who % 2]}-1-AAAA", "ab"[who % 2], ids),)
        people.append(Subject(f"S{who}", who < 3, {}, 40.0 if who == 5 else 160.0, taken))
        for place, problem in enumerate(mine):
            choice = (problem.answer or 0) ^ ((place + who) % 6 == 5)
            said.append(Response(problem.id, f"S{who}", "test", choice))
    said[1] = replace(said[1], choice=None, ambiguous=True)
    write_votes(said, "said.jsonl")
    judged = [Response(f"{at}", judge, "test", at % 3) for at in range(1, 12) for judge in "xyz"]
    write_votes(judged, "judged.jsonl")
    lines = [dump_json(make_subject_record(subject)) + "\n" for subject in people]
    Path("subjects.jsonl").write_text("".join(lines))
    write_votes(
        [
            Response(p.id, f"{judge}{row}", "validate", (p.answer or 0) ^ (row == 0))
            for row, p in enumerate(DATA)
            for judge in "xyz"
        ],
        "votes.jsonl",
    )


def _get_shape(value: Any) -> Any:
    """Return the keys and types of a JSON value. Entries of a list or map share one shape."""
    if isinstance(value, dict):
        shapes = {key: _get_shape(one) for key, one in value.items()}
        different = {dump_json(one) for one in shapes.values()}
        is_map = len(shapes) > 8 and len(different) == 1
        return {"*": next(iter(shapes.values()))} if is_map else shapes
    if isinstance(value, list):
        return [json.loads(one) for one in sorted({dump_json(_get_shape(one)) for one in value})]
    return "null" if value is None else type(value).__name__


def _round_values(value: Any, most: int = 4) -> Any:
    """Return the values with five digits; of a long list or map, only the first ones."""
    if isinstance(value, dict):
        is_map = len(value) > 30
        kept = list(value.items())[: most if is_map else None]
        return {key: _round_values(one) for key, one in kept} | (
            {"…": len(value)} if is_map else {}
        )
    if isinstance(value, list):
        most = 1 if value and isinstance(value[0], dict) else most
        more = [f"… {len(value)}"] if len(value) > most else []
        return [*map(_round_values, value[:most]), *more]
    if isinstance(value, str):
        is_sentence = len(value) > 30 and " " in value  # the wording may change
        return (
            "a sentence"
            if is_sentence
            else re.sub(r"(data:|digest\W+|predictions:|version:)[\w.]+", r"\1…", value)
        )
    return float(f"{value:.5g}") if isinstance(value, float) else value


def _run(words: str, code: int = 0) -> Any:
    """Return the JSON that a command prints."""
    parts = [str(next(Path().glob(word), word)) if "*" in word else word for word in words.split()]
    with redirect_stdout(io.StringIO()) as printed:
        ended = main([*parts, "--json"])
    assert ended == code, f"{words} ends with {ended}"
    return json.loads(printed.getvalue())


def _get_shapes_of_files(folder: str) -> dict[str, Any]:
    """Return the shapes of the JSON files below a folder."""
    found = {path.as_posix(): path for path in sorted(Path(folder).rglob("*.json"))}
    return {name: _get_shape(json.loads(path.read_text("utf-8"))) for name, path in found.items()}


@pytest.fixture
def found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return the JSON of all commands, each run once on generated data."""
    installed("pyarrow", "typst")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    blank = b'<svg viewBox="0 0 1 1"></svg>'  # rendering charts takes most of the time
    monkeypatch.setattr("winosmith.report._svg._render_chart", lambda *_: blank)
    with chdir(tmp_path):
        _write_inputs()
        made = {name: _round_values(_run(words)) for name, words in VALUES.items()}
        for name, words in SHAPES.items():
            if name == "humans enter":
                code = json.loads(Path("sheets/a-1.json").read_text())["code"]
                Path("paper.csv").write_text(f"subject,sheet,1,2,3\nP1,{code},A,B,X\n")
            made[name] = _get_shape(_run(words))
            if (folder := words.partition("--out ")[2].split(" ")[0]) and Path(folder).is_dir():
                made[f"{name}: files"] = _get_shapes_of_files(folder)
    return made


def test_json_of_commands_matches_the_snapshot(found):
    text = json.dumps(found, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
    text = re.sub(r"[\[{][^\[\]{}]{,150}[\]}]", lambda leaf: " ".join(leaf[0].split()), text)
    if os.environ.get("WINOSMITH_RENEW"):
        SNAPSHOT.write_text(text, "utf-8")
    before = SNAPSHOT.read_text("utf-8").splitlines()
    changes = "\n".join(difflib.unified_diff(before, text.splitlines(), n=9, lineterm=""))
    assert not changes, changes


OFFERED = {name for name, way in ways().items() if any("--json" in p.opts for p in way[-1].params)}
"""Commands with --json."""


def test_every_command_with_json_is_in_the_snapshot_or_excused():
    run = {name.partition(",")[0] for name in (*VALUES, *SHAPES)}
    assert OFFERED - run == set(ELSEWHERE) & OFFERED


def test_each_command_with_json_has_a_valid_and_current_schema():
    """It is generated from its results."""
    assert set(schemas.PRINTED) == OFFERED
    made = schemas.files()
    assert {path: path.read_text("utf-8") for path in made} == made
    assert {*FOLDER.iterdir()} == {path for path in made if path.suffix == ".json"}
    for command in schemas.PRINTED:
        jsonschema.Draft202012Validator.check_schema(validator(command).schema)


@pytest.mark.parametrize(
    "printed", ['{"schema": "data get 1"}', '{"schema": "data get 1", "files": {}, "more": 1}']
)
def test_missing_and_unknown_keys_are_invalid(printed):
    """The schema refuses missing keys; the tests also refuse unknown keys."""
    with pytest.raises(AssertionError, match="data get --json"):
        refuse_invalid(printed)
