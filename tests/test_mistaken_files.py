"""Files that are none of ours, or that a program has spoilt: each is read all the same, or named with what to do."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import pytest

from lorekeeper.entities import Entity
from lorekeeper.intake.files import Reader
from lorekeeper.intake.reports import ImportReport, by_weight
from lorekeeper.vaults.scan import scan
from tests.support.commands import run_lorekeeper

SPELL = {"collection": "spells", "name": "Peat Fence", "level": 1, "school": "evocation", "description": "It glows."}
TEXT = json.dumps(SPELL, indent=2)


def read(*paths: Path) -> tuple[list[Entity], ImportReport]:
    report = ImportReport()
    return [entry.entity for entry in Reader(paths, None, report).read()], report


def why(path: Path, content: bytes | str) -> str:
    """The one reason why a file of this content is not read."""
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    found, report = read(path)
    assert (found, len(report.failed)) == ([], 1), (found, report.failed)
    return report.failed[0].reason


def archive(*names: str, mimetype: str = "") -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        if mimetype:
            file.writestr("mimetype", mimetype)
        for name in names:
            file.writestr(name, f"<{name}/>" * 5, zipfile.ZIP_DEFLATED)
    return packed.getvalue()


OPEN_DOCUMENT = "application/vnd.oasis.opendocument."

# Texts of other programs are in tests/golden/mixed/mistaken.yaml.
FILES: dict[str, tuple[bytes, str, str]] = {
    "session.docx": (archive("[Content_Types].xml", "_rels/.rels", "word/document.xml"), "a Word document", "Markdown"),
    "no-suffix": (archive("_rels/.rels", "docProps/app.xml", "word/document.xml"), "a Word document", "Markdown"),
    "loot.xlsx": (archive("docProps/app.xml", "xl/workbook.xml"), "a spreadsheet", "lorekeeper schema"),
    "talk.pptx": (archive("[Content_Types].xml", "ppt/presentation.xml"), "a presentation", "Markdown"),
    "book.epub": (archive("META-INF/container.xml", mimetype="application/epub+zip"), "an e-book", "Markdown"),
    "notes.odt": (archive("content.xml", mimetype=f"{OPEN_DOCUMENT}text"), "LibreOffice", "Markdown"),
    "loot.ods": (archive("content.xml", mimetype=f"{OPEN_DOCUMENT}spreadsheet"), "a spreadsheet", "lorekeeper schema"),
    "brew.zip": (archive("spells.json"), "a zip archive", "unpack it"),
    "old.doc": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 500, "an office program", "Markdown"),
    "brew.7z": (b"7z\xbc\xaf\x27\x1c\0\4", "a packed archive", "unpack it"),
    "map.json": (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "a picture", "copy the text"),
    "map.txt": (b"\xff\xd8\xff\xe0\0\x10JFIF", "a picture", "copy the text"),
    "brew.json": (b"[InternetShortcut]\r\nURL=https://example.org\r\n", "a link to a page", "download the file itself"),
    "thumbs.bin": (bytes(range(1, 120)) + b"\0" * 60, "a file of a program, and no text", "such as JSON"),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_another_program_is_named_with_what_to_do(tmp_path: Path, name: str) -> None:
    content, what, advice = FILES[name]
    reason = why(tmp_path / name, content)
    assert what in reason
    assert advice in reason


@pytest.mark.parametrize(
    "content",
    [
        f"\ufeff~~~json\r\n{TEXT}\r\n~~~\r\n",
        TEXT.encode("utf-16"),
        b"\xff\xfe" + TEXT.encode("utf-16-le"),
        b"\xfe\xff" + TEXT.encode("utf-16-be"),
        TEXT.encode("utf-32"),
    ],
)
@pytest.mark.parametrize("name", ["mine.json", "mine.txt"])
def test_what_a_chat_or_windows_puts_around_json_is_taken_off(tmp_path: Path, content: str | bytes, name: str) -> None:
    (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
    found, report = read(tmp_path / name)
    assert ([entry.name for entry in found], report.failed, report.warnings) == (["Peat Fence"], [], [])


def test_an_encoding_of_windows_is_named_with_what_to_do(tmp_path: Path) -> None:
    for name, content in (("a.json", TEXT.replace("Peat", "Möör")), ("b.txt", "Möör\nMedium undead, neutral\n")):
        reason = why(tmp_path / name, content.encode("cp1252"))
        assert "not UTF-8: byte 0xf6, which is 'ö' in Windows-1252" in reason
        assert "save it with the encoding UTF-8" in reason


def project(folder: Path) -> Path:
    for number in range(40):
        (package := folder / "node_modules" / f"p{number}").mkdir(parents=True)
        (package / "package.json").write_text(json.dumps({"name": f"p{number}", "version": "1"}), "utf-8")
        (package / "README.md").write_text("# A package\n\nIt pads.\n", "utf-8")
    (folder / "package.json").write_text(json.dumps({"name": "mine", "version": "1", "scripts": {}}), "utf-8")
    (folder / "spells.json").write_text(TEXT, "utf-8")
    (folder / "loot.xlsx").write_bytes(b"")
    return folder


def test_a_vault_passes_over_the_same_folders_and_names_the_same_files(tmp_path: Path) -> None:
    folder = project(tmp_path / "vault")
    (folder / "Peat.md").write_text("# Peat\n\nIt is wet.\n", "utf-8")
    (folder / "Old.md").write_bytes("# Old\n\nSaved by Notepad as Unicode.\n".encode("utf-16"))
    seen = scan(folder)
    assert sorted(seen.files) == ["Old.md", "Peat.md", "spells.json"]
    assert seen.passed == {"of a program": 2, ".xlsx": 1}
    done = run_lorekeeper(tmp_path, "vault", "add", str(folder))
    assert "2 notes" in done.stdout
    assert "skipped 1 times a spreadsheet, which is not read" in done.stderr


@pytest.mark.corpus
@pytest.mark.parametrize(
    ("name", "stored", "said"),
    [
        ("saved login page.json", [], "a web page (HTML) instead of the file; download the file itself"),
        ("notes.docx", [], "a Word document"),
        ("picture.json", [], "a picture"),
        ("from-a-chat.json", ["Peat Fence"], ""),
        ("ddb-private.json", [], "the character is private there: make it public"),
        ("powershell-utf16.json", ["Peat Glow"], ""),
        ("trailing-comma.json", [], "in line 1, column 94: a comma too many before the closing bracket }"),
        ("conversations.json", [], "an export of chats"),
        ("project", ["Peat Step"], ""),
    ],
)
def test_mistakes_of_the_corpus(corpus: Path, name: str, stored: list[str], said: str) -> None:
    path = corpus / "cases" / "new" / "mistakes" / name
    if not path.exists():
        pytest.skip(f"the corpus has no {path}")
    found, report = read(path)
    assert [entry.name for entry in found] == stored
    assert len(report.failed) == bool(said)
    assert said in "".join(failure.reason for failure in report.failed)
    if name == "project":
        assert by_weight(report) == ["skipped in folders: 1 node_modules/, 1 package.json"]
