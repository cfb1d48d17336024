"""From a query to ranked results: expansion, retrieval by meaning, keywords and name, fusion, documents."""
