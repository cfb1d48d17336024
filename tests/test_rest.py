"""The REST gateway: the answers of the tools, as its own description promises, and problems for everything else."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any
from urllib.parse import quote

import httpx
import jsonschema
import pytest
from openapi_spec_validator import validate

from lorekeeper.errors import CacheError, EmbeddingError, FilterError, LoreKeeperError, NotFoundError
from lorekeeper.library import Library
from lorekeeper.server import models
from lorekeeper.server.recording import MAX_BODY
from lorekeeper.server.rest.problems import PROBLEM_TYPE
from lorekeeper.server.rest.requests import MAX_PARAMETERS
from tests.support.campaign import VAULT, campaign
from tests.support.gateway import gateway
from tests.support.libraries import open_library, sample_library
from tests.support.samples import ALMANAC, ATLAS
from tests.support.tools import TOOLS, call

pytestmark = pytest.mark.asyncio(loop_scope="module")

API = "/api/v1"
NOTE = "World/Fens/Oda.md"


@pytest.fixture(scope="module")
async def library(tmp_path_factory) -> AsyncIterator[Library]:
    async with sample_library(tmp_path_factory.mktemp("gateway"), backend="sqlite") as opened:
        await opened.cache.store_entities(campaign(), "notes")
        yield opened


@pytest.fixture(scope="module")
async def client(library) -> AsyncIterator[httpx.AsyncClient]:
    async with gateway(library) as connected:
        yield connected


@pytest.fixture(scope="module")
async def description(client) -> dict[str, Any]:
    answer: dict[str, Any] = (await client.get(f"{API}/openapi.json")).json()
    return answer


def promised(description: Mapping[str, Any], path: str, response: httpx.Response) -> dict[str, Any]:
    """A response's object, after it was held against the description of the path; no field is in it that is not there."""
    operation = description["paths"][path][response.request.method.lower()]
    declared = operation["responses"][str(response.status_code)]
    if "$ref" in declared:
        declared = description["components"]["responses"][declared["$ref"].rpartition("/")[2]]
    (media_type,) = declared["content"]
    assert response.headers["content-type"] == media_type
    closed = json.loads(json.dumps(description["components"]["schemas"]))
    for schema in closed.values():
        schema["additionalProperties"] = False
    document = {"components": {"schemas": closed}, **declared["content"][media_type]["schema"]}
    content: dict[str, Any] = response.json()
    jsonschema.Draft202012Validator(document).validate(content)
    return content


def the_problem(description: Mapping[str, Any], response: httpx.Response, status: int) -> str:
    """What a problem says, after its form was checked."""
    content = response.json()
    assert response.status_code == content["status"] == status
    assert response.headers["content-type"] == PROBLEM_TYPE
    assert content["instance"] == response.url.raw_path.decode().partition("?")[0]
    jsonschema.Draft202012Validator(description["components"]["schemas"]["Problem"]).validate(content)
    assert "Traceback" not in content["detail"]
    assert 'File "' not in content["detail"]
    return str(content["detail"])


# --- the same answers as the tools -----------------------------------------------------------------------------------

