"""How entries enter the library: files, Open5e (synchronised), and what is reported of it."""
