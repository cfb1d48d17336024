"""Write ``lorekeeper/data/books.jsonl.gz``, the entries of the SRDs, if this package would read them otherwise, or never has.

    python -m scripts.pack_books

They come from the packages of ``data-packages.txt``; what is not installed is named. Reading them takes ten seconds, which neither
each test run nor each new library of a checkout should take.
"""

from __future__ import annotations

from lorekeeper.intake.shipped_books import is_packed, lacking, pack_books, shipped_books
from lorekeeper.text.phrases import PACKED


def main() -> None:
    """Write it if that is due."""
    if is_packed():
        return
    for package in lacking():
        print(f"{package} is not installed: new libraries lack its texts of the SRDs")
    pack_books(shipped_books(), PACKED)


if __name__ == "__main__":
    main()
