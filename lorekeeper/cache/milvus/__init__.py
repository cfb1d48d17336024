"""Libraries in Milvus: embedded ones (Milvus Lite and its SQLite companion), and those on Milvus servers."""
