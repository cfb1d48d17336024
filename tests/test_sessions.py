"""Sessions of browsers, and links: the file, and what ends them."""

from __future__ import annotations

import stat
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lorekeeper.audience import GAME_MASTER
from lorekeeper.errors import CacheError, TokenError
from lorekeeper.people.registry import People
from lorekeeper.people.sessions import INVITATION_SECONDS, SECONDS, Sessions, answer
from lorekeeper.people.tokens import digest

MASTER = "a word that somebody chose"
DAY = 86_400


@pytest.fixture
def people(tmp_path: Path) -> People:
    return People(tmp_path / "milvus.db.people")


@pytest.fixture
def sessions(people: People) -> Sessions:
    return Sessions(people, digest(MASTER.encode()))


def written(people: People) -> str:
    return people.file.with_name(f"{people.file.name}.sessions").read_text()


def owner(sessions: Sessions, key: str) -> str | None:
    person = sessions.owner(key.encode())
    return person.name if person else None


def is_over(sessions: Sessions, key: str) -> bool:
    try:
        sessions.owner(key.encode())
    except TokenError as error:
        return key not in str(error)
    return False


def test_a_session_is_of_whom_the_token_is(people, sessions):
    _, token = people.add("Ana", "player", ["Kaelen"])
    opened = sessions.sign_in(token.encode())
    assert opened.viewer.person == "Ana"
    assert SECONDS - 60 < opened.seconds <= SECONDS
    master = sessions.sign_in(MASTER.encode())
    assert master.viewer == GAME_MASTER
    assert len({opened.key, master.key, token}) == 3
    elsewhere = Sessions(People(people.file), digest(MASTER.encode()))
    assert (owner(elsewhere, opened.key), owner(elsewhere, master.key)) == ("Ana", None)
    for wrong in ("", token, MASTER, digest(opened.key.encode()), opened.key + "x", opened.key.lower()):
        assert is_over(sessions, wrong) or not wrong
        with pytest.raises(TokenError):
            sessions.owner(wrong.encode())
    with pytest.raises(TokenError):
        sessions.sign_in(opened.key.encode())


def test_nothing_in_the_file_opens_anything_and_only_the_user_can_read_it(people, sessions):
    _, token = people.add("Ana", "player")
    keys = [sessions.sign_in(token.encode()).key, sessions.sign_in(MASTER.encode()).key, sessions.link()]
    text = written(people)
    assert text.count('"key"') == 3
    for secret in (*keys, token, MASTER, digest(token.encode()), digest(MASTER.encode())):
        assert secret.removeprefix("lk_") not in text
    assert stat.S_IMODE(people.file.with_name(f"{people.file.name}.sessions").stat().st_mode) == 0o600


def test_a_session_ends_with_its_credential(people, sessions):
    tokens = {name: people.add(name, "player")[1] for name in ("Ana", "Bo", "Cy")}
    keys = {name: sessions.sign_in(token.encode()).key for name, token in tokens.items()}
    master = sessions.sign_in(MASTER.encode()).key
    people.remove("Ana")
    people.rotate("Bo")
    assert is_over(sessions, keys["Ana"])
    assert is_over(sessions, keys["Bo"])
    people.add("Ana", "dm")
    assert is_over(sessions, keys["Ana"]), "somebody else has the same name now"
    assert owner(sessions, keys["Cy"]) == "Cy"
    assert owner(sessions, master) is None
    assert is_over(Sessions(people, digest(b"another token")), master)
    assert is_over(Sessions(people), master)


def test_a_session_ends_with_sign_out_in_all_servers(people, sessions):
    elsewhere = Sessions(People(people.file), digest(MASTER.encode()))
    key, other = (sessions.sign_in(MASTER.encode()).key for _ in range(2))
    assert owner(elsewhere, key) is None
    sessions.end(key.encode())
    sessions.end(b"unknown")
    assert is_over(elsewhere, key)
    assert owner(elsewhere, other) is None


def test_a_session_ends_with_its_time_and_with_that_of_the_person(people, sessions, monkeypatch):
    _, token = people.add("Ana", "player", expires=int(time.time()) + DAY)
    ana, master = sessions.sign_in(token.encode()), sessions.sign_in(MASTER.encode()).key
    assert DAY - 60 < ana.seconds <= DAY
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + DAY + 1)
    assert is_over(sessions, ana.key)
    assert owner(sessions, master) is None
    monkeypatch.setattr(time, "time", lambda: now + SECONDS + 1)
    assert is_over(sessions, master)
    sessions.link()
    assert written(people).count('"session"') == 0, "what is over is removed"


def test_a_link_for_a_person_signs_in_that_person_once(people, sessions, monkeypatch):
    ana, _ = people.add("Ana", "player", ["Kaelen"])
    earlier, link = sessions.link(ana), sessions.link(ana)
    with pytest.raises(TokenError):
        sessions.redeem(earlier.encode())
    opened = sessions.redeem(link.encode())
    assert opened.viewer.person == "Ana"
    assert not opened.viewer.sees_all
    assert owner(sessions, opened.key) == "Ana"
    with pytest.raises(TokenError):
        sessions.redeem(link.encode())
    assert link not in written(people)
    replaced = sessions.link(ana)
    people.rotate("Ana")
    with pytest.raises(TokenError, match="new token"):
        sessions.redeem(replaced.encode())
    gone = sessions.link(people.everyone()[0])
    people.remove("Ana")
    with pytest.raises(TokenError, match="who was removed"):
        sessions.redeem(gone.encode())
    bo, _ = people.add("Bo", "player")
    late = sessions.link(bo)
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + INVITATION_SECONDS + 1)
    with pytest.raises(TokenError):
        sessions.redeem(late.encode())


def test_a_link_is_used_once_however_many_try_at_the_same_time(people, sessions):
    link = sessions.link().encode()

    def redeemed(_: int) -> bool:
        try:
            return bool(Sessions(People(people.file)).redeem(link))
        except TokenError:
            return False

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(redeemed, range(8))) == 1


def test_who_reads_the_file_answers_a_challenge(sessions):
    assert sessions.answers("c") == []
    keys = [sessions.link(), sessions.link()]
    assert sessions.answers("c") == [answer(digest(key.encode()), "c") for key in keys]
    assert set(sessions.answers("d")).isdisjoint(sessions.answers("c"))


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        '{"format": 2, "sessions": []}',
        '{"format": 1, "sessions": [{}]}',
        '{"format": 1, "sessions": [{"kind": "key", "key": "", "person": null, "proof": "", "began": 0, "ends": 1}]}',
        '{"format": 1, "sessions": [{"kind": "link", "key": "", "person": 1, "proof": "", "began": 0, "ends": 1}]}',
        '{"format": 1, "sessions": [{"kind": "link", "key": "", "person": null, "proof": "", "began": "", "ends": 1}]}',
    ],
)
def test_a_damaged_file_is_an_error_that_says_what_to_do(people, sessions, content):
    people.file.with_name(f"{people.file.name}.sessions").write_text(content)
    with pytest.raises(CacheError, match="all people sign in again"):
        sessions.owner(b"key")
    with pytest.raises(CacheError):
        sessions.link()
