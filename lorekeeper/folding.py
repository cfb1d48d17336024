"""Comparable forms of texts: the foldings under which names, keys and filter values are equal."""

from __future__ import annotations

import re
import unicodedata

from lorekeeper import terms

_DOCUMENT_PREFIX = re.compile(r"(?:srd|(?=[a-z]*+[0-9-])[a-z0-9-]++)_(.*[^\W_].*)", re.DOTALL)


_PUNCTUATION = "–—“”‘…−•×·\u00a0\u2010\u2011"
"""What separates words in books, commonest first: most texts have nothing else beyond ASCII."""

_ASCII_WORDS = bytes(ord(chr(code).lower() if chr(code).isalnum() else " ") for code in range(128)) + bytes(128)
"""For `bytes.translate`: letters in lower case, digits, and a space for anything else of ASCII."""


def fold(text: str) -> str:
    """Comparable form of a string: without case, accents, punctuation and extra spaces.

    "Half-Elf", "half elf" and "half_elf" fold to "half elf"; "Will-o'-Wisp" to "will o wisp". A string without letters
    and digits is only case-folded, so that only blank strings fold to "".
    """
    return " ".join(words_apart(text).split()) or text.strip().casefold()


def words_apart(text: str) -> str:
    """The words of `fold` with any number of spaces around them, in a third of its time: "" for a text without any."""
    plain = text.replace("'", "").replace("’", "")
    if not plain.isascii():
        plain = _without_accents(plain.casefold())
    if not plain.isascii():
        return " ".join(re.findall(r"[^\W_]+", plain))
    return plain.encode().translate(_ASCII_WORDS).decode()


def _without_accents(folded: str) -> str:
    """A case-folded text with a space for the punctuation of books, and without accents if it still has others then."""
    for mark in _PUNCTUATION:
        folded = folded.replace(mark, " ")
        if folded.isascii():
            return folded
    # combining marks go first: NFKD takes quadratic time to sort a long run of them
    return _without_marks(unicodedata.normalize("NFKD", _without_marks(folded))).casefold()


def _without_marks(text: str) -> str:
    marks = {ord(character): None for character in set(text) if unicodedata.combining(character)}
    return text.translate(marks) if marks else text


def fold_key(text: str) -> str:
    """`fold` without the document prefix of a source's key: "srd-2024_wizard", "srd_wizard" and "Wizard" become "wizard".

    A prefix is a document's if it is "srd" or has a digit or a hyphen, so that "half_elf" stays "half elf".
    """
    match = _DOCUMENT_PREFIX.match(text)
    return fold(match[1] if match else text)


def fold_class(text: str) -> str:
    """`fold` of what follows the last underscore: "phb_wizard" is a wizard, whatever the book."""
    return fold(text.rsplit("_", 1)[-1]) or fold(text)


def fold_time(text: str) -> str:
    """Casting times in one spelling: "1 action" is "action", "10minutes" is "10 minutes"."""
    spaced = re.sub(r"(?<=\d)(?=[^\W\d_])", " ", fold(text))
    return re.sub(r"^(1 )+(?=(bonus |re)?action|turn|round)", "", spaced)


_COMPONENTS = {"v": "verbal", "s": "somatic", "m": "material"}


def fold_component(text: str) -> str:
    """Components of spells by their names: "V" is "verbal"."""
    return _COMPONENTS.get(fold(text), fold(text))


def fold_kind(text: str) -> str:
    """`fold` of a kind in our own word: the species of the 2024 rules are races."""
    folded = fold(text)
    return terms.KINDS.get(folded, folded)


def fold_environment(text: str) -> str:
    """`fold_key` in the one word that all sources share: "srd_feywild" is "feywild", "Swamp or Marsh" is "swamp"."""
    return terms.environment(fold_key(text))


def fold_alignment(text: str) -> str:
    """`fold` of an alignment in full: "CE" and "Chaotic-Evil" are "chaotic evil"."""
    return terms.alignment(fold(text))
