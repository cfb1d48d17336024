"""Settings from the environment and a .env file, checked once and each with its origin."""

from __future__ import annotations

from pathlib import Path

import pytest

from lorekeeper.errors import ConfigError
from lorekeeper.settings import PREFIX, SECRETS, Settings, load_settings


def load(file: Path | None = None, /, **environ: str) -> Settings:
    return load_settings({PREFIX + name: value for name, value in environ.items()}, file or Path("/nonexistent/.env"))[
        0
    ]


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


def test_every_setting_is_described():
    assert all(field.description for field in Settings.model_fields.values())
    assert set(Settings.model_fields) >= SECRETS


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


def test_a_dotenv_file_in_the_current_folder_is_read(tmp_path, monkeypatch):
    (tmp_path / ".env").write_text('export LOREKEEPER_EMBEDDING_MODEL="quoted name"  # and a remark\n', "utf-8")
    monkeypatch.chdir(tmp_path)
    found, origins = load_settings({})
    assert (found.embedding_model, origins["embedding_model"]) == ("quoted name", ".env")


def test_the_processes_own_environment_is_the_default(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LOREKEEPER_CORPUS", raising=False)
    monkeypatch.setenv("LOREKEEPER_EMBEDDING_MODEL", "mine")
    assert load_settings()[0].embedding_model == "mine"


@pytest.mark.parametrize("blank", ["", "  ", "\t"])
def test_a_blank_variable_counts_as_not_set(tmp_path, blank):
    file = tmp_path / ".env"
    file.write_text("LOREKEEPER_EMBEDDING_MODEL=from-file\nLOREKEEPER_MILVUS_URI=\n", "utf-8")
    found, origins = load_settings({"LOREKEEPER_EMBEDDING_MODEL": blank}, file)
    assert (found.embedding_model, found.milvus_uri) == ("from-file", None)
    assert origins["milvus_uri"] == "default"


def test_a_home_and_a_relative_path_become_absolute(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert load(MILVUS_DB_PATH="~/shelf/my.db").milvus_db_path == tmp_path / "shelf" / "my.db"
    assert load(MILVUS_DB_PATH="a/../b/my.db").milvus_db_path == tmp_path / "b" / "my.db"


def test_the_home_of_an_unknown_user_is_an_error_that_names_the_variable():
    assert "LOREKEEPER_MILVUS_DB_PATH" in refused(MILVUS_DB_PATH="~no-such-user-here/my.db")


@pytest.mark.parametrize(
    ("word", "value"), [("1", True), ("true", True), ("YES", True), ("0", False), ("false", False), ("no", False)]
)
def test_offline_is_said_in_the_usual_words(word, value):
    assert load(OFFLINE=word).offline is value


@pytest.mark.parametrize("word", ["debug", "Debug", "DEBUG", " debug "])
def test_log_levels_are_read_in_any_case(word):
    assert load(LOG_LEVEL=word).log_level == "DEBUG"


@pytest.mark.parametrize(
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


@pytest.mark.parametrize("name", ["CACHE_BACKENDS", "MILVUS_PATH", "X"])
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


def test_no_secret_stands_in_an_error():
    message = refused(MILVUS_TOKEN="secret-1", EMBEDDING_API_KEY="secret-2", HTTP_TOKEN="secret-3", LOG_LEVEL="loud")
    assert "secret" not in message


@pytest.mark.parametrize("content", [b"\xff\xfe\xff", b"LOREKEEPER_LOG_LEVEL=\xff"])
def test_a_settings_file_that_is_no_text_is_an_error_that_names_it(tmp_path, content):
    file = tmp_path / ".env"
    file.write_bytes(content)
    with pytest.raises(ConfigError, match="cannot be read") as error:
        load_settings({}, file)
    assert str(file) in str(error.value)


def test_settings_cannot_be_changed_once_read():
    with pytest.raises(ValueError, match="frozen"):
        load().offline = True
