"""The REST gateway, ``/api/v1``: what the tools answer, for programs that do not speak MCP."""