SEARCHES = [
    ("search_lore", "query=falling+slowly", {"query": "falling slowly"}),
    ("search_lore", "query=salt+men&query=candles&limit=3", {"query": ["salt men", "candles"], "limit": 3}),
    ("search_lore", "query=sea&types=spells&types=creatures", {"query": "sea", "types": ["spells", "creatures"]}),
    ("search_lore", "query=sea&detail=full&limit=2", {"query": "sea", "detail": "full", "limit": 2}),
    ("lookup_spell", "", {}),
    ("lookup_spell", "limit=2&offset=2", {"limit": 2, "offset": 2}),
    ("lookup_spell", "level_max=3&class_key=wizard", {"level_max": 3, "class_key": "wizard"}),
    ("lookup_spell", "level=1&level=2&ritual=false", {"level": [1, 2], "ritual": False}),
    ("lookup_spell", "semantic_query=ash&level_min=1", {"semantic_query": "ash", "level_min": 1}),
    ("lookup_creature", "cr=1/4&cr=0.125", {"cr": ["1/4", "0.125"]}),
    ("lookup_creature", "where=ac%3E14&order=name+desc", {"where": "ac>14", "order": "name desc"}),
    ("lookup_equipment", "cost_max=10", {"cost_max": 10}),
    ("lookup_character_option", "kind=feat&kind=race", {"kind": ["feat", "race"]}),
    ("lookup_equipment", "rarity=uncommon&rarity=very+rare", {"rarity": ["uncommon", "very rare"]}),
    ("lookup_rule", "documents=" + ATLAS, {"documents": [ATLAS]}),
    ("lookup_note", "tags=fens&order=newest&detail=full", {"tags": "fens", "order": "newest", "detail": "full"}),
    ("lookup_note", f"similar_to=lore://notes/{VAULT}/{NOTE}", {"similar_to": f"lore://notes/{VAULT}/{NOTE}"}),
]


@pytest.mark.parametrize(("tool", "query", "arguments"), SEARCHES, ids=[query for _, query, _ in SEARCHES])
async def test_search_answers_as_the_tools_do(client, library, description, tool, query, arguments):
    content = promised(description, f"/{tool}", await client.get(f"{API}/{tool}?{query}"))
    assert content == (await call(library, tool, **arguments)).structured
    assert content["results"]


@pytest.mark.parametrize(("tool", "query", "arguments"), SEARCHES[3:8])
async def test_a_search_by_post_has_the_same_parameters_in_its_body(
    client, library, description, tool, query, arguments
):
    content = promised(description, f"/{tool}", await client.post(f"{API}/{tool}", json={**arguments, "seed": None}))
    assert content == (await call(library, tool, **arguments)).structured
    assert content["results"]


URIS = [f"lore://spells/{document}/soft-landing" for document in (ATLAS, ALMANAC)]


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("list_documents", {}),
        ("list_documents", {"type": "notes"}),
        ("gather_topic", {"topic": "Oda Reedmother", "limit": 3}),
        ("compare_entries", {"uris": URIS}),
        ("get_entity", {"uri": URIS[0]}),
        ("plan_encounter", {"party": "4x3", "seed": 7, "rules": "2014"}),
        ("roll", {"what": "4d6", "seed": 7, "times": 3}),
    ],
)
async def test_every_other_tool_answers_by_get_and_post(client, library, description, tool, arguments):
    expected = (await call(library, tool, **arguments)).structured
    assert promised(description, f"/{tool}", await client.get(f"{API}/{tool}", params=arguments)) == expected
    assert promised(description, f"/{tool}", await client.post(f"{API}/{tool}", json=arguments)) == expected
    assert any(expected.values())


@pytest.mark.parametrize(
    "path", [f"spells/{ALMANAC}/soft-landing", f"notes/{VAULT}/{NOTE}", f"notes/{VAULT}/{quote(NOTE, safe='')}"]
)
async def test_an_entry_is_read_at_the_path_of_its_uri(client, library, description, path):
    entry = promised(description, "/entities/{uri}", await client.get(f"{API}/entities/{path}"))
    assert entry == (await call(library, "get_entity", uri=f"lore://{path}")).structured


# --- the description -------------------------------------------------------------------------------------------------


async def test_the_description_is_openapi_and_has_every_tool(description):
    validate(description)
    assert set(description["paths"]) == {*(f"/{name}" for name in TOOLS), "/entities/{uri}"}
    operations = [operation for path in description["paths"].values() for operation in path.values()]
    assert len({operation["operationId"] for operation in operations}) == len(operations) == 2 * len(TOOLS) + 1
    described = [parameter for operation in operations for parameter in operation.get("parameters", [])]
    assert [parameter["name"] for parameter in described if not parameter["description"]] == []
    assert len(described) > 50


