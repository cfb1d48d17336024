"""Settings from the environment and the user's own file, checked once and each with its origin."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from lorekeeper.composition import load_provider, open_store
from lorekeeper.errors import ConfigError, EmbeddingError
from lorekeeper.settings import (
    ADDRESSES,
    BACKENDS,
    LITERAL,
    PREFIX,
    PROVIDERS,
    Settings,
    ignored_file,
    load_settings,
    shown_value,
    write_setting,
)
from tests.support.tables import each_row


def load(file: Path | None = None, /, **environ: str) -> Settings:
    return load_settings({PREFIX + name: value for name, value in environ.items()}, file or Path("/nonexistent/.env"))[
        0
    ]


@pytest.fixture
def home(monkeypatch, tmp_path):
    """A home with a folder for LoreKeeper, and another current folder."""
    home = tmp_path / "home"
    (home / ".lorekeeper").mkdir(parents=True)
    (tmp_path / "workspace").mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    monkeypatch.chdir(tmp_path / "workspace")
    return home


def refused(**environ: str) -> str:
    with pytest.raises(ConfigError) as error:
        load(**environ)
    return str(error.value)


def test_the_defaults_are_those_of_the_documentation(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    found, origins = load_settings({}, Path("/nonexistent/.env"))
    assert found.cache_backend == "milvus"
    assert found.milvus_db_path == tmp_path / ".lorekeeper" / "milvus.db"
    assert found.embedding_model == "all-MiniLM-L6-v2"
    assert found.embedding_provider == "auto"
    assert found.offline is False
    assert set(origins) == set(Settings.model_fields)
    assert set(origins.values()) == {"default"}


@pytest.mark.store
@pytest.mark.parametrize("name", BACKENDS)
def test_every_backend_opens_the_library_that_its_setting_names(name, tmp_path):
    settings = load(CACHE_BACKEND=name, **{f"{name.upper()}_DB_PATH": str(tmp_path / "mine")})
    assert settings.library_path == tmp_path / "mine"
    store = open_store(settings)
    assert store.statistics().location == str(tmp_path / "mine")
    store.close()


@pytest.mark.alike(2)
@pytest.mark.parametrize("name", PROVIDERS)
def test_every_provider_can_be_chosen_and_names_what_it_lacks(name):
    settings = load(EMBEDDING_PROVIDER=name, EMBEDDING_URL="http://127.0.0.1:9", EMBEDDING_MODEL="./no-model")
    try:
        outcome = load_provider(settings).name
    except EmbeddingError as error:
        outcome = str(error)
    assert re.search(r"\./no-model|127\.0\.0\.1:9", outcome) or outcome == name


def test_the_environment_wins_over_the_file_and_the_file_over_the_default(tmp_path):
    file = tmp_path / "my.env"
    file.write_text("LOREKEEPER_EMBEDDING_MODEL=from-file\nLOREKEEPER_LOG_LEVEL=INFO\nOTHER=1\n", "utf-8")
    found, origins = load_settings({"LOREKEEPER_LOG_LEVEL": "ERROR", "PATH": "/bin"}, file)
    assert (found.embedding_model, found.log_level, found.offline) == ("from-file", "ERROR", False)
    assert (origins["embedding_model"], origins["log_level"], origins["offline"]) == (
        str(file),
        "environment",
        "default",
    )


def test_another_file_may_be_named_in_the_environment(home, tmp_path):
    (home / ".lorekeeper" / ".env").write_text("LOREKEEPER_LOG_LEVEL=ERROR\nLOREKEEPER_OFFLINE=1\n")
    (tmp_path / "mine").write_text("LOREKEEPER_LOG_LEVEL=INFO\n")
    found, origins = load_settings({"LOREKEEPER_ENV_FILE": "../mine"})
    assert (found.log_level, found.offline, found.env_file) == ("INFO", False, tmp_path / "mine")
    assert (origins["log_level"], origins["env_file"]) == (str(tmp_path / "mine"), "environment")


@pytest.mark.parametrize("named", ["no-such-file", "/no/such/folder/.env", "~no-such-user-here/.env", "."])
def test_a_named_file_that_cannot_be_read_is_an_error(home, named):
    with pytest.raises(ConfigError, match=r"LOREKEEPER_ENV_FILE|cannot be read"):
        load_settings({"LOREKEEPER_ENV_FILE": named})


ATTACK = """LOREKEEPER_EMBEDDING_PROVIDER=http
export LOREKEEPER_EMBEDDING_URL=http://127.0.0.1:9/${HOME}
LOREKEEPER_EMBEDDING_MODEL=theirs
LOREKEEPER_MILVUS_URI=http://127.0.0.1:9
LOREKEEPER_OPEN5E_BASE_URL=http://127.0.0.1:9
LOREKEEPER_LOG_LEVEL=DEBUG
"""


def test_b1_nothing_is_read_from_the_current_folder(home):
    Path(".env").write_text(ATTACK)
    found, origins = load_settings({"LOREKEEPER_EMBEDDING_API_KEY": "mine"})
    assert (found.embedding_provider, found.embedding_url, found.milvus_uri) == ("auto", None, None)
    assert {name: origin for name, origin in origins.items() if origin != "default"} == {
        "embedding_api_key": "environment"
    }


def test_b1_a_file_in_the_current_folder_is_mentioned(home):
    settings = load_settings({})[0]
    assert ignored_file(settings) is None
    Path(".env").write_text("OTHER=1\n# LOREKEEPER_X\n")
    assert ignored_file(settings) is None
    Path(".env").write_text("OTHER=1\n  export LOREKEEPER_HTTP_TOKEN = hush\n")
    said = ignored_file(settings)
    assert said
    assert str(home / ".lorekeeper" / ".env") in said
    assert "hush" not in said


@pytest.mark.parametrize("blank", ["", "  ", "\t"])
def test_a_blank_variable_counts_as_not_set(tmp_path, blank):
    file = tmp_path / ".env"
    file.write_text("LOREKEEPER_EMBEDDING_MODEL=from-file\nLOREKEEPER_MILVUS_URI=\n", "utf-8")
    found, origins = load_settings({"LOREKEEPER_EMBEDDING_MODEL": blank}, file)
    assert (found.embedding_model, found.milvus_uri) == ("from-file", None)
    assert origins["milvus_uri"] == "default"


@pytest.mark.parametrize("name", sorted(LITERAL))
@pytest.mark.parametrize("text", ["query: ", " a\nb ", "", "  ", "用于检索："])
def test_a_prefix_keeps_its_spaces_and_may_be_empty(tmp_path, name, text):
    assert getattr(load(**{name.upper(): text}), name) == text
    file = tmp_path / ".env"
    write_setting(file, name, text)
    found, origins = load_settings({}, file)
    assert (getattr(found, name), origins[name]) == (text, str(file))
    assert shown_value(name, text) == json.dumps(text, ensure_ascii=False)


def test_a_home_and_a_relative_path_become_absolute(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert load(MILVUS_DB_PATH="~/shelf/my.db").milvus_db_path == tmp_path / "shelf" / "my.db"
    assert load(MILVUS_DB_PATH="a/../b/my.db").milvus_db_path == tmp_path / "b" / "my.db"


@each_row(
    ("word", "value"), [("1", True), ("true", True), ("YES", True), ("0", False), ("false", False), ("no", False)]
)
def test_offline_is_said_in_the_usual_words(word, value):
    assert load(OFFLINE=word).offline is value


@each_row(
    ("name", "value", "allowed"),
    [
        ("CACHE_BACKEND", "mongodb", ["milvus"]),
        ("EMBEDDING_PROVIDER", "magic", ["auto", "sentence-transformers", "http"]),
        ("LOG_LEVEL", "loud", ["DEBUG", "INFO", "WARNING", "ERROR"]),
        ("OFFLINE", "maybe", ["true", "false"]),
    ],
)
def test_an_unknown_value_is_an_error_that_lists_the_allowed_ones(name, value, allowed):
    message = refused(**{name: value})
    assert PREFIX + name in message
    assert value in message.lower()
    assert all(word in message for word in allowed)


@each_row("name", ["CACHE_BACKENDS", "MILVUS_PATH", "X"])
def test_an_unknown_variable_is_an_error_that_lists_the_known_ones(name):
    message = refused(**{name: "1"})
    assert PREFIX + name in message
    assert all(PREFIX + known.upper() in message for known in Settings.model_fields)


def test_every_wrong_setting_is_named_at_once():
    message = refused(LOG_LEVEL="loud", EMBEDDING_PROVIDER="magic")
    assert "LOREKEEPER_LOG_LEVEL" in message
    assert "LOREKEEPER_EMBEDDING_PROVIDER" in message


def test_the_http_provider_needs_an_address():
    assert "LOREKEEPER_EMBEDDING_URL" in refused(EMBEDDING_PROVIDER="http")
    assert load(EMBEDDING_PROVIDER="http", EMBEDDING_URL="http://127.0.0.1:1/v1").embedding_provider == "http"


@pytest.mark.parametrize("name", sorted(ADDRESSES))
@pytest.mark.parametrize("value", ["ftp://ann:hush@h/x?key=hush", "http://ann:hu\u2100sh@[h", "http://ann:hush@h]:x/"])
def test_b17_no_password_of_an_address_stands_in_an_error(name, value):
    message = refused(**{name.upper(): value, "LOG_LEVEL": "loud"})
    assert ("LOREKEEPER_OPEN5E_BASE_URL" in message) == (name == "open5e_base_url")
    assert "hu" not in message


@pytest.mark.parametrize("content", [b"\xff\xfe\xff", b"LOREKEEPER_LOG_LEVEL=\xff"])
def test_a_settings_file_that_is_no_text_is_an_error_that_names_it(tmp_path, content):
    file = tmp_path / ".env"
    file.write_bytes(content)
    with pytest.raises(ConfigError, match="cannot be read") as error:
        load_settings({}, file)
    assert str(file) in str(error.value)


# --- people over HTTP --------------------------------------------------------------------------------------------------


@each_row("address", ["https://login.example.com", "https://login.example.com/realms/x/", "http://127.0.0.1:8080"])
def test_an_issuer_is_kept_as_its_tokens_name_it(address):
    assert load(OAUTH_ISSUER=address, OAUTH_AUDIENCE="lore").oauth_issuer == address


@each_row(
    "address",
    [
        "http://login.example.com",
        "login.example.com",
        "https://",
        "https://u:p@x.example",
        "https://x.example/?a=b",
        "[",
    ],
)
def test_an_address_at_which_somebody_could_pretend_to_be_the_issuer_is_refused(address):
    message = refused(OAUTH_ISSUER=address, OAUTH_AUDIENCE="lore")
    assert "LOREKEEPER_OAUTH_ISSUER" in message
    assert "u:p@" not in message


@pytest.mark.parametrize("alone", [{"OAUTH_ISSUER": "https://login.example.com"}, {"OAUTH_AUDIENCE": "lore"}])
def test_an_issuer_needs_an_audience(alone):
    assert "belong together" in refused(**alone)


@each_row("networks", ["*", "proxy.example.com", "10.0.0.1/8", "0.0.0.0/0", "::/0", "127.0.0.1;10.0.0.1"])
def test_what_is_no_address_of_a_proxy_is_refused(networks):
    assert "LOREKEEPER_TRUSTED_PROXIES" in refused(TRUSTED_PROXIES=networks)
