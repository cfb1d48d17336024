"""The Milvus backend: the embedded library (Milvus Lite and its SQLite companion), and Milvus servers."""
