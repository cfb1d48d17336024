"""What `make release-check` refuses, and that everything follows from the version and one address."""

from __future__ import annotations

import hashlib
import io
import re
import subprocess
import tarfile
import zipfile
from pathlib import Path

from lorekeeper.version import DISTRIBUTION, VERSION
from scripts import build_bundle, release
from scripts.build_bundle import ROOT
from tests.support.commands import ROOT as CHECKOUT
from tests.support.tables import each_row

ADDRESS = "https://github.com/harbour-guild/lorekeeper"


def metadata(**changes: str) -> str:
    """Metadata of a package that can be published."""
    fields = {"Name": DISTRIBUTION, "Version": VERSION, "Description-Content-Type": "text/markdown", **changes}
    line = f"<!-- mcp-name: {build_bundle.registry_name()} -->"
    return (
        "".join(f"{name.replace('_', '-')}: {value}\n" for name, value in fields.items())
        + f"\n# LoreKeeper\n\n{line}\n"
    )


def wheel(folder: Path, names: tuple[str, ...], text: str) -> Path:
    """A wheel with these files and that metadata."""
    file = folder / f"lorekeeper_rpg-{VERSION}-py3-none-any.whl"
    with zipfile.ZipFile(file, "w") as written:
        for name in names:
            written.writestr(name, "")
        written.writestr(f"lorekeeper_rpg-{VERSION}.dist-info/METADATA", text)
    return file


def test_the_committed_files_are_current():
    assert list(release.stale()) == []


def test_one_address_is_all_that_there_is_to_set(monkeypatch):
    table = build_bundle.project()
    monkeypatch.setattr(build_bundle, "project", lambda: {**table, "urls": {"Repository": ADDRESS}})
    assert list(release.placeholders()) == []
    derived = release.derived()
    assert build_bundle.registry_name() == "io.github.harbour-guild/lorekeeper"
    assert [file.name for file, text in derived.items() if build_bundle.OWNER in text] == []
    assert {file.name for file, text in derived.items() if "harbour-guild" in text} == {
        "server.json",
        "README.md",
        "plugin.json",
    }
    assert len(list(release.stale())) == 3


def test_nothing_else_has_the_placeholder():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=CHECKOUT, capture_output=True, text=True, check=True)
    files = (CHECKOUT / name for name in listed.stdout.split("\0") if name and (CHECKOUT / name).is_file())
    having = {file.name for file in files if re.search(rb"github\.com/OWNER|io\.github\.OWNER", file.read_bytes())}
    assert having <= {"server.json", "README.md", Path(__file__).name}


def test_a_wheel_without_the_model_or_the_ready_library_is_refused(tmp_path):
    assert list(release.wheel_faults(wheel(tmp_path, release.IN_WHEEL, metadata()))) == []
    faults = list(release.wheel_faults(wheel(tmp_path, release.IN_WHEEL[:1], metadata())))
    assert [name for name in release.IN_WHEEL[1:] if not any(name in fault for fault in faults)] == []
    assert len(faults) == 2


@each_row(
    ("text", "said"),
    [
        (metadata(Version="9.9"), "Version is '9.9'"),
        (metadata(Name="lorekeeper"), "Name is 'lorekeeper'"),
        (metadata().replace("text/markdown", "text/plain"), "Description-Content-Type"),
        (metadata().replace("mcp-name", "name"), "its description does not name"),
        ("", "Name is None"),
    ],
)
def test_metadata_that_the_index_or_the_registry_would_refuse(text, said):
    assert any(said in fault for fault in release.metadata_faults(text))


def test_a_source_distribution_without_the_installer_is_refused(tmp_path):
    folder = f"lorekeeper_rpg-{VERSION}"
    file = tmp_path / f"{folder}.tar.gz"
    with tarfile.open(file, "w:gz") as written:
        for name in ("PKG-INFO", *release.IN_SDIST):
            content = metadata().encode() if name == "PKG-INFO" else b""
            if name != "install.py":
                member = tarfile.TarInfo(f"{folder}/{name}")
                member.size = len(content)
                written.addfile(member, io.BytesIO(content))
    assert list(release.sdist_faults(file)) == [f"{file.name} lacks install.py"]


def test_server_json_is_checked_against_the_schema_of_the_registry(monkeypatch):
    assert list(release.server_json_faults()) == []
    monkeypatch.setattr(release, "server_json", lambda: {**build_bundle.server_json(), "name": "no owner"})
    assert len(list(release.server_json_faults())) == 1


def test_checksums_are_what_sha256sum_reads(tmp_path):
    file = tmp_path / "a.whl"
    file.write_bytes(b"abc")
    assert release.checksums([file]) == f"{hashlib.sha256(b'abc').hexdigest()}  a.whl\n"


def test_make_release_check_is_described():
    assert "release-check:" in (ROOT / "Makefile").read_text("utf-8")
    assert "`make release-check`" in (ROOT / "CONTRIBUTING.md").read_text("utf-8")
