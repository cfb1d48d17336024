"""Small books as PDF, written with the fonts that every reader has."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

PLAIN, BOLD, ITALIC, HYPHENS, UNMAPPED, BOTH = "F1", "F2", "F3", "F4", "F5", "F6"
_FONTS = {PLAIN: "Helvetica", BOLD: "Helvetica-Bold", ITALIC: "Helvetica-Oblique", BOTH: "Helvetica-BoldOblique"}

_MAP = (
    b"/CIDInit /ProcSet findresource begin begincmap /CMapName /Own def 1 begincodespacerange <00> <FF> endcodespacerange "
    b"1 beginbfrange <20> <7D> <0020> endbfrange 1 beginbfchar <7E> <002D00AD20102011> endbfchar endcmap"
)
"""What the codes of the fourth font stand for: letters, and at "~" all hyphens that there are, as some programs write it."""

Text = tuple[float, float, float, str, str]
"""Left, top and size in points, font, and the text of a line."""

HEIGHT, WIDTH = 792, 612

PICTURE = b"q %d 0 0 %d 0 0 cm BI /W 1 /H 1 /BPC 8 /CS /G ID . EI Q" % (WIDTH, HEIGHT)
"""A page that is a picture, as it is drawn."""


def write_pdf(
    path: Path,
    pages: Sequence[Iterable[Text]],
    outline: Sequence[tuple[str, int]] = (),
    title: str = "",
    streams: Sequence[bytes] = (),
) -> Path:
    """A file of these pages, with an outline of titles and pages from 0.

    ``streams`` are pages as they are drawn, or compressed; each page may draw the one before it as the form /Before.
    """
    objects: list[bytes] = [b"", b""]

    def add(content: bytes) -> int:
        objects.append(content)
        return len(objects)

    fonts = {
        name: add(f"<< /Type /Font /Subtype /Type1 /BaseFont /{font} /Encoding /WinAnsiEncoding >>".encode())
        for name, font in _FONTS.items()
    }
    mapped = add(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(_MAP), _MAP))
    fonts[HYPHENS] = add(f"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /ToUnicode {mapped} 0 R >>".encode())
    system = "/CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >>"
    kind = add(f"<< /Type /Font /Subtype /CIDFontType2 /BaseFont /Own {system} >>".encode())
    whole = f"/Type /Font /Subtype /Type0 /BaseFont /Own /Encoding /Identity-H /DescendantFonts [{kind} 0 R]"
    fonts[UNMAPPED] = add(f"<< {whole} >>".encode())
    used = " ".join(f"/{name} {number} 0 R" for name, number in fonts.items())
    kids = []
    for stream in [*(b"\n".join(map(drawn, page)) for page in pages), *streams]:
        packed = b" /Filter /FlateDecode" if stream[:1] == b"\x78" else b""
        form = b"/Type /XObject /Subtype /Form /BBox [0 0 %d %d]" % (WIDTH, HEIGHT)
        content = add(b"<< %s /Length %d%s >>\nstream\n%s\nendstream" % (form, len(stream), packed, stream))
        page = f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {WIDTH} {HEIGHT}] /Contents {content} 0 R "
        kids.append(
            add(f"{page}/Resources << /Font << {used} >> /XObject << /Before {content - 2} 0 R >> >> >>".encode())
        )
    root, last = len(objects) + 1, len(objects) + 1 + len(outline)
    if outline:
        add(f"<< /Type /Outlines /First {root + 1} 0 R /Last {last} 0 R >>".encode())
    for mark, (name, number) in enumerate(outline, root + 1):
        following = f"/Next {mark + 1} 0 R" if mark < last else ""
        target = f"/Dest [{kids[number]} 0 R /Fit] {following}"
        add(f"<< /Title ({_escaped(name)}) /Parent {root} 0 R {target} >>".encode())
    info = add(f"<< /Title ({_escaped(title)}) >>".encode())
    marks = f"/Outlines {root} 0 R" if outline else ""
    objects[0] = f"<< /Type /Catalog /Pages 2 0 R {marks} >>".encode()
    objects[1] = f"<< /Type /Pages /Count {len(kids)} /Kids [{' '.join(f'{kid} 0 R' for kid in kids)}] >>".encode()
    path.write_bytes(_file(objects, info))
    return path


def turned(text: Text) -> bytes:
    """A line that runs upwards, as it is drawn; left and top say where it begins."""
    left, top, size, font, written = text
    return f"BT /{font} {size} Tf 0 1 -1 0 {left} {HEIGHT - top} Tm ({_escaped(written)}) Tj ET".encode("cp1252")


def drawn(text: Text) -> bytes:
    """A line, as it is drawn."""
    left, top, size, font, written = text
    return f"BT /{font} {size} Tf {left} {HEIGHT - top} Td ({_escaped(written)}) Tj ET".encode("cp1252")


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")


def _file(objects: Sequence[bytes], info: int) -> bytes:
    content, places = bytearray(b"%PDF-1.7\n"), []
    for number, each in enumerate(objects, 1):
        places.append(len(content))
        content += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    size = len(objects) + 1
    trailer = f"trailer << /Size {size} /Root 1 0 R /Info {info} 0 R >>\nstartxref\n{len(content)}\n%%EOF\n"
    return bytes(content) + b"xref\n0 %d\n0000000000 65535 f \n" % size + table + trailer.encode()


def lines(
    texts: Iterable[str], left: float = 72, top: float = 100, size: float = 10, font: str = PLAIN, leading: float = 12
) -> list[Text]:
    """Lines below each other."""
    return [(left, top + leading * number, size, font, text) for number, text in enumerate(texts)]
