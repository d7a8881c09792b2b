"""The GitHub action and the pre-commit hooks run as their runners run them."""

import json
import os
import re
import shlex
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import installed
from winosmith.audit import parse_rules

ROOT = Path(__file__).resolve().parents[1]

ACTION = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))

HOOKS = {one["id"]: one for one in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with six quizzes whose correct options are the longest."""
    folder = tmp_path / "work tree"
    for unit in range(6):
        questions = [
            {"question": f"What is {n} in unit {unit}?",
             "options": [f"w{unit}{n}{at}" + " at length" * (at == (unit + n) % 4)
                         for at in range(4)],
             "answer": "ABCD"[(unit + n) % 4]}
            for n in range(6)
        ]  # fmt: skip
        path = folder / f"unit {unit}" / "quiz.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(questions, indent=2))
    monkeypatch.chdir(folder)
    return folder


def _run(step: dict[str, Any], inputs: dict[str, str], environment: dict[str, str]) -> Any:
    """Run a step as a runner does: expressions in `env`, the script in bash -e -o pipefail."""
    values = {name: one.get("default", "") for name, one in ACTION["inputs"].items()} | inputs
    own = {
        name: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda found: values[found[1]], text)
        for name, text in step.get("env", {}).items()
    }
    assert step["shell"] == "bash"
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"]],
        env=os.environ | environment | own,
        capture_output=True,
        text=True,
        check=False,
    )


def test_action_installs_and_audits(repository, tmp_path):
    """The steps write annotations, a summary and outputs, and fail only for new findings."""
    installed("hatchling")
    temp = tmp_path / "temp"
    # The libraries are those of this environment, so that nothing is downloaded.
    environment = {
        "RUNNER_TEMP": str(temp),
        "GITHUB_ACTION_PATH": str(ROOT),
        "GITHUB_OUTPUT": str(tmp_path / "outputs"),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
        "PYTHONPATH": sysconfig.get_path("purelib"),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PIP_NO_INDEX": "1",
        "PIP_NO_DEPS": "1",
        "PIP_NO_BUILD_ISOLATION": "0",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }
    install, check = ACTION["runs"]["steps"]
    done = _run(install, {}, environment)
    assert done.returncode == 0, done.stderr
    assert (temp / "winosmith/bin/winosmith").is_file()
    inputs = {"data": "unit */quiz.json\n", "sarif": "$(id) here.sarif"}
    done = _run(check, inputs, environment)
    assert done.returncode == 1, done.stderr
    error = r"^::error title=winosmith: cue,file=unit 0/quiz\.json,line=\d+::“the longest"
    assert re.search(error, done.stdout, re.MULTILINE)
    assert (tmp_path / "outputs").read_text() == "findings=1\n"
    assert "| error: cue |" in (tmp_path / "summary.md").read_text()
    assert (
        len(json.loads(Path("$(id) here.sarif").read_text())["runs"][0]["results"]) == 1
    )  # no input is run
    words = ["audit", "unit */quiz.json", "--pool", "--no-probes", "--json"]
    command = [temp / "winosmith/bin/winosmith", *words]
    with Path("old.json").open("w") as file:
        subprocess.run(command, env=os.environ | environment, stdout=file, check=True)
    done = _run(check, {"data": "unit */quiz.json", "baseline": "old.json"}, environment)
    assert done.returncode == 0, done.stderr
    done = _run(check, {"data": "--help\n"}, environment)
    assert done.returncode == 2, "data is no option"


def test_inputs_reach_scripts_only_through_environment_variables():
    """A shell would run an expression in a script. All inputs have a description."""
    for step in ACTION["runs"]["steps"]:
        assert "${{" not in step["run"]
    used = re.findall(r"inputs\.([\w-]+)", json.dumps(ACTION["runs"]))
    assert sorted(used) == sorted(ACTION["inputs"])
    assert all(one["description"] for one in ACTION["inputs"].values())
    assert parse_rules(ACTION["inputs"]["fail-on"]["default"])


def test_first_hook_audits_and_second_hook_fixes(repository, cli_of_venv):
    """The second hook changes only the files that it gets. Run again, it changes nothing."""
    audit, fix = HOOKS["winosmith-audit"], HOOKS["winosmith-fix"]
    done = _hook(audit, ["unit */quiz.json"], [], cli_of_venv)
    assert done.returncode == 1
    assert "Broken: work tree: “the longest" in done.stderr
    files = sorted(map(str, Path().glob("unit */quiz.json")))
    before = [Path(file).read_bytes() for file in files]
    assert _hook(fix, [], files[:3], cli_of_venv).returncode == 0
    after = [Path(file).read_bytes() for file in files]
    assert all(old != new for old, new in zip(before[:3], after[:3], strict=True))
    assert before[3:] == after[3:]
    assert _hook(fix, [], files[:3], cli_of_venv).returncode == 0
    assert after == [Path(file).read_bytes() for file in files]


@pytest.fixture
def cli_of_venv() -> dict[str, str]:
    """Return an environment in which `winosmith` is the installed command."""
    return {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


def _hook(
    hook: dict[str, Any], arguments: list[str], files: list[str], environment: dict[str, str]
) -> Any:
    """Run a hook as pre-commit does: its entry, the user's arguments, and the changed files."""
    assert (hook["language"], bool(files)) == ("python", hook.get("pass_filenames", True))
    return subprocess.run(
        [*shlex.split(hook["entry"]), *arguments, *files],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
