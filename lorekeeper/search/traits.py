"""What a search needs to know of the model that ranks by meaning: its thresholds are set for all-MiniLM-L6-v2."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Traits:
    """Traits of an embedding model; by default those of all-MiniLM-L6-v2.

    Attributes:
        multilingual: whether a text and its translation are near each other.
        unrelated: cosine similarity that texts have at least, however unrelated.
    """

    multilingual: bool = False
    unrelated: float = 0.0

    def scaled(self, similarity: float) -> float:
        """A cosine similarity on a scale on which unrelated texts have 0."""
        return (similarity - self.unrelated) / (1 - self.unrelated)


MINILM = Traits()
"""Those of the default model."""
