"""The Markdown of campaign notes, for `note_html`: callouts, links to notes, embedded notes, tasks, highlights, tags, fields.

Each rule takes time linear in the text. Nothing that a text holds becomes HTML but by these rules and those of CommonMark.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from urllib.parse import quote

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from lorekeeper.notes.callouts import HEAD_LINE, LAYOUT
from lorekeeper.notes.facts import BRACKETED, field_pair
from lorekeeper.notes.links import LINK, target_of

DEEPEST = 20
"""Blocks within blocks, and marks within marks."""

MAX_INLINE_CHARS = 20_000
"""Most characters of a paragraph, item or cell in which marks of Markdown count."""

CALLOUTS = {
    "note": "note",
    "seealso": "note",
    **dict.fromkeys(("abstract", "summary", "tldr", "overview", "info", "todo", "lore"), "info"),
    **dict.fromkeys(("tip", "hint", "important", "success", "check", "done"), "tip"),
    **dict.fromkeys(("question", "help", "faq", "rumor", "rumour", "quest"), "question"),
    **dict.fromkeys(("warning", "caution", "attention"), "warning"),
    **dict.fromkeys(("danger", "error", "failure", "fail", "missing", "bug", "combat", "encounter"), "danger"),
    **dict.fromkeys(
        ("quote", "cite", "example", "read", "readaloud", "read-aloud", "description", "narration"), "quote"
    ),
}
"""How callouts look, by their word; others look as "note"."""

_HIGHLIGHT = re.compile(r"==(?=\S)([^=\n]{1,2000})(?<=\S)==")
_TAG = re.compile(r"#([^\W_][\w/-]{0,200}|_[\w/-]{1,200})")
_BREAK = re.compile(r"<br\s{0,9}/?>", re.IGNORECASE)
_TASK = re.compile(r"\[([ xX/>-])\][ \t]+(?=\S)")
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]{0,30}:", re.IGNORECASE)


@dataclass(frozen=True)
class Way:
    """Where a link leads: the path of a page of ours, or an address elsewhere; neither if there is no such note."""

    path: str | None = None
    elsewhere: bool = False


Lead = Callable[[str, str], Way]
"""Where a link to a target and a heading leads; the target is "" for the note itself."""

Embed = Callable[[str, str], str | None]
"""The HTML of an embedded note, or of what stands under a heading of it; None if it is not shown."""


@dataclass
class Env:
    """What the rules ask for while a text is read.

    Attributes:
        lead: says where links lead.
        embed: makes embedded notes.
    """

    lead: Lead
    embed: Embed


def rendered(markdown: str, lead: Lead, embed: Embed) -> str:
    """The HTML of a text. It has to be sanitised: addresses are as they were written."""
    env = Env(lead, embed)
    return str(_parser().render(markdown, {"own": env}))


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": DEEPEST, "breaks": True})
    parser.enable(["table", "strikethrough"]).disable(["html_block", "html_inline", "reference", "image", "lheading"])
    parser.core.ruler.before("inline", "callouts", _callouts)
    parser.core.ruler.after("callouts", "tasks", _tasks)
    parser.core.ruler.after("tasks", "embeds", _embeds)
    parser.core.ruler.at("inline", _inline)
    parser.core.ruler.push("links", _links)
    for name, rule in {
        "note_link": _note_link,
        "highlight": _highlight,
        "tag": _tag,
        "line_break": _line_break,
    }.items():
        parser.inline.ruler.before("link", name, rule)
    for name in ("callout_open", "callout_close", "callout_title", "task", "embed"):
        parser.add_render_rule(name, _written)
    return parser


def _written(_: object, tokens: list[Token], index: int, options: object, env: object) -> str:  # noqa: ARG001
    """The HTML that a rule made."""
    return str(tokens[index].meta["html"])


def _made(kind: str, html: str, nesting: int = 0) -> Token:
    token = Token(kind, "", nesting)  # type: ignore[arg-type]
    token.meta = {"html": html}
    token.block = True
    return token


# --- blocks ----------------------------------------------------------------------------------------------------------


def _callouts(state: StateCore) -> None:
    """Quotes that begin with a word in brackets: boxes with a title, which open and close if the author wished so."""
    tokens, closing = state.tokens, list[str | None]()
    for i, token in enumerate(tokens):
        if token.type == "blockquote_open":
            head = _head(tokens, i)
            closing.append(None)
            if head:
                closing[-1] = _open_callout(tokens, i, head)
        elif token.type == "blockquote_close" and closing and (html := closing.pop()):
            tokens[i] = _made("callout_close", html, -1)


def _head(tokens: list[Token], i: int) -> re.Match[str] | None:
    if i + 2 >= len(tokens) or tokens[i + 1].type != "paragraph_open":
        return None
    return HEAD_LINE.fullmatch(tokens[i + 2].content.partition("\n")[0])


def _open_callout(tokens: list[Token], i: int, head: re.Match[str]) -> str:
    """Make a quote a callout; the HTML that closes it."""
    word, fold, title = head[1].strip().casefold(), head[3], head[4].strip()
    look = CALLOUTS.get(word, "plain" if word in LAYOUT else "note")
    tag = "details" if fold else "div"
    opened = " open" if fold == "+" else ""
    tokens[i] = _made("callout_open", f'<{tag} class="callout {look}"{opened}>', 1)
    paragraph, inline, end = tokens[i + 1], tokens[i + 2], tokens[i + 3]
    rest = inline.content.partition("\n")[2]
    inline.content = title or ("" if look == "plain" else head[1].strip().capitalize())
    if fold:
        paragraph.tag = end.tag = "summary"
    else:
        paragraph.attrs["class"] = "callout-title"
    paragraph.hidden = end.hidden = not inline.content
    if rest.strip():
        inline.meta["rest"] = rest
    return f"</{tag}>"


def _tasks(state: StateCore) -> None:
    """Items that begin with a box, ticked or not."""
    for i, token in enumerate(state.tokens):
        if token.type == "list_item_open" and i + 2 < len(state.tokens) and state.tokens[i + 2].type == "inline":
            inline = state.tokens[i + 2]
            match = _TASK.match(inline.content)
            if match:
                token.attrs["class"] = "task"
                inline.content = inline.content[match.end() :]
                inline.meta["done"] = match[1] in "xX"


def _embeds(state: StateCore) -> None:
    """Paragraphs that are one embedded note, and what a callout says behind its title."""
    result: list[Token] = []
    tokens, skip = state.tokens, 0
    env: Env = state.env["own"]
    for i, token in enumerate(tokens):
        if skip:
            skip -= 1
        elif token.type == "paragraph_open" and (html := _embedded(tokens[i + 1].content, env)) is not None:
            result.append(_made("embed", html))
            skip = 2
        else:
            result.append(token)
            if token.type == "paragraph_close" and "rest" in tokens[i - 1].meta:
                result += _paragraph(tokens[i - 1].meta.pop("rest"), env)
    state.tokens = result


def _paragraph(content: str, env: Env) -> list[Token]:
    if (html := _embedded(content, env)) is not None:
        return [_made("embed", html)]
    opened, closed = Token("paragraph_open", "p", 1, block=True), Token("paragraph_close", "p", -1, block=True)
    return [opened, Token("inline", "", 0, content=content, children=[], block=True), closed]


def _embedded(content: str, env: Env) -> str | None:
    """The embedded note that is all of a paragraph, as HTML; None if it is anything else, or not shown."""
    match = LINK.fullmatch(content.strip()) if content.lstrip().startswith("![") else None
    if match is None:
        return None
    target, heading, _ = target_of(match)
    return env.embed(target, heading)


def _inline(state: StateCore) -> None:
    """The marks within blocks; a block that is too long has none. Headings within blocks are below those of the note."""
    for token in state.tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1:]) + 3, 6)}"
        if token.type != "inline":
            continue
        token.children = []
        if len(token.content) > MAX_INLINE_CHARS:
            token.children = [_text(token.content)]
        else:
            content = "\n".join(map(_fields, token.content.split("\n")))
            state.md.inline.parse(content, state.md, state.env, token.children)
        if "done" in token.meta:
            token.children.insert(0, _box(done=bool(token.meta["done"])))


def _fields(line: str) -> str:
    """A line with its inline fields in bold."""
    if "::" not in line or "`" in line:
        return line
    if (pair := field_pair(line)) is not None:
        return f"**{pair[0]}**: {pair[1]}"
    return BRACKETED.sub(lambda m: f"**{m['key'].strip()}**: {m['value'].strip()}", line)


def _box(*, done: bool) -> Token:
    sign, name = ("☑", "done") if done else ("☐", "to do")
    return _made("task", f'<span class="box" role="img" aria-label="{name}">{sign}</span> ')


# --- within blocks ---------------------------------------------------------------------------------------------------


def _note_link(state: StateInline, silent: bool) -> bool:
    """A wikilink; an embedded note within a sentence is one too."""
    if not state.src.startswith(("[[", "![["), state.pos):
        return False
    match = LINK.match(state.src, state.pos)
    if match is None or match["wiki"] is None or match.end() > state.posMax:
        return False
    if not silent:
        target, heading, shown = target_of(match)
        way = state.env["own"].lead(target, heading)
        _surrounded(state, _attributes(way), shown)
    state.pos = match.end()
    return True


def _attributes(way: Way) -> tuple[str, dict[str, str]]:
    """The tag and the attributes of a link."""
    if way.path is None:
        return "span", {"class": "dangling", "title": "There is no such note"}
    return "a", {
        "href": way.path,
        **({"class": "away", "rel": "noopener noreferrer nofollow"} if way.elsewhere else {}),
    }


def _surrounded(state: StateInline, element: tuple[str, dict[str, str]], text: str) -> None:
    tag, attributes = element
    opened = state.push(f"{tag}_open", tag, 1)
    opened.attrs = {**attributes}
    state.push("text", "", 0).content = text
    state.push(f"{tag}_close", tag, -1)


def _highlight(state: StateInline, silent: bool) -> bool:
    match = _HIGHLIGHT.match(state.src, state.pos) if state.src.startswith("==", state.pos) else None
    if match is None or match.end() > state.posMax:
        return False
    if not silent:
        state.push("mark_open", "mark", 1)
        end, state.pos, state.posMax = state.posMax, match.start(1), match.end(1)
        state.md.inline.tokenize(state)
        state.posMax = end
        state.push("mark_close", "mark", -1)
    state.pos = match.end()
    return True


def _tag(state: StateInline, silent: bool) -> bool:
    """A tag, which leads to all that has it."""
    if state.src[state.pos] != "#" or (state.pos and not state.src[state.pos - 1].isspace()):
        return False
    match = _TAG.match(state.src, state.pos)
    if match is None or match[1].isdigit() or match.end() > state.posMax:
        return False
    if not silent:
        _surrounded(state, ("a", {"class": "tag", "href": tag_address(match[1])}), match[0])
    state.pos = match.end()
    return True


def tag_address(tag: str) -> str:
    """The search for what has a tag."""
    return f"/?q={quote(f'type:note tag:{tag}')}"


def _line_break(state: StateInline, silent: bool) -> bool:
    match = _BREAK.match(state.src, state.pos) if state.src[state.pos] == "<" else None
    if match is None:
        return False
    if not silent:
        state.push("hardbreak", "br", 0)
    state.pos = match.end()
    return True


def _links(state: StateCore) -> None:
    """Lead the links of Markdown to notes, or elsewhere."""
    env: Env = state.env["own"]
    for token in state.tokens:
        open_tag: list[str] = []
        for child in token.children or ():
            if child.type == "link_open":
                tag, attributes = _attributes(_way(str(child.attrs.get("href", "")), env))
                child.tag, child.attrs = tag, {**attributes}
                open_tag.append(tag)
            elif child.type == "link_close" and open_tag:
                child.tag = open_tag.pop()


def _way(href: str, env: Env) -> Way:
    if href.startswith("lore://"):
        return env.lead(href, "")
    if _SCHEME.match(href) or href.startswith("//"):
        return Way(href, elsewhere=True)
    match = LINK.fullmatch(f"[x](<{href}>)")
    target, heading, _ = target_of(match) if match else (href, "", "")
    return env.lead(target, heading)


def _text(content: str) -> Token:
    return Token("text", "", 0, content=content)