async def test_every_parameter_of_the_tools_is_described(description):
    for name, tool in TOOLS.items():
        operations = description["paths"][f"/{name}"]
        body = operations["post"]["requestBody"]["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
        taken = {parameter["name"] for parameter in operations["get"]["parameters"]}
        assert (
            taken == set(description["components"]["schemas"][body]["properties"]) == set(tool.arguments.model_fields)
        )


async def test_results_and_pages_have_the_fields_that_models_are_told_of(description):
    schemas = description["components"]["schemas"]
    assert set(schemas["Result"]["properties"]) == set(models.Result.model_fields)
    assert set(schemas["Page"]["properties"]) == set(models.Page.model_fields)


# --- headers ---------------------------------------------------------------------------------------------------------


async def test_an_answer_is_private_and_known_by_its_tag(client):
    first = await client.get(f"{API}/list_documents")
    assert first.headers["cache-control"] == "private, no-cache"
    assert first.headers["vary"] == "Authorization, Cookie"
    again = await client.get(f"{API}/list_documents", headers={"If-None-Match": f'"other", W/{first.headers["etag"]}'})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", first.headers["etag"])
    other = await client.get(f"{API}/list_documents", headers={"If-None-Match": '"other"'})
    assert other.json() == first.json()


async def test_head_and_options_are_answered_without_a_body(client):
    got, head = await client.get(f"{API}/list_documents"), await client.head(f"{API}/list_documents")
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == str(len(got.content))
    options = await client.options(f"{API}/search_lore")
    assert (options.status_code, options.headers["allow"]) == (204, "GET, POST, HEAD, OPTIONS")


# --- problems --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "status", "advice"),
    [
        ("search_lore", 400, "query is required"),
        ("search_lore?query=x&levl=3", 400, "unknown parameter of search_lore: 'levl'; known: query, wordings, types"),
        ("lookup_spell?ritual=1", 400, "true or false"),
        ("lookup_spell?where=level", 400, "where"),
        ("search_lore?query=x&limit=0", 400, "at least 1"),
        ("search_lore?query=x&limit=9999999999999999999999", 400, "a whole number"),
        ("search_lore?query=x&limit=1&limit=2", 400, "limit is given 2 times"),
        ("search_lore?query=%ff", 400, "UTF-8"),
        ("search_lore?query=" + "x" * 12_000, 400, "2,000"),
        ("search_lore?query=x" + "&query=x" * MAX_PARAMETERS, 400, f"more than {MAX_PARAMETERS}"),
        ("list_documents?type=spell", 400, "did you mean 'spells'"),
        ("entities/spells/nope/nope", 404, "an answer"),
        ("entities/spell/a/b", 404, "did you mean 'spells'"),
        ("entities/spells/a/%ff", 400, "UTF-8"),
        ("entities/spells/a/b?uri=c", 400, "part of the path"),
        ("gather_topic", 400, "topic is required"),
        ("gather_topic?topic=lore://spells/a/b", 404, "an answer"),
        ("nothing", 404, "openapi.json"),
        ("roll/", 404, "openapi.json"),
        ("%0A/x", 404, "openapi.json"),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else None,
)
async def test_what_is_wrong_is_a_problem_that_says_what_to_do(client, description, path, status, advice):
    answer = await client.get(f"{API}/{path}")
    assert advice in the_problem(description, answer, status)


@pytest.mark.parametrize(
    ("body", "status", "advice"),
    [
        ("", 400, "not JSON"),
        ("{", 400, "not JSON"),
        ("[]", 400, "JSON object"),
        ('"x"', 400, "JSON object"),
        ('{"query": NaN}', 400, "NaN"),
        ('{"query": "x", "seed": 1e999}', 400, "too large"),
        ('{"query": "x", "seed": 1' + "0" * 5000 + "}", 400, "not JSON"),
        ('{"query": "x", "query": "y"}', 400, "given twice"),
        ('{"query": ' + "[" * 50_000, 400, "nested"),
        ('{"query": "\\ud800"}', 400, "valid Unicode"),
        (b'{"query": "\xff"}', 400, "not JSON"),
        ('{"query": {"a": 1}}', 400, "query must be"),
        ('{"query": "x", "limit": "3"}', 400, "a whole number"),
        ('{"query": "x", "limit": null}', 400, "a whole number"),
        ('{"query": "x", "limit": true}', 400, "a whole number"),
        ('{"types": [1], "query": "x"}', 400, "types must be"),
        ("{}", 400, "query is required"),
        (" " * (MAX_BODY + 1), 413, "65,536 bytes"),
    ],
    ids=lambda value: str(value[:30]) if isinstance(value, (str, bytes)) else None,
)
async def test_a_body_that_is_wrong_is_a_problem(client, description, body, status, advice):
    answer = await client.post(f"{API}/search_lore", content=body, headers={"Content-Type": "application/json"})
    assert advice in the_problem(description, answer, status)


@pytest.mark.parametrize(
    ("body", "advice"),
    [({"ritual": "true"}, "true or false"), ({"level": 123456789012345678901234567890}, "out of range")],
)
async def test_the_filters_of_a_type_are_checked(client, description, body, advice):
    answer = await client.post(f"{API}/lookup_spell", json=body)
    assert advice in the_problem(description, answer, 400)


async def test_other_methods_and_media_types_are_problems(client, description):
    deleted = await client.delete(f"{API}/list_documents")
    assert "GET, POST, HEAD, OPTIONS" in the_problem(description, deleted, 405)
    assert deleted.headers["allow"] == "GET, POST, HEAD, OPTIONS"
    form = await client.post(f"{API}/search_lore", data={"query": "x"})
    assert "application/json" in the_problem(description, form, 415)
    twice = await client.post(f"{API}/search_lore?limit=3", json={"query": "x"})
    assert "in the body" in the_problem(description, twice, 400)


async def test_a_number_with_a_fraction_of_nothing_is_whole(client, library):
    body, typed = '{"level": 2.0, "limit": 1e0}', {"Content-Type": "application/json; charset=utf-8"}
    answer = await client.post(f"{API}/lookup_spell", content=body, headers=typed)
    assert answer.json() == (await call(library, "lookup_spell", level=2, limit=1)).structured


async def test_what_is_not_there_is_answered_alike_wherever_it_is_not(client):
    missing = [await client.get(f"{API}/entities/notes/{VAULT}/{slug}") for slug in ("Aaa.md", "Bbb.md")]
    bodies = {answer.text.replace("Bbb", "Aaa") for answer in missing}
    headers = {str({k: v for k, v in answer.headers.items() if k != "date"}) for answer in missing}
    assert (len(bodies), len(headers)) == (1, 1)


@pytest.mark.parametrize(
    ("error", "status", "detail"),
    [
        (CacheError("the library is locked; try again"), 503, "the library is locked; try again"),
        (EmbeddingError("no model; install one"), 503, "no model; install one"),
        (NotFoundError("there is no such entry"), 404, "there is no such entry"),
        (FilterError("unknown field"), 400, "unknown field"),
        (LoreKeeperError("a new kind of error"), 500, "a new kind of error"),
        (RuntimeError("a secret of the internals"), 500, "its log has the details"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else None,
)
async def test_failures_of_the_library_are_problems_without_internals(
    client, library, description, monkeypatch, error, status, detail
):
    async def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(library, "entities_at", fail)
    said = the_problem(description, await client.get(f"{API}/entities/spells/a/b"), status)
    assert detail in said
    assert "secret" not in said


# --- monitoring ------------------------------------------------------------------------------------------------------


async def test_a_server_is_ready_once_library_and_model_are_open(tmp_path):
    async with open_library(tmp_path, backend="sqlite") as library, gateway(library) as client:
        assert (await client.get("/healthz")).json() == {"status": "alive"}
        early = await client.get("/readyz")
        assert (early.status_code, early.headers["content-type"]) == (503, PROBLEM_TYPE)
        assert not library.embedding.loaded
        await library.open()
        assert (await client.get("/readyz")).json() == {"status": "ready"}
