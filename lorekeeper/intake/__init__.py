"""How entries enter the library: files, Open5e (synchronised or fetched on demand), and what is reported of it."""
