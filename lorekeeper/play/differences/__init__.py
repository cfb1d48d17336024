"""What differs between entries: facts, and texts sentence by sentence.

`differences` compares the pages of two to four entries, as `render` prints them.
"""

from lorekeeper.play.differences.compare import MAX_ENTRIES, differences
from lorekeeper.play.differences.result import Differences, Fact, Passage, Row, Run

__all__ = ["MAX_ENTRIES", "Differences", "Fact", "Passage", "Row", "Run", "differences"]
