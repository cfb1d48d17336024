"""Addresses: which of them stay on this machine, and that no password in one is ever shown."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lorekeeper.addresses import is_local, shown_address
from lorekeeper.cache.milvus.server import MilvusServer
from lorekeeper.composition import open_store
from lorekeeper.embedding.configured import load_provider
from lorekeeper.embedding.http import HttpProvider
from lorekeeper.errors import ConfigError, EmbeddingError, MilvusConnectionError, SourceError
from lorekeeper.intake.open5e import Open5eClient
from lorekeeper.settings import ADDRESSES, load_settings
from tests.support import forking
from tests.support.commands import environment, run_inside, run_lorekeeper
from tests.support.embedding_server import EmbeddingServer
from tests.support.loopback import QuietServer, running
from tests.support.programs import connect_to_nonsense, forked
from tests.support.samples import write_lines
from tests.support.tables import each_row

PASSWORD = "hush-hush"
NOWHERE = "http://ann:hush-hush@127.0.0.1:9"
"""An address with a password, where no server listens."""

LOCAL = [
    "http://localhost:8080/v1",
    "HTTP://LocalHost",
    "http://127.0.0.1",
    "https://127.255.0.3:1/?q#f",
    "tcp://127.0.0.1:19530",
    "http://[::1]:8080/v1",
    "http://[0:0:0:0:0:0:0:1]/",
    "http://[::ffff:127.0.0.1]:80",
    "http://user:pass@127.0.0.1/",
    "unix:/run/milvus.sock",
    "unix:///run/milvus.sock",
    "milvus.db",
    "./shelf/milvus.db",
    "/srv/me@work/milvus.db",
]
ELSEWHERE = [
    "",
    "http://",
    "https://api.openai.com/v1",
    "http://127.0.0.1.evil.example",
    "http://127.evil.example",
    "http://localhost.evil.example/",
    "http://evil-localhost/",
    "http://127.0.0.1@evil.example/",
    "http://127.0.0.1:80@evil.example",
    "http://127.0.0.1:80:evil.example",
    "http://evil.example#@127.0.0.1",
    "http://evil.example?@127.0.0.1",
    "http://evil.example\\@127.0.0.1",
    "http://127.0.0.1\\@evil.example",
    "http://127.0.0.1\t.evil.example",
    "http://127.0.0.1\n.evil.example",
    "http://evil.example[::1]",
    "http://[::1]evil.example",
    "http://[::1].evil.example/",
    "http://[evil.example",
    "http://[::]/",
    "http://0.0.0.0/",
    "http://10.0.0.1/",
    "http://169.254.169.254/",
    "http://[::ffff:10.0.0.1]/",
    "http://[fe80::1]/",
    "http://127.1",
    "http://2130706433",
    "http://0x7f000001",
    "http://0177.0.0.1",
    "http://１２７.0.0.1/",
    "http://localhost./",
    "http://evil.example/milvus.db",
    "evil.example:19530",
    "localhost:19530",
]


@each_row("address", LOCAL)
def test_b16_loopback_sockets_and_files_are_local(address):
    assert is_local(address)


@each_row("address", ELSEWHERE)
def test_b16_all_else_is_not(address):
    assert not is_local(address)


@pytest.mark.parametrize(("name", "load"), [("milvus_uri", open_store), ("embedding_url", load_provider)])
@pytest.mark.parametrize("address", ["http://ann:hush-hush@evil.example:9", "http://127.0.0.1.evil.example"])
def test_b16_offline_refuses_every_address_that_is_not_local(name, load, address):
    variable = f"LOREKEEPER_{name.upper()}"
    environ = {variable: address, "LOREKEEPER_EMBEDDING_PROVIDER": "http", "LOREKEEPER_EMBEDDING_URL": NOWHERE}
    settings, _ = load_settings({**environ, variable: address, "LOREKEEPER_OFFLINE": "1"}, Path("no.env"))
    with pytest.raises(ConfigError, match=f"LOREKEEPER_OFFLINE.*{variable}") as caught:
        load(settings)
    assert PASSWORD not in str(caught.value)


@pytest.mark.alike(1)
@pytest.mark.parametrize("command", [["stats", "--json"], ["import", "a.jsonl"], ["doctor", "--json"]])
def test_b16_no_command_asks_a_milvus_elsewhere_while_offline(tmp_path, command):
    write_lines(tmp_path / "a.jsonl")
    env = environment(tmp_path, MILVUS_URI="http://ann:hush-hush@milvus.example:19530", MILVUS_TOKEN=PASSWORD)
    done = run_lorekeeper(tmp_path, *command, env=env)
    assert PASSWORD not in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    if command[0] == "doctor":
        checks = {c["name"]: c for c in json.loads(done.stdout)["checks"]}
        assert (done.returncode, checks["library"]["ok"]) == (1, False)
        assert "LOREKEEPER_MILVUS_URI" in checks["library"]["message"]
    else:
        assert (done.returncode, done.stdout) == (2, "")
        assert "LOREKEEPER_MILVUS_URI" in done.stderr


def test_b16_what_is_local_is_not_asked_through_a_proxy(monkeypatch):
    with answering(500) as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy)
        for name in ("no_proxy", "NO_PROXY"):
            monkeypatch.delenv(name, raising=False)
        server = EmbeddingServer()
        with server.running():
            assert HttpProvider(server.url, "m").dimension == 128


# --- what is shown ---------------------------------------------------------------------------------------------------


@each_row(
    ("address", "expected"),
    [
        ("http://host:1/v1", "http://host:1/v1"),
        ("http://ann:hush@host:1/v1", "http://***@host:1/v1"),
        ("http://hush@host", "http://***@host"),
        ("https://ann:hu/sh?h#h@sh@host/x", "https://***@host/x"),
        ("http://host/v1?key=hush&b=1#hush", "http://host/v1?***"),
        ("ann:hush@host:19530", "***@host:19530"),
        ("unix:/run/x", "unix:/run/x"),
        ("/srv/me@work/milvus.db", "/srv/me@work/milvus.db"),
        ("http://[::1", "http://[::1"),
        ("http://host\x1b[2J", "http://host[2J"),
    ],
)
def test_b17_an_address_is_shown_without_its_secrets(address, expected):
    assert shown_address(address) == expected


secret = st.text(min_size=6).map(lambda text: f"{text}hush{text}")


@given(secret, secret)
def test_b17_whatever_a_password_is_it_is_not_shown(user, password):
    assert "hush" not in shown_address(f"http://{user}:{password}@host:1/v1?{user}")
    assert "hush" not in shown_address(f"{user}:{password}@host:1#{password}")


@contextmanager
def answering(status: int) -> Iterator[str]:
    """Address of a server that answers everything with one status, as a redirect to itself under another name."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("Location", "http://bob:hush-hush@elsewhere.example/?token=hush-hush")
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_POST = do_GET  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    with running(QuietServer(("127.0.0.1", 0), Handler)) as address:
        yield address


