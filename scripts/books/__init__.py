"""The facts of a book in one shape, as several sources print them, for `scripts/compare_books.py`."""
