"""Spans between two signs: comments, and what HTML, spoilers, inline fields and shortcodes keep secret."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from lorekeeper.audience import DM
from lorekeeper.notes.facts import field_pair
from lorekeeper.notes.marks import (
    FIRST_WORDS,
    MOST_KEY_WORDS,
    TITLE,
    Mark,
    OwnMarks,
    audience_of,
    closes,
    comparable,
    is_number,
    stem_kinds,
)
from lorekeeper.words import listed

COMMENT_PROGRAMS = re.compile(
    r"\s*(?:(?:begin|end) (?:waypoint|landmark)\b|waypoint\b|landmark\b|kanban:settings|dataview|excalidraw|run (?:start|end)\b|"
    r"query|serializedquery|zoottelkeeper|prettier-ignore|markdownlint|linter|toc\b|mbs\b|auto-generated|[{<\[])",
    re.IGNORECASE,
)
"""How a comment of Obsidian begins that a plugin wrote for itself."""

LEAD = re.compile(
    r"(?:[^\S\n]*(?:>|(?:[-*+•‣◦–—:]|[0-9]{1,9}[.)]|[A-Za-z][.)]|\[[^\]\n]\])(?=[^\S\n])|\[\^[^\]\n]{1,60}\]:))*[^\S\n]*"
)
"""What stands before the text of a line: quotes, bullets, numbers, boxes of tasks, colons of definitions, signs of footnotes."""

_BEGINNING = re.compile(
    r"\s*(?:(?:[-*+•‣◦–—]|[0-9]{1,9}[.)]|[A-Za-z][.)])\s|#{1,6}\s|[|>]|([*_=~]{1,3})[^*_=~:：\n]{1,60}(?:[:：]\1|\1[ \t]*[:：]))"
)
"""How a line begins that does not go on with the one above it."""

_HASHES = re.compile(r"#{1,6}(?=[^\n#])[ \t]*")
_QUOTES = re.compile(r"^(?:[ \t]*>[ \t]?)+")
_OPENING = re.compile(
    r"(?P<comment>%%|<!--)"
    r"|<(?P<tag>[a-zA-Z][\w-]{0,30})(?=[\s>])"
    r"|(?P<field>[\[(])(?P<key>[^\W_][^\[\]():\n]{0,60}):"
    r"|\[(?P<code>[^\W_][\w -]{0,30})(?:=[^\[\]\n]{0,60})?\](?![(\[])"
    r"|\{\{(?P<pointed>[<%])[ \t]*(?P<short>[\w-]{1,40})|\{%[ \t]*(?P<liquid>[\w-]{1,40})"
    r"|^(?P<wiki>\{\|)"
    r"|(?P<bars>\|\|)(?=[^\s|])|(?P<covered>>!)(?=\S)"
    r"|^[ \t]{0,3}(?P<fence>:{3,})[ \t]*\{?[ \t]*\.?(?P<name>[\w-]{1,40})"
    r"|(?<=[.!?…;,)\]\"”»›·•/|*_=~–—-][ \t])(?P<opened>(?:\*{1,3}|_{1,3}|==|~~)?)"
    r"(?P<said>[^\W_]+(?:[ '’&-]{1,3}[^\W_]+){0,6})"
    r"(?:[ \t]?:(?=[ \t]|$)|(?P<dashed>[ \t][-–—](?=[ \t])))"
    r"|(?<!\w)(?P<initials>(?:[DG]M|SL|MJ)s?)[ \t]?:(?=[ \t])"
    r"|(?<![*_])(?P<stars>\*{1,3}|_{1,3})(?=[^\s*_])(?P<bold>[^*_\n|]{1,60}?)(?::[^\S\n]?(?P=stars)|(?P=stars)[^\S\n]?:)",
    re.MULTILINE,
)
_SIGN = re.compile(
    r"\s*(?:(start|begin|open|end|stop|close)[\s:_-]+)?([^\n]{1,40}?)\s*[:_ -]?\s*(start|begin|open|end|stop|close)?\s*",
    re.IGNORECASE,
)
_END = re.compile(r"(?:<!--|%%)\s{0,9}(?:end|stop|close)\s{0,9}(?:-->|%%)", re.IGNORECASE)

_NAMED = re.compile(
    r"\s(data(?:-[\w-]+)|(?:class|id|title|role|aria-label)(?=\s*=))(?:\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s>\"']+)))?",
    re.IGNORECASE,
)
"""An attribute by which a tag says what it is, and its value."""
_QUOTED, _BARE = re.compile(r"\"[^\"]*\"|'[^']*'"), re.compile(r"\s([\w-]+)(?=[\s/>])")
_HIDDEN = re.compile(
    r"\shidden(?=[\s=>/])|display\s{0,9}:\s{0,9}none|visibility\s{0,9}:\s{0,9}hidden"
    r"|(?:font-size|opacity)\s{0,9}:\s{0,9}0(?![.\d])|[\s\"';]color\s{0,9}:\s{0,9}transparent",
    re.IGNORECASE,
)
_COLOURS = re.compile(
    r"(?<![\w-])(color|background(?:-color)?|bgcolor)\s{0,9}(?::|=[\"']?)\s{0,9}([^;\"'>\s(]{1,40}(?:\([^()]{0,40}\))?)",
    re.IGNORECASE,
)
"""Colours of a text and of its ground, as styles and as attributes; where only the text has one, a page is white."""
_SHORT_COLOUR = re.compile(r"#(.)(.)(.)")
_HEAD_CELL = re.compile(r"<th\b[^<>]{0,200}>(.{0,200}?)</th", re.IGNORECASE | re.DOTALL)
_WIKI_HEAD = re.compile(r"^!(.{1,1000})", re.MULTILINE)
_SUMMARY = re.compile(r"\s*<summary\b[^<>]*>(.*?)</summary\s*>", re.IGNORECASE | re.DOTALL)
_LONGEST_SUMMARY, _LONGEST_TABLE = 1000, 4000
_ANY_TAG = re.compile(r"<[^<>]{0,500}>")
_VOID = frozenset("br hr img input link meta source wbr area base col embed track".split())
_PLAIN = re.compile(r"[^<>\"']*+")
_LABEL_WORDS = re.compile(rf"(?:[\w'’-]+[ \t]+){{0,{MOST_KEY_WORDS - 1}}}")
_BORDER = re.compile(r"(?<!\\)\|")
_BRACKET = re.compile(r"[\[\]()]")
_BARRED = re.compile(r"\|\|(?=[^\s|])[^|\n]*(?<=[^\s|])\|\|")


@dataclass(frozen=True)
class Span:
    """Something secret that stood in a text.

    Attributes:
        first: number of the line that it begins in.
        last: number of the line that it ends in.
        content: without the signs around it.
        mark: what makes it secret.
    """

    first: int
    last: int
    content: str
    mark: Mark


@dataclass(frozen=True)
class Line:
    """Where a line begins and ends, where its text begins, and whether it is the row of a table or a heading."""

    start: int
    end: int
    lead: int
    is_row: bool
    is_heading: bool


class SpanScanner:
    """One pass over a text. A sign that was not found once is not looked for again: the pass stays linear."""

    def __init__(self, text: str, own: OwnMarks) -> None:
        self.text, self._own = text, own
        self.found: list[Span] = []
        self.problems: list[str] = []
        self._missing: set[str] = set()
        self._line, self._counted = 0, 0
        self._current = Line(0, -1, 0, is_row=False, is_heading=False)

    def taken_out(self) -> str:
        """The text with line ends only where secrets and comments were."""
        parts, at = list[str](), 0
        while match := _OPENING.search(self.text, at):
            parts.append(self.text[at : match.start()])
            end, instead = self._read(match)
            # "a %%b%% c" leaves one space
            spaces = not instead and parts[-1].endswith(" ") and self.text.startswith(" ", end)
            at = end + spaces
            parts.append(instead)
        return "".join(parts) + self.text[at:]

    def _read(self, opening: re.Match[str]) -> tuple[int, str]:
        """Where to go on behind an opening sign, and what stands in the place of what was passed."""
        readers: tuple[tuple[str, Callable[[re.Match[str]], tuple[int, str] | None]], ...] = (
            ("comment", self._comment),
            ("tag", self._tag),
            ("field", self._field),
            ("code", self._code),
            ("short", self._shortcode),
            ("liquid", self._shortcode),
            ("wiki", self._wiki),
            ("bars", self._covered),
            ("covered", self._covered),
            ("fence", self._fenced),
            ("said", self._said),
            ("initials", self._said),
            ("bold", self._said),
        )
        read = next(read for group, read in readers if opening[group])
        # of "[[gm]" the second bracket may be the opening one
        return read(opening) or (opening.start() + 1, opening[0][0])

    # --- comments ----------------------------------------------------------------------------------------------------

    def _comment(self, opening: re.Match[str]) -> tuple[int, str]:
        start, inside = opening.span()
        sign = "%%" if opening[0] == "%%" else "-->"
        close = self._find(sign, inside)
        if close < 0:
            return self._unclosed(opening)
        content, end = self.text[inside:close], close + len(sign)
        if self._is_in_heading(start) and "\n" not in content and self._is_secret_word(content):
            return end, content
        if (ending := self._begun(content, end, is_shown=opening[0] == "<!--")) is not None:
            return self._between(start, end, ending, self.text[start:end])
        if opening[0] == "%%" and content.strip() and not COMMENT_PROGRAMS.match(content):
            return self._keep(start, content, end, Mark("%%", DM))
        return end, "\n" * self.text.count("\n", start, end)

    def _begun(self, content: str, end: int, *, is_shown: bool) -> re.Pattern[str] | None:
        """What ends the secret that a comment begins: "dm:start", "gm only"; None if it is another comment."""
        match = _SIGN.fullmatch(content) if len(content) < 60 and "\n" not in content.strip() else None
        if match is None or "/" in content:
            return None
        sign = (match[1] or match[3] or "").casefold()
        if sign in ("end", "stop", "close") or not closes(match[2], TITLE, self._own):
            return None
        ending = _ending(match[2], may_repeat=not is_shown and not sign)
        # "%%secret%%" may be a comment of one word, and "<!-- secret: a text -->" has what it keeps within it
        if sign or (is_shown and ":" not in content) or self._search(ending, end):
            return ending
        return _END if self._search(_END, end) else None

    def _unclosed(self, opening: re.Match[str]) -> tuple[int, str]:
        start, inside = opening.span()
        if opening[0] == "%%" and self.text[max(0, start - 9) : start].rstrip(" ")[-1:].isdigit():
            return inside, opening[0]  # "100%%"
        self.problems.append(f"{opening[0]} has no end: everything after it is treated as secret")
        return self._keep(start, self.text[inside:], len(self.text), Mark(opening[0], DM))

    # --- HTML --------------------------------------------------------------------------------------------------------

    def _tag(self, opening: re.Match[str]) -> tuple[int, str] | None:
        name = opening["tag"].casefold()
        end = self._end_of_tag(opening.end())
        if name in _VOID or end < 0 or self.text[end - 2] == "/":
            return None
        written = self.text[opening.start() : end]
        if not self._is_secret_tag(name, written, end):
            return None
        if self._is_in_heading(opening.start()):
            return end, listed("sign")[0]
        return self._between(opening.start(), end, re.compile(rf"<(/?){name}\b[^<>]*>", re.IGNORECASE), written[:80])

    def _end_of_tag(self, at: int) -> int:
        """Where a tag ends, a ">" within quotes being none; -1 if it does not."""
        while True:
            at = _matched(_PLAIN, self.text, at)
            sign = self.text[at : at + 1]
            if sign in ("", "<"):
                return -1
            if sign == ">":
                return at + 1
            at = max(self._find(sign, at + 1), at) + 1

    def _is_secret_tag(self, name: str, written: str, end: int) -> bool:
        named = [(key, next(filter(None, values), "")) for key, *values in _NAMED.findall(written)]
        words = (word for value in (name, *(value for _, value in named)) for word in value.split())
        keys = (key[5:] for key, value in named if key[:5] == "data-" and value not in listed("value no"))
        bare = _BARE.findall(_QUOTED.sub("", written))
        said = (*words, *bare, *(key for key in keys if all(map(stem_kinds, comparable(key).split()))))
        if any(closes(word, TITLE, self._own) for word in said) or _HIDDEN.search(written):
            return True
        told = {kind[:2].casefold(): _colour(colour) for kind, colour in _COLOURS.findall(written)}
        if told.get("co") == (told.get("ba") or told.get("bg") or _colour("white")):
            return True
        if name == "table":
            heads = _HEAD_CELL.findall(self.text, end, end + _LONGEST_TABLE)
            return any(closes(_ANY_TAG.sub("", head), TITLE, self._own) for head in heads)
        summary = _SUMMARY.match(self.text[end : end + _LONGEST_SUMMARY]) if name == "details" else None
        return summary is not None and closes(_ANY_TAG.sub("", summary[1]).strip(), TITLE, self._own)

    # --- within lines ------------------------------------------------------------------------------------------------

    def _field(self, opening: re.Match[str]) -> tuple[int, str] | None:
        """``[secret:: text]``, ``(GM: text)``: to the bracket that closes it, or to the end of the line without one."""
        after, before = (
            self.text[opening.end() : opening.end() + 1],
            self.text[max(0, opening.start() - 1) : opening.start()],
        )
        if before == "[" or after not in (":", " ", "\t") or len(opening["key"].split()) > MOST_KEY_WORDS:
            return None
        if opening.start() <= self._line_at(opening.start()).lead:
            return None  # it is for the line that it begins
        if not self._is_secret_word(opening["key"]):
            return None
        inside = opening.end() + (after == ":")
        close, end = self._bracketed(inside)
        value = self.text[inside:close]
        if is_number(value) or self._own.is_opened(value):
            return None
        mark = replace(audience_of(opening["key"], own=self._own), said=value)
        return self._keep(opening.start(), f"**{opening['key'].strip()}**: {value.strip()}", end, mark)

    def _bracketed(self, inside: int) -> tuple[int, int]:
        """Where the bracket that is open closes, and where to go on; at the end of its paragraph without one."""
        depth, most = 1, self._end_of_paragraph(self._line_at(inside).end)
        for bracket in _BRACKET.finditer(self.text, inside, most):
            depth += 1 if bracket[0] in "[(" else -1
            if not depth:
                return bracket.span()
        return most, most

    def _code(self, opening: re.Match[str]) -> tuple[int, str] | None:
        """``[spoiler]text[/spoiler]``."""
        if not self._is_secret_word(opening["code"]):
            return None
        close = self._search(re.compile(rf"\[/{re.escape(opening['code'])}\]", re.IGNORECASE), opening.end())
        if close is None:
            return None
        return self._keep(opening.start(), self.text[opening.end() : close.start()], close.end(), Mark(opening[0], DM))

    def _shortcode(self, opening: re.Match[str]) -> tuple[int, str] | None:
        """``{{< secret >}}text{{< /secret >}}``, ``{% secret %}text{% endsecret %}``."""
        name = opening["short"] or opening["liquid"]
        end = self.text.find("}", opening.end(), opening.end() + 300)
        told = re.sub(r"(?<![\w-])[\w-]{1,40}=|[\"'<>%]", " ", self.text[opening.end() : max(end, opening.end())])
        if end < 0 or not (self._is_secret_word(name) or self._is_secret_word(told)):
            return None
        end += 2 if self.text.startswith("}}", end) else 1
        closing = re.compile(rf"\{{[{{%][ \t]*[<%]?[ \t]*(/|end)[ \t]*{re.escape(name)}[^{{}}\n]*\}}+", re.IGNORECASE)
        if not self._is_secret_word(name) and self._search(closing, end) is None:
            return None  # one that stands alone has a title, and no text
        return self._between(opening.start(), end, closing, self.text[opening.start() : end])

    def _wiki(self, opening: re.Match[str]) -> tuple[int, str] | None:
        """A table of MediaWiki, ``{| ... |}``, with a column for the game master."""
        close = self._find("\n|}", opening.end())
        heads = _WIKI_HEAD.findall(self.text, opening.end(), max(close, opening.end()))
        if not any(self._is_secret_word(cell) for head in heads for cell in re.split(r"!!|\|", head)):
            return None
        return self._keep(opening.start(), self.text[opening.end() : close], close + 3, Mark("{|", DM))

    def _covered(self, opening: re.Match[str]) -> tuple[int, str] | None:
        """``||text||``, ``>!text!<``."""
        sign, line = "||" if opening["bars"] else "!<", self._line_at(opening.start())
        close = self.text.find(sign, opening.end(), line.end)
        if close < 0 or (opening["bars"] and line.is_row) or self.text[close - 1].isspace():
            return None
        content = self.text[opening.end() : close]
        return self._keep(opening.start(), content, close + 2, Mark(f"{opening[0]} {sign}", DM))

    def _said(self, opening: re.Match[str]) -> tuple[int, str] | None:
        """``He is kind. DM: he lies``, ``Tall. **Secret:** text``: to the end of the emphasis around it, its cell or paragraph.

        What begins a line is left to `cuts.cut_lines`.
        """
        key = opening["said"] or opening["initials"] or opening["bold"]
        most = MOST_KEY_WORDS if opening["bold"] else FIRST_WORDS - bool(opening["dashed"])
        lead = self._line_at(opening.start()).lead
        is_label = opening["initials"] and _LABEL_WORDS.fullmatch(self.text, lead, max(lead, opening.start()))
        if opening.start() <= lead or is_label or len(key.split()) > most:
            return None
        if not self._is_secret_word(key):
            return None
        sign, line = opening["opened"] or "", self._line_at(opening.start())
        if line.is_heading:
            return None  # it is marked as a whole
        close = self.text.find(sign, opening.end(), line.end) if sign else -1
        end = close + len(sign) if close >= 0 else None
        if line.is_row:
            border = _BORDER.search(self.text, opening.end(), line.end)
            end = min(end or line.end, border.start() if border else line.end)
        if end is None:
            end = self._end_of_paragraph(line.end)
        value = self.text[opening.end() : end]
        if is_number(value) or self._own.is_opened(value):
            return None
        mark = replace(audience_of(key, own=self._own), said=value)
        return self._keep(opening.start(), self.text[opening.start() : end], end, mark)

    def _is_in_heading(self, at: int) -> bool:
        """Whether a position is in a heading: what is secret there is what it says of itself."""
        line = self._line_at(at)
        return line.is_heading and self.text[line.lead - 1].isspace()

    def _end_of_paragraph(self, at: int) -> int:
        """The end of the last line that goes on with the one which ends here."""
        while at < len(self.text):
            end = self.text.find("\n", at + 1)
            end = len(self.text) if end < 0 else end
            line = _QUOTES.sub("", self.text[at + 1 : end])
            if not line.strip() or begins(line):
                break
            at = end
        return at

    def _line_at(self, at: int) -> Line:
        """The line that a position is in."""
        if not self._current.start <= at <= self._current.end:
            start, end = self.text.rfind("\n", 0, at) + 1, self.text.find("\n", at)
            lead = _matched(LEAD, self.text, start)
            end = len(self.text) if end < 0 else end
            # "||text|| and more" is a spoiler that begins a line
            is_row = self.text.startswith("|", lead) and "|" in _BARRED.sub("", self.text[lead:end])
            text = _matched(_HASHES, self.text, lead)
            self._current = Line(start, end, text, is_row, is_heading=text > lead)
        return self._current

    def _fenced(self, opening: re.Match[str]) -> tuple[int, str] | None:
        """``::: secret``, ``:::note GM only``, to the colons that close it."""
        inside = self._line_at(opening.start()).end
        if not any(map(self._is_secret_word, (opening["name"], self.text[opening.end() : inside]))):
            return None
        closing = re.compile(rf"^[ \t]{{0,3}}:{{{len(opening['fence'])},}}[ \t]*$", re.MULTILINE)
        return self._between(opening.start(), inside, closing, opening[0].strip())

    def _is_secret_word(self, word: str) -> bool:
        return closes(word, TITLE, self._own)

    # --- what is kept ------------------------------------------------------------------------------------------------

    def _between(self, start: int, inside: int, closing: re.Pattern[str], written: str) -> tuple[int, str]:
        """A stretch to the sign that closes it, over those within it; to the end of the note, if that is missing."""
        depth, close = 1, None
        if closing.pattern not in self._missing:
            for found in closing.finditer(self.text, inside):
                opens = bool(closing.groups) and not found[1]
                depth += 1 if opens else -1
                if not depth:
                    close = found
                    break
        if close is None:
            self._missing.add(closing.pattern)
            self.problems.append(f"{written} has no end: everything after it is treated as secret")
        last, end = close.span() if close else (len(self.text), len(self.text))
        return self._keep(start, self.text[inside:last], end, Mark(written, DM))

    def _keep(self, start: int, content: str, end: int, mark: Mark) -> tuple[int, str]:
        self._line += self.text.count("\n", self._counted, start)
        self._counted = start
        breaks = self.text.count("\n", start, end)
        if content.strip():
            self.found.append(Span(self._line, self._line + breaks, content, mark))
        return end, "\n" * breaks

    def _find(self, sign: str, start: int) -> int:
        position = -1 if sign in self._missing else self.text.find(sign, start)
        if position < 0:
            self._missing.add(sign)
        return position

    def _search(self, pattern: re.Pattern[str], start: int) -> re.Match[str] | None:
        match = None if pattern.pattern in self._missing else pattern.search(self.text, start)
        if match is None:
            self._missing.add(pattern.pattern)
        return match


def _ending(word: str, *, may_repeat: bool = False) -> re.Pattern[str]:
    """How the comment looks that ends what one with a word began; it may also be the same again."""
    said = r"[\s:_-]{0,9}".join(re.escape(part) for part in re.split(r"[\s:_-]+", word) if part)
    ends = r"(?:end|stop|close)"
    again = rf"{said}|" if may_repeat else ""
    return re.compile(
        rf"(?:<!--|%%)\s{{0,9}}(?:{again}/\s{{0,9}}{said}|{said}\s{{0,9}}[:_ -]?\s{{0,9}}{ends}"
        rf"|{ends}\s{{0,9}}[:_ -]?\s{{0,9}}{said})"
        r"\s{0,9}(?:-->|%%)",
        re.IGNORECASE,
    )


def _colour(written: str) -> str:
    """A colour in one spelling: "white", "#fff", "#FFFFFF" and "rgb(255, 255, 255)" are one."""
    named = {"white": "#fff", "black": "#000"}.get(written.casefold(), written.casefold())
    if named.startswith("rgb"):
        return "#" + "".join(f"{int(part):02x}" for part in re.findall("[0-9]+", named)[:3])
    short = _SHORT_COLOUR.fullmatch(named)
    return "#" + "".join(2 * part for part in short.groups()) if short else named


def begins(line: str) -> bool:
    """Whether a line begins something of its own."""
    return bool(_BEGINNING.match(line) or field_pair(line))


def _matched(pattern: re.Pattern[str], text: str, at: int) -> int:
    """Where a pattern ends that may match nothing."""
    match = pattern.match(text, at)
    return match.end() if match else at
