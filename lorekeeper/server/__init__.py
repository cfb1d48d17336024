"""The MCP server: its tools, and the transports stdio and HTTP."""
