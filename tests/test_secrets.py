"""Real campaign notes with secrets, and what a curious player asks: nothing secret is in any byte of any answer."""

from __future__ import annotations

import functools
import json
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import httpx
import pytest

from lorekeeper.composition import people_of
from tests.support.commands import run_lorekeeper
from tests.support.libraries import settings, whole_books
from tests.support.pages import addresses
from tests.support.serving import http_server
from tests.support.wires import HttpWire, RestWire, StdioWire, Wire

pytestmark = [pytest.mark.corpus, pytest.mark.timeout(900)]

VAULT = "the-rot-beneath"
MOST = 20
"""Results of each question."""

FORMS = ("as written", "all shared")
"""The vault's notes: without marks but their headings, and with front matter that shares each of them."""

MOST_PAGES = 300
"""Pages that are read, from one link to the next."""

PUBLIC_CHARS = 40
"""Characters of a public section that an answer has at least."""

SHARED = "---\nvisibility: players\n---\n"


@dataclass(frozen=True)
class Question:
    """What a player asks whose true answer is secret.

    Attributes:
        text: the question.
        phrases: of the answer, compared as `plain` makes them.
        path: of the note that has the answer, in the vault.
        heading: that the answer stands under.
        explicit: whether every place of every phrase is under a heading that says so.
    """

    text: str
    phrases: tuple[str, ...]
    path: str
    heading: str
    explicit: bool


@dataclass
class Graded:
    """The questions, and which paths of the vault have something that everybody may see."""

    questions: list[Question] = field(default_factory=list)
    public: set[str] = field(default_factory=set)
    marked_public: set[str] = field(default_factory=set)


@pytest.fixture(scope="module")
def graded(corpus: Path) -> Graded:
    graded, printed = Graded(), plain(" ".join(str(each.data) for each in whole_books()))
    for line in (corpus.parent / "eval" / "notes_secrets.jsonl").read_text("utf-8").splitlines():
        each: dict[str, Any] = json.loads(line)
        if "public" in each:
            graded.public.add(each["public"]["path"])
            if "Public Knowledge" in each["public"]["heading"]:
                graded.marked_public.add(each["public"]["path"])
        elif "query" in each:
            # What a book prints as well, such as the name of a plane, is met without the note.
            where, phrases = each["secret"], tuple(said for said in map(plain, each["must_not"]) if said not in printed)
            explicit = each["marks"] == "explicit"
            graded.questions.append(Question(each["query"], phrases, where["path"], where["heading"], explicit))
    assert (len(graded.questions), len(graded.public) > 15, len(graded.marked_public)) == (25, True, 7)
    return graded


# --- a library and those who ask it ----------------------------------------------------------------------------------


@dataclass
class Table:
    """A library of the vault, a server, and tokens by role.

    Attributes:
        folder: of the library.
        address: of the server.
        tokens: by role.
        shared: whether each note is shared.
    """

    folder: Path
    address: str
    tokens: Mapping[str, str]
    shared: bool

    @contextmanager
    def wire(self, kind: str, role: str) -> Iterator[Wire]:
        """A connection of that kind, as that role."""
        made: Mapping[str, Callable[[], Wire]] = {
            "stdio": lambda: StdioWire(self.folder, VIEW=role),
            "http": lambda: HttpWire(self.address, self.tokens[role]),
            "rest": lambda: RestWire(self.address, self.tokens[role]),
        }
        wire = made[kind]()
        try:
            yield wire
        finally:
            wire.close()


@pytest.fixture(scope="module")
def tables(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Table]]:
    """Makes the table of each form, once."""
    with ExitStack() as stack:

        @functools.cache
        def table(form: str) -> Table:
            folder, shared = tmp_path_factory.mktemp("table"), form == "all shared"
            vault = folder / VAULT
            shutil.copytree(corpus / "vaults" / VAULT, vault)
            for note in vault.rglob("*.md") if shared else ():
                note.write_text(SHARED + note.read_text("utf-8"), "utf-8")
            for command in (["vault", "add", str(vault)], ["share", "--marked", "--yes"]):
                done = run_lorekeeper(folder, *command)
                assert done.returncode == 0, done.stderr
            people = people_of(settings(milvus_db_path=folder / "milvus.db"))
            tokens = {"player": people.add("Ana", "player")[1], "dm": people.add("Geoff", "dm")[1]}
            url = stack.enter_context(http_server(folder, RATE_LIMIT="0"))
            return Table(folder, url.removesuffix("/mcp"), tokens, shared)

        yield table


@pytest.fixture
def table(request: pytest.FixtureRequest, tables: Callable[[str], Table]) -> Table:
    return tables(request.param)


# --- comparing -------------------------------------------------------------------------------------------------------


def plain(text: str) -> str:
    """A text as phrases are compared: folded, without emphasis, white space as one space, and no escapes of JSON or addresses."""
    text = re.sub(r"\\+u([0-9a-fA-F]{4})", lambda match: chr(int(match[1], 16)), unquote(text))
    text = re.sub(r"\\+[nrt]", " ", text).replace("\\", "")
    return " ".join(re.sub(r"[*_]", "", text).split()).casefold()


def uris_in(answer: object) -> Iterator[str]:
    """The addresses of all that an answer names."""
    if isinstance(answer, dict):
        yield from [answer["uri"]] if isinstance(answer.get("uri"), str) else []
        answer = list(answer.values())
    if isinstance(answer, list):
        for each in answer:
            yield from uris_in(each)


def path_of(uri: str) -> str:
    """The path of a note in its vault."""
    return unquote(uri.partition(f"/{VAULT}/")[2])


