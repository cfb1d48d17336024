"""The library as web pages, beside MCP and the REST gateway."""
