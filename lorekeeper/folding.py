"""Comparable forms of texts: the foldings under which names, keys and filter values are equal."""

from __future__ import annotations

import re
import unicodedata

from lorekeeper import terms

_DOCUMENT_PREFIX = re.compile(r"(?:srd|(?=[a-z]*+[0-9-])[a-z0-9-]++)_(.*[^\W_].*)", re.DOTALL)


_PUNCTUATION = "–—“”‘…−•×\u00a0"
"""What separates words in books, commonest first: most texts have nothing else beyond ASCII."""


def fold(text: str) -> str:
    """Comparable form of a string: without case, accents, punctuation and extra spaces.

    "Half-Elf", "half elf" and "half_elf" fold to "half elf"; "Will-o'-Wisp" to "will o wisp". A string without letters
    and digits is only case-folded, so that only blank strings fold to "".
    """
    plain = text.replace("'", "").replace("’", "").casefold()
    for mark in _PUNCTUATION:
        if plain.isascii():
            break
        plain = plain.replace(mark, " ")
    if not plain.isascii():
        # combining marks go first: NFKD takes quadratic time to sort a long run of them
        plain = unicodedata.normalize("NFKD", _without_marks(plain))
        plain = _without_marks(plain).casefold()
    return " ".join(re.findall(r"[^\W_]+", plain)) or text.strip().casefold()


def _without_marks(text: str) -> str:
    return "".join(c for c in text if not unicodedata.combining(c))


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