def with_password(address: str) -> str:
    return address.replace("://", f"://ann:{PASSWORD}@")


@pytest.mark.parametrize("status", [404, 302])
async def test_b17_errors_of_embedding_servers_and_sources_hide_passwords(status):
    with answering(status) as address:
        with pytest.raises(EmbeddingError) as embedding:
            HttpProvider(with_password(address), "m")
        async with Open5eClient(with_password(address), attempts=1) as client:
            with pytest.raises(SourceError) as source:
                await client.page("v2/spells", "limit=1")
    for error in (embedding, source):
        assert PASSWORD not in str(error.value)
        assert address.removeprefix("http://") in str(error.value)


@pytest.mark.parametrize("uri", ["ftp://ann:hush-hush@h", "http://ann:hush-hush@127.0.0.1:9/", "x:hush-hush@h"])
def test_b17_milvus_errors_hide_passwords(uri, monkeypatch):
    monkeypatch.setattr("lorekeeper.cache.milvus.server.CONNECT_SECONDS", 0.2)
    server = MilvusServer(uri, None)
    with pytest.raises(MilvusConnectionError) as caught:
        server.open()
    assert PASSWORD not in f"{caught.value} {server.location}"


def test_b17_doctor_and_logs_show_no_password(tmp_path):
    server = EmbeddingServer()
    with server.running():
        addresses = {
            "OPEN5E_BASE_URL": NOWHERE,
            "EMBEDDING_URL": with_password(server.url),
            "RERANK_URL": NOWHERE,
            "MILVUS_URI": "http://ann:hush-hush@milvus.example",
        }
        assert {name.lower() for name in addresses} == ADDRESSES - {"oauth_issuer"}  # which may have none
        own = {"CACHE_BACKEND": "sqlite", "EMBEDDING_PROVIDER": "http", "LOG_LEVEL": "DEBUG", **addresses}
        write_lines(tmp_path / "shelf.jsonl")
        for command in (["doctor"], ["doctor", "--json"], ["import", "shelf.jsonl", "--json"], ["search", "tide ash"]):
            done = run_inside(tmp_path, *command, env=environment(tmp_path, **own))
            assert done.returncode == 0, done.stderr
            assert PASSWORD not in done.stdout + done.stderr, command


# --- the current folder ----------------------------------------------------------------------------------------------


def test_b1_the_milvus_driver_reads_no_file_of_the_current_folder(tmp_path):
    (tmp_path / ".env").write_text(
        "HTTPS_PROXY=http://evil.example\nLOREKEEPER_PLANTED=${HOME}\nMILVUS_CONN_TIMEOUT=x\n"
    )
    program = forked(connect_to_nonsense)
    env = {k: v for k, v in os.environ.items() if k not in ("HTTPS_PROXY", "PYTHON_DOTENV_DISABLED")}
    env |= forking.variables()
    done = subprocess.run(program, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=200, check=False)
    assert done.stdout.splitlines()[-1] == "[]", done.stderr
    assert "is illegal" in done.stdout
