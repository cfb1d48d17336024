"""The trial of a model that answers with the tools alone: how a recorded protocol is graded."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from benchmarks.assistant_trial import QUESTIONS, graded, main, read, summary
from lorekeeper.server.tools import all_tools

PROTOCOL = Path(__file__).parent / "data" / "assistant_trial.jsonl"


def test_a_question_is_right_if_the_right_tool_gave_the_answer():
    grades = {each.id: each for each in graded(read(QUESTIONS), read(PROTOCOL))}
    assert [each.id for each in grades.values() if each.right] == ["05", "13"]
    assert not grades["07"].called, "known by heart"
    assert grades["13"].grounded
    assert not grades["13"].first, "its first call was refused"
    assert (grades["35"].grounded, grades["35"].right_tool) == (True, False)
    assert (grades["52"].answered, grades["52"].grounded) == (True, False), "not said by the tool"


def test_the_summary_counts_and_measures():
    found = summary(graded(read(QUESTIONS), read(PROTOCOL)))
    assert (found["questions"], found["called"], found["right"], found["first_call_sufficed"]) == (5, 4, 2, 2)
    assert found["most_chars"] == len("1. Misty Step (level 2 conjuration): you step up to 30 feet away.")


def test_the_questions_are_sixty_in_two_halves_with_tools_that_there_are():
    questions, tools = list(read(QUESTIONS)), {tool.name for tool in all_tools()}
    assert len({each["id"] for each in questions}) == len({each["question"] for each in questions}) == 60
    assert sum(each["half"] == "tuned" for each in questions) == 30
    for each in questions:
        assert tools.issuperset(each["tools"])
        assert all(re.compile(pattern) for pattern in each["answer"])
        assert each["answer"]


def test_it_grades_without_an_endpoint_and_says_what_it_needs_to_ask(capsys, tmp_path):
    assert main(["--grade", str(PROTOCOL), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["not_right"] == ["07", "35", "52"]
    assert main([]) == 2
    assert "--url" in capsys.readouterr().err
    other = tmp_path / "other.jsonl"
    other.write_text('{"format": "assistant-trial 9"}\n')
    with pytest.raises(ValueError, match="assistant-trial 9"):
        main(["--grade", str(other)])
