"""SQLite files with entities, words and vectors: libraries of their own, companions of Milvus, indexes of other backends."""
