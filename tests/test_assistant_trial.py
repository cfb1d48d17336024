"""The trial of a model that answers with the tools alone: how a recorded protocol is graded."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from lorekeeper.server.tools import all_tools

ROOT = Path(__file__).parents[1]

PROTOCOL = ROOT / "tests" / "data" / "assistant_trial.jsonl"

QUESTIONS = ROOT / "benchmarks" / "assistant_trial.jsonl"

pytestmark = pytest.mark.processes


def run(*options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks.assistant_trial", *options]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_a_question_is_right_if_the_right_tool_gave_the_answer():
    found = json.loads(run("--grade", str(PROTOCOL), "--json").stdout)
    grades = {each["id"]: each for each in found["grades"]}
    assert [name for name, each in grades.items() if each["right"]] == ["05", "13"]
    assert not grades["07"]["called"], "known by heart"
    assert grades["13"]["grounded"]
    assert not grades["13"]["first"], "its first call was refused"
    assert (grades["35"]["grounded"], grades["35"]["right_tool"]) == (True, False)
    assert (grades["52"]["answered"], grades["52"]["grounded"]) == (True, False), "not said by the tool"
    assert (found["questions"], found["called"], found["right"], found["first_call_sufficed"]) == (5, 4, 2, 2)
    assert found["most_chars"] == len("1. Misty Step (level 2 conjuration): you step up to 30 feet away.")


def test_without_an_endpoint_it_says_what_it_needs_and_of_another_format_that_it_is_one(tmp_path):
    asked = run()
    assert asked.returncode == 2
    assert "--url" in asked.stderr
    other = tmp_path / "other.jsonl"
    other.write_text('{"format": "assistant-trial 9"}\n')
    assert "assistant-trial 9" in run("--grade", str(other)).stderr


def test_the_questions_are_sixty_in_two_halves_with_tools_that_there_are():
    questions = [json.loads(line) for line in QUESTIONS.read_text("utf-8").splitlines()]
    tools = {tool.name for tool in all_tools()}
    assert len({each["id"] for each in questions}) == len({each["question"] for each in questions}) == 60
    assert sum(each["half"] == "tuned" for each in questions) == 30
    for each in questions:
        assert tools.issuperset(each["tools"])
        assert all(re.compile(pattern) for pattern in each["answer"])
        assert each["answer"]
