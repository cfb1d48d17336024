"""The SQLite backend: one file holds entities, full-text index and vectors."""
