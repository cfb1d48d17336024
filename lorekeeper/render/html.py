"""Pages of Markdown as safe HTML.

The Markdown is what `pages.markdown` makes: there is one rendering of an entry. Here its blocks get the structure that style
sheets need (`structure`), and the names in it become links (`mentions`). HTML in the text is shown as text. What comes out has the
tags, attributes and classes of `TAGS`, `ATTRIBUTES` and `CLASSES` only, and no address but paths of our own: no image, style or
script, and nothing that is loaded.

Any text takes time linear in its length: a page has at most `MAX_CHARS` characters, one block of it that is longer than
`MAX_INLINE_CHARS` is shown as it was written, and a table has at most `structure.MAX_CELLS` cells.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache

import nh3
from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from lorekeeper.printable import lines
from lorekeeper.render.dice import DICE, with_dice
from lorekeeper.render.mentions import OWN, Mention, linked, linked_text, mentions
from lorekeeper.render.structure import SECTIONS, TABLES, structured, text

MAX_CHARS = 100_000
"""Most characters of a page; further ones are left out, and the page says so."""

MAX_INLINE_CHARS = 20_000
"""Most characters of a paragraph, item or cell in which marks of Markdown count."""

DEEPEST = 20
"""Blocks within blocks, and marks within marks."""

UNUSED = ("html_block", "html_inline", "image", "autolink", "reference", "lheading")
"""Parts of Markdown that no page has: what looks like them is text."""

TAGS = frozenset(
    "h1 h2 h3 h4 h5 h6 p ul ol li dl dt dd blockquote pre code em strong s a br hr table thead tbody tr th td section div".split()
)

ATTRIBUTES = {
    "*": {"dir"},
    "a": {"href"},
    "th": {"scope"},
    "ol": {"start"},
    "div": {"role", "tabindex", "aria-label"},
}

CLASSES = {
    "a": {DICE},
    "section": set(SECTIONS.values()),
    "table": set(TABLES),
    "div": {"scroll"},
    "dl": {"facts"},
    "p": {"kind", "feature", "note"},
    "th": {"right", "center"},
    "td": {"right", "center"},
}

Link = Callable[[str], str | None]
"""The path of our own that an address leads to; None for one that leads nowhere here: its text is shown without a link."""

_PATH = re.compile(r"/(?![/\\])[!-\[\]-~]*")
"""A path of our own: browsers take two slashes, or a backslash, for the beginning of another host's address."""

_ADDRESS = re.compile(r"lore://[a-z_]{1,30}/[\w.~%/-]{1,2000}")


def nowhere(_: str) -> None:
    """For pages without links."""


class Article:
    """A page of Markdown, parsed once: names in it can be looked up before it is written as HTML.

    Args:
        markdown: of a page; it may be hostile.
    """

    def __init__(self, markdown: str) -> None:
        self._tokens = structured(_parser().parse(_bounded(lines(markdown))))

    def mentions(self, words: frozenset[str] = frozenset()) -> list[Mention]:
        """What may be names of other entries, in the order of the page.

        Args:
            words: folded words that are names wherever they stand, such as those of conditions.
        """
        return mentions(self._tokens, words)

    def html(self, link: Link = nowhere, named: Mapping[Mention, str] | None = None, *, dice: str = "") -> str:
        """The page as HTML.

        Args:
            link: says where the links of the page lead.
            named: paths of entries that are mentioned; the first mention of each becomes a link.
            dice: the type of the entry whose dice are links that roll them; "" for no such links.
        """
        tokens = [_with_links(token, link) for token in linked(self._tokens, named or {})]
        if dice:
            tokens = [_with_dice(token, modifiers=dice == "creatures") for token in tokens]
        return _sanitised(_parser().renderer.render(tokens, _parser().options, {}))


def html(markdown: str, link: Link = nowhere) -> str:
    """A page of Markdown as HTML."""
    return Article(markdown).html(link)


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": DEEPEST}).enable(["table", "strikethrough"])
    parser.disable(list(UNUSED))
    parser.core.ruler.at("inline", _read_inline)
    return parser


def _read_inline(state: StateCore) -> None:
    for token in state.tokens:
        if token.type != "inline":
            continue
        if len(token.content) > MAX_INLINE_CHARS:
            token.children = [text(token.content)]
        else:
            token.children = []
            state.md.inline.parse(token.content, state.md, state.env, token.children)


def _bounded(markdown: str) -> str:
    if len(markdown) <= MAX_CHARS:
        return markdown
    return f"{markdown[:MAX_CHARS]} …\n\n({len(markdown) - MAX_CHARS:,} further characters are left out.)"


def _with_links(token: Token, link: Link) -> Token:
    """A block whose links, and whose addresses of entries, lead to paths of ours."""
    if not any(child.type == "link_open" or "lore://" in child.content for child in token.children or ()):
        return token
    children: list[Token] = []
    within, kept = False, True
    for child in token.children or ():
        if child.type == "link_open":
            path = _path(child, link)
            within, kept = True, path != ""
            child = Token("link_open", "a", 1, attrs={"href": path})
        if child.type == "text" and not within:
            children += _addressed(child, link)
        elif kept or child.type not in ("link_open", "link_close"):
            children.append(child)
        within = within and child.type != "link_close"
    return token.copy(children=children)


def _with_dice(token: Token, *, modifiers: bool) -> Token:
    if token.type != "inline" or not token.children:
        return token
    return token.copy(children=list(with_dice(token.children, modifiers=modifiers)))


def _path(child: Token, link: Link) -> str:
    """Where a link leads, "" for nowhere."""
    address = str(child.attrs.get("href", ""))
    path = address if child.info == OWN else link(address)
    return path if path and _PATH.fullmatch(path) else ""


def _addressed(child: Token, link: Link) -> Iterator[Token]:
    """A text whose addresses of entries are links."""
    end = 0
    for match in _ADDRESS.finditer(child.content):
        path = link(match[0])
        if path is not None:
            yield from linked_text(child.content[end : match.start()], match[0], path)
            end = match.end()
    yield text(child.content[end:])


def _sanitised(written: str) -> str:
    return nh3.clean(
        written,
        tags=set(TAGS),
        attributes=ATTRIBUTES,
        allowed_classes=CLASSES,
        attribute_filter=_checked,
        url_schemes=set(),
        link_rel=None,
    )


def _checked(_: str, attribute: str, value: str) -> str | None:
    return value if attribute != "href" or _PATH.fullmatch(value) else None