def answers(wire: Wire, question: str) -> list[dict[str, Any]]:
    """What the tools answer to a question."""
    return [
        wire.ask("search_lore", query=question, limit=MOST),
        wire.ask("lookup_note", semantic_query=question, limit=MOST),
        wire.ask("lookup_note", semantic_query=question, limit=MOST, detail="full"),
        wire.ask("gather_topic", topic=question, limit=MOST),
    ]


ON_WIRES = pytest.mark.parametrize(
    ("table", "kind"), [(FORMS[0], "stdio"), (FORMS[0], "rest"), (FORMS[1], "http")], indirect=["table"]
)
"""Each connection, on one form of the notes: what is shared is decided below all of them."""


# --- a player --------------------------------------------------------------------------------------------------------


@ON_WIRES
def test_nothing_secret_is_in_any_byte_that_a_player_receives(
    table: Table, graded: Graded, corpus: Path, kind: str
) -> None:
    met = set[str]()
    with table.wire(kind, "player") as wire:
        for question in graded.questions:
            met.update(uri for answer in answers(wire, question.text) for uri in uris_in(answer))
        for uri in sorted(met):
            wire.read(uri)
        for question in graded.questions:
            probe(wire, question)
        wire.look_around(sorted({word for q in graded.questions for word in words(q)}))
    received = plain("\n".join(wire.received))
    asked = [q for q in graded.questions if q.explicit or not table.shared]
    assert len(asked) > 5
    assert [phrase for q in asked for phrase in q.phrases if phrase in received] == []
    found = {path for uri in met if (path := path_of(uri))}
    assert found >= (graded.public if table.shared else graded.marked_public)
    assert table.shared or found <= graded.public
    beginnings = [public_text(corpus / "vaults" / VAULT / path) for path in sorted(graded.marked_public)]
    assert [text for text in beginnings if text not in received] == [], "the public parts of notes with secret ones"


@pytest.mark.parametrize(("table", "role"), [(FORMS[0], "player"), (FORMS[1], "dm")], indirect=["table"])
def test_no_page_that_players_see_has_a_secret_in_it(table: Table, graded: Graded, role: str) -> None:
    """Also where the game master sees the pages as players do, which are the same (`test_views`), with their JSON twins."""
    headers = {"Authorization": f"Bearer {table.tokens[role]}", "Cookie": "lorekeeper_as=player"}
    met, received = set[str](), list[str]()
    asked = [
        f"{path}?q={quote(q.text)}"
        for q in graded.questions
        for path in ("/", "/topics", "/search.json", "/topics.json")
    ]
    probes = [f"/entries/notes/{VAULT}/{quote(q.path, safe='')}" for q in graded.questions]
    waiting = ["/recent", "/recent.json", "/sessions", "/sessions.json", "/books", *asked, *probes]
    with httpx.Client(base_url=table.address, headers=headers, timeout=200) as client:
        while waiting and len(met) < MOST_PAGES:
            path = waiting.pop(0)
            if path not in met:
                met.add(path)
                received.append(client.get(path).text)
                waiting += addresses(received[-1])
    said = plain("\n".join((*received, *(unescape(re.sub(r"<[^>]*>", "", page)) for page in received))))
    wanted = [q for q in graded.questions if q.explicit or not table.shared]
    assert [phrase for q in wanted for phrase in q.phrases if phrase in said] == []
    pages = {path_of(unquote(path)) for path in met if path.startswith("/entries/notes/")}
    assert pages >= graded.marked_public
    assert ("this is what players see" in said) == (role == "dm")


def public_text(note: Path) -> str:
    """How the public section of a note begins, which also has secret ones."""
    text = plain(note.read_text("utf-8").partition("### Public Knowledge\n")[2])
    assert len(text) > PUBLIC_CHARS
    return text[:PUBLIC_CHARS]


def probe(wire: Wire, question: Question) -> None:
    """Ask for the note that has the answer by its address and name, as who guesses does."""
    wire.read(f"lore://notes/{VAULT}/{question.path.replace('/', '%2F')}")
    name = Path(question.path).stem.replace("-", " ")
    wire.ask("lookup_note", name=name, detail="full")
    wire.ask("lookup_note", links_to=name)
    wire.ask("search_lore", query=f"{name} {question.heading.strip('# ')}", types=["notes"], limit=MOST)


def words(question: Question) -> list[str]:
    """Beginnings of words of a secret, which an argument may complete."""
    return [phrase.split()[0][:3] for phrase in question.phrases]


# --- the game master -------------------------------------------------------------------------------------------------


@ON_WIRES
def test_the_game_master_finds_every_secret_and_sees_it_marked(table: Table, graded: Graded, kind: str) -> None:
    shown = 0
    with table.wire(kind, "dm") as wire:
        for question in graded.questions:
            given = answers(wire, question.text)
            addresses = {path_of(uri): uri for uri in uris_in(given)}
            assert question.path in addresses, question
            if question.explicit or not table.shared:
                assert wire.ask("get_entity", uri=addresses[question.path])["secret"], question
                places = places_of(question, given)
                assert all(each.get("secret") for each in places), question
                shown += bool(places)
    received = plain("\n".join(wire.received))
    assert [phrase for q in graded.questions for phrase in q.phrases if phrase not in received] == []
    assert shown > 3, "the secret section itself, and not another one of its note"


def places_of(question: Question, given: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The results whose text stands under the heading of the secret."""
    results = [each for answer in given for each in answer.get("results", ()) if path_of(each["uri"]) == question.path]
    heading = question.heading.strip("# ")
    return [each for each in results if not heading or heading in each["section"].split(" > ")]
