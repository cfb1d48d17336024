"""The system reference documents as they are printed: pages of text to entries.

`layout` makes paragraphs of pages, and `structure` titles, texts and tables of these, in Markdown; of the game they know
the lines that say what an entry is.
`documents` has what is peculiar to these two books. The Markdown is read as that of any book of rules, by `normalize.book`.
"""

from lorekeeper.normalize.printed_srd.documents import printed_paragraphs, read_pages

__all__ = ["printed_paragraphs", "read_pages"]
