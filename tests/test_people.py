"""Who is at the table: the registry, its file, and the commands that change it."""

from __future__ import annotations

import json
import os
import random
import re
import stat
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from lorekeeper.cli.main import main
from lorekeeper.composition import people_of
from lorekeeper.errors import CacheError, NotFoundError, PeopleError, StrangerError, TokenError
from lorekeeper.people.person import expiry
from lorekeeper.people.registry import People
from tests.support import forking
from tests.support.commands import run_lorekeeper, variables
from tests.support.libraries import settings
from tests.support.programs import add_people, forked
from tests.support.tables import each_row

DAY = 86_400
TOKEN = re.compile(r"lk_[A-Za-z0-9_-]{43}")

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def people(tmp_path: Path) -> People:
    return People(tmp_path / "lore" / "milvus.db.people")


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command of `people` on the library of the test; its status, stdout and stderr."""
    for name, value in variables(tmp_path).items():
        monkeypatch.setenv(name, value)

    def run(*arguments: str) -> tuple[int, str, str]:
        try:
            status = main(["people", *arguments])
        except SystemExit as left:
            status = int(str(left.code))
        return status, *capsys.readouterr()

    return run


def known(people: People) -> list[str]:
    return [person.name for person in people.everyone()]


# --- the registry ------------------------------------------------------------------------------------------------------


def test_a_token_names_its_person_and_no_other_opens_anything(people):
    ana, token = people.add("Ana", "player", ["Kaelen"])
    _, other = people.add("Geoff", "dm")
    assert TOKEN.fullmatch(token)
    assert token != other
    assert people.of_token(token.encode()) == ana
    assert people.of_token(other.encode()).name == "Geoff"
    wrong = [
        b"",
        b"lk_",
        token[:-1].encode(),
        token.encode() + b"x",
        token.lower().encode(),
        ana.token.encode(),
        b"\xff",
    ]
    for each in wrong:
        with pytest.raises(TokenError) as refused:
            people.of_token(each)
        assert each.decode("latin-1") not in str(refused.value) or not each


def test_nothing_of_a_token_is_kept_and_only_the_user_can_read_the_file(people):
    _, token = people.add("Ana", "player")
    written = people.file.read_text()
    assert "Ana" in written
    assert token not in written
    assert token.removeprefix("lk_") not in written
    assert stat.S_IMODE(people.file.stat().st_mode) == 0o600
    assert [file.name for file in people.file.parent.iterdir() if file.name.endswith(".new")] == []


def test_a_new_token_ends_the_old_one_at_once_also_in_another_process(people):
    _, token = people.add("Ana", "player")
    elsewhere = People(people.file)
    assert elsewhere.of_token(token.encode()).name == "Ana"
    rotated, new = people.rotate("ana")
    assert elsewhere.of_token(new.encode()) == rotated
    with pytest.raises(TokenError):
        elsewhere.of_token(token.encode())
    people.remove("ANA")
    with pytest.raises(TokenError):
        elsewhere.of_token(new.encode())


def test_a_token_expires_and_a_new_one_holds_as_long_as_the_old_one_was_to(people, monkeypatch):
    _, token = people.add("Ana", "player", expires=int(time.time()) + 90 * DAY)
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 89 * DAY)
    assert people.of_token(token.encode()).name == "Ana"
    monkeypatch.setattr(time, "time", lambda: now + 91 * DAY)
    with pytest.raises(TokenError, match="expired"):
        people.of_token(token.encode())
    with pytest.raises(StrangerError, match="expired"):
        people.of_login(["Ana"])
    rotated, new = people.rotate("Ana")
    assert rotated.expires == pytest.approx(now + 181 * DAY, abs=3)
    assert people.of_token(new.encode()) == rotated


@pytest.mark.parametrize(
    ("name", "characters"), [("ANA", []), ("  Ána ", []), ("kaelen", []), ("Ben", ["Ana"]), ("Ben", ["Torvin", "ána"])]
)
def test_names_that_somebody_has_are_refused(people, name, characters):
    people.add("Ana", "player", ["Kaelen"])
    with pytest.raises(PeopleError, match=r"added already|is a person, and cannot|character of"):
        people.add(name, "player", characters)
    assert known(people) == ["Ana"]


def test_a_person_who_is_not_there_is_named_with_the_nearest(people):
    with pytest.raises(NotFoundError, match="there are no people yet"):
        people.remove("Ana")
    people.add("Anabel", "player")
    with pytest.raises(NotFoundError, match="did you mean 'Anabel'"):
        people.rotate("Anabell")


@pytest.mark.parametrize(
    ("login", "found"),
    [
        ("ana.b@example.com", True),
        ("Ana.B@EXAMPLE.com", True),
        ("ana-b@example.com", False),
        ("ana b@example.com", False),
        ("ana.b@example.com ", False),
        ("ana.b@e\u212aample.com", False),
        ("ana.b@example.co", False),
        ("", False),
    ],
)
def test_a_login_is_not_folded_as_a_name_is(people, login, found):
    people.add("ana.b@example.com", "player")
    people.add("kim@example.com", "player")
    names = [person.name for person in people.everyone() if person.logs_in_as(login)]
    assert names == (["ana.b@example.com"] if found else [])


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        '{"format": 2, "people": []}',
        '{"format": 1, "people": [{"name": "Ana"}]}',
        '{"format": 1, "people": [{"name": "Ana", "role": "god", "characters": [], "token": "", "created": 1, "expires": null,'
        ' "rotated": null}]}',
    ],
)
def test_a_damaged_file_lets_nobody_in_and_is_not_written_over(people, content):
    _, token = people.add("Ana", "player")
    people.file.write_text(content)
    with pytest.raises(CacheError, match="cannot be read"):
        people.of_token(token.encode())
    with pytest.raises(CacheError, match="cannot be read"):
        people.add("Ben", "player")
    assert people.file.read_text() == content


@each_row(("text", "days"), [("90d", 90), ("2w", 14), (" 24H ", 1)])
def test_an_expiry_is_a_length_of_time(text, days):
    assert expiry(text) == pytest.approx(time.time() + days * DAY, abs=60)


def test_two_processes_that_add_people_lose_nobody(people):
    env = {**os.environ, **forking.variables()}
    commands = [forked(add_people, people.file, name, 15) for name in ("Left", "Right")]
    programs = [
        subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for command in commands
    ]
    for program in programs:
        assert program.stdout is not None
        program.stdout.readline()
    for program in programs:
        assert program.stdin is not None
        program.stdin.write("\n")
        program.stdin.flush()
    printed = "".join(program.communicate(timeout=200)[0] for program in programs).splitlines()
    tokens = dict(line.split("\t") for line in printed)
    assert len(tokens) == 30
    assert sorted(tokens) == sorted(known(people))
    assert {people.of_token(token.encode()).name for token in tokens.values()} == set(tokens)


@pytest.mark.slow
def test_a_process_that_is_killed_while_it_writes_loses_nobody(people, kills, seed):
    chance, told = random.Random(f"{seed} people"), dict[str, str]()
    env = {**os.environ, **forking.variables()}
    for number in range(kills * 2):
        with subprocess.Popen(
            forked(add_people, people.file, f"Round {number}", 10_000),
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        ) as program:
            assert program.stdout is not None
            program.stdout.readline()
            first = program.stdout.readline()
            time.sleep(chance.random() * 0.05)
            program.kill()
            lines = [first, *program.stdout]
        told |= dict(line.rstrip("\n").split("\t") for line in lines if line.endswith("\n"))
        assert {people.of_token(token.encode()).name for token in told.values()} == set(told)
    assert len(told) > kills * 2
    assert 0 <= len(known(people)) - len(told) <= kills * 2, "what was not printed any more may be there"


# --- the commands --------------------------------------------------------------------------------------------------------


def test_the_token_alone_is_on_stdout_and_never_shown_again(tmp_path):
    done = run_lorekeeper(
        tmp_path, "people", "add", "Ana", "--role", "player", "--character", "Kaelen", "--expires", "90d"
    )
    token = done.stdout.removesuffix("\n")
    assert done.returncode == 0, done.stderr
    assert TOKEN.fullmatch(token)
    assert "only once" in done.stderr
    people = people_of(settings(milvus_db_path=tmp_path / "milvus.db"))
    assert people.of_token(token.encode()).characters == ("Kaelen",)
    assert stat.S_IMODE(people.file.stat().st_mode) == 0o600


def test_the_list_shows_everything_but_tokens(run, tmp_path):
    assert run("list")[1].startswith("No people yet")
    _, token, _ = run("add", "Ana", "--role", "player", "--character", "Kaelen", "--expires", "90d")
    _, printed, _ = run("add", "Geoff [bold]", "--role", "dm", "--json")
    added = json.loads(printed)
    assert (added["name"], added["role"], added["expires"]) == ("Geoff [bold]", "dm", None)
    status, shown, _ = run("list")
    _, listed, _ = run("list", "--json")
    assert status == 0
    assert ("Kaelen" in shown, "Geoff" in shown, "[bold]" in shown, "never" in shown) == (True,) * 4
    rows = json.loads(listed)["people"]
    assert [set(row) for row in rows] == [{"name", "role", "characters", "created", "expires", "rotated"}] * 2
    digests = [person.token for person in people_of(settings(milvus_db_path=tmp_path / "milvus.db")).everyone()]
    for secret in (token.strip(), added["token"], *digests):
        assert secret not in shown + listed


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (("add",), 2, "needs a name"),
        (("add", "Ana"), 2, "--role"),
        (("add", "Ana", "--role", "king"), 2, "king"),
        (("add", "Ana", "--role", "dm", "--character", "Kaelen"), 2, "for players"),
        (("add", "Ana", "--role", "player", "--expires", "yesterday"), 2, "90d"),
        (("add", "Ana", "--role", "player", "--expires", "2001-01-01"), 2, "in the past"),
        (("add", "\x1b[31m", "--role", "player"), 1, "cannot be the name"),
        (("add", "party", "--role", "player"), 1, "who may see them"),
        (("list", "Ana"), 2, "takes no name"),
        (("remove", "Ana", "--role", "dm"), 2, "belongs to"),
        (("remove", "Ana"), 1, "there are no people yet"),
        (("rotate", "Ana"), 1, "there are no people yet"),
        (("send", "Ana"), 2, "send"),
    ],
)
def test_wrong_use_is_told_and_changes_nothing(run, tmp_path, arguments, status, says):
    left, out, err = run(*arguments)
    assert (left, out) == (status, "")
    assert says in err
    assert "\x1b" not in err
    assert people_of(settings(milvus_db_path=tmp_path / "milvus.db")).everyone() == []
