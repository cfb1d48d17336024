"""From a query to ranked results: retrieval by meaning, by keywords and by name, their fusion, and the documents searched."""
