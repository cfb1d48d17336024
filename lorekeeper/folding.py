"""Comparable forms of texts: the foldings under which names, keys and filter values are equal."""

from __future__ import annotations

import codecs
import re
import unicodedata
from functools import lru_cache

from lorekeeper import terms

_DOCUMENT_PREFIX = re.compile(r"(?:srd|(?=[a-z]*+[0-9-])[a-z0-9-]++)_(.*[^\W_].*)", re.DOTALL)


_POINT = re.compile(r"(?<=[0-9])[.,](?=[0-9](?![0-9.,]))")

_ASCII_WORDS = bytes(ord(chr(code).lower() if chr(code).isalnum() else " ") for code in range(128)) + bytes(128)
"""For `bytes.translate`: letters in lower case, digits, and a space for anything else of ASCII."""


def fold(text: str) -> str:
    """Comparable form of a string: without case, accents, punctuation and extra spaces.

    "Half-Elf", "half elf" and "half_elf" fold to "half elf"; "Will-o'-Wisp" to "will o wisp". A string without letters
    and digits is only case-folded, so that only blank strings fold to "".
    """
    return " ".join(words_apart(text).split()) or text.strip().casefold()


def words_apart(text: str) -> str:
    """The words of `fold` with any number of spaces around them, in a third of its time: "" for a text without any.

    Most texts have few characters beyond ASCII, the dashes and quotation marks of books and the emoji of notes: only these are
    looked at one by one.
    """
    plain = text.replace("'", "").replace("’", "")
    try:
        return plain.encode("ascii", _FOLDED).translate(_ASCII_WORDS).decode()
    except UnicodeEncodeError:  # it has letters that stay beyond ASCII
        return "".join(map(_folded_character, plain))


@lru_cache(maxsize=4096)
def _folded_character(character: str) -> str:
    """A character without case and accents, a space in the place of what belongs to no word; "" for an accent by itself.

    Texts are folded character by character: to sort a long run of combining marks would take NFKD quadratic time.
    """
    parts = unicodedata.normalize("NFKD", character.casefold())
    plain = "".join(part for part in parts if not unicodedata.combining(part)).casefold()
    return "".join(part if part.isalnum() else " " for part in plain)


def _fold_encoded(error: UnicodeError) -> tuple[str, int]:
    """What takes the place of characters that ASCII does not have, and where encoding goes on."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(_folded_character, error.object[error.start : error.end])), error.end


_FOLDED = "lorekeeper.folded"
codecs.register_error(_FOLDED, _fold_encoded)


def fold_numbered(text: str) -> str:
    """`fold` that leaves the point of a number with one decimal, as of a session between two: "Session 0.5" is "session 0.5"."""
    return ".".join(map(fold, _POINT.split(text)))


def fold_key(text: str) -> str:
    """`fold` without the document prefix of a source's key: "srd-2024_wizard", "srd_wizard" and "Wizard" become "wizard".

    A prefix is a document's if it is "srd" or has a digit or a hyphen, so that "half_elf" stays "half elf".
    """
    match = _DOCUMENT_PREFIX.match(text)
    return fold(match[1] if match else text)


def fold_class(text: str) -> str:
    """`fold` of what follows the last underscore: "phb_wizard" is a wizard, whatever the book."""
    return fold(text.rsplit("_", 1)[-1]) or fold(text)


def fold_person(text: str) -> str:
    """`fold` of a name without what stands in brackets behind it: "Zanna (Gnome Wizard)" is "zanna"."""
    return fold(text.partition("(")[0]) or fold(text)


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


def fold_property(text: str) -> str:
    """A key with its value in comparable form: "Status = Ready" is "status=ready"; a key alone stays one."""
    key, equals, value = text.partition("=")
    return f"{fold(key)}={fold(value)}" if equals else fold(text)


def key_alone(text: str) -> tuple[str, ...]:
    """The key of a folded property, by which it is found too."""
    key, equals, _ = text.partition("=")
    return (key,) if equals else ()
