"""The MCP clients that LoreKeeper can be installed into: their files, and edits of these that leave everything else alone.

`table` is the data, `server` what a client has to start, `json_file` and `yaml_file` edit the text of a file, and `install`
puts it together.
"""
