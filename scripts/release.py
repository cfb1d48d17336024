"""Builds everything that a release needs into ``dist/``, and checks it.

    python -m scripts.release WHEEL [--publish]    # as 'make release-check' runs it
    python -m scripts.release --write              # writes the committed files that follow from version and repository

A release is the wheel with the model, the source distribution, the bundle for desktop apps, ``server.json``, the plugin for
Claude Code, and ``SHA256SUMS``. Nothing is uploaded. ``--publish`` also refuses what is still a placeholder.
"""

from __future__ import annotations

import argparse
import email
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import jsonschema

from lorekeeper.version import DISTRIBUTION, VERSION
from scripts import build_plugin
from scripts.build_bundle import DIST, ROOT, build, registry_name, repository, server_json, written

SCHEMA = ROOT / "tests" / "data" / "server-2025-12-11.schema.json"

MOST_BYTES = 100 * 10**6
"""Largest file that the package index takes."""

IN_WHEEL = ("lorekeeper/data/model/model.onnx_data", "lorekeeper/data/model/LICENSE", "lorekeeper/data/library.zip")

IN_SDIST = ("pyproject.toml", "README.md", "LICENSE", "install.py", "constraints.txt", "lorekeeper/version.py")

NAME_LINE = re.compile(r"<!-- mcp-name: (\S+) -->")

CLAUDE = ("npx", "-y", "@anthropic-ai/claude-code@2.1.197")
"""The official tool that validates plugins."""


# --- committed files that follow from the version and the repository -------------------------------------------------


def derived() -> dict[Path, str]:
    """The text that each of these files must have."""
    readme = ROOT / "README.md"
    return {
        ROOT / "server.json": written(server_json()),
        readme: NAME_LINE.sub(f"<!-- mcp-name: {registry_name()} -->", readme.read_text("utf-8")),
        **{build_plugin.FOLDER / name: text for name, text in build_plugin.contents().items()},
    }


def write() -> None:
    """Write these files."""
    build_plugin.write()
    for file, text in derived().items():
        file.write_text(text, "utf-8")


def stale() -> Iterator[str]:
    """A line for each of these files that differs."""
    for file, text in derived().items():
        if not file.exists() or file.read_text("utf-8") != text:
            yield f"{file.relative_to(ROOT)} is not current: run 'python -m scripts.release --write'"


# --- what was built --------------------------------------------------------------------------------------------------


def wheel_faults(wheel: Path) -> Iterator[str]:
    """What is wrong with the wheel."""
    with zipfile.ZipFile(wheel) as opened:
        names = opened.namelist()
        yield from (f"{wheel.name} lacks {name}" for name in IN_WHEEL if name not in names)
        metadata = next((name for name in names if name.endswith(".dist-info/METADATA")), None)
        text = opened.read(metadata).decode() if metadata else ""
    yield from (f"{wheel.name}: {fault}" for fault in metadata_faults(text))


def sdist_faults(sdist: Path) -> Iterator[str]:
    """What is wrong with the source distribution."""
    with tarfile.open(sdist) as opened:
        names = {name.partition("/")[2] for name in opened.getnames()}
        info = opened.extractfile(f"{sdist.name.removesuffix('.tar.gz')}/PKG-INFO")
        text = info.read().decode() if info else ""
    yield from (f"{sdist.name} lacks {name}" for name in IN_SDIST if name not in names)
    yield from (f"{sdist.name}: {fault}" for fault in metadata_faults(text))


def metadata_faults(text: str) -> Iterator[str]:
    """What the package index or the MCP registry would refuse in the metadata of a package."""
    metadata = email.message_from_string(text)
    for field, expected in (
        ("Name", DISTRIBUTION),
        ("Version", VERSION),
        ("Description-Content-Type", "text/markdown"),
    ):
        if metadata[field] != expected:
            yield f"{field} is {metadata[field]!r}, not {expected!r}"
    if NAME_LINE.findall(text) != [registry_name()]:
        yield f"its description does not name {registry_name()}, which the MCP registry looks for"


def server_json_faults() -> Iterator[str]:
    """What the MCP registry would refuse."""
    validator = jsonschema.Draft7Validator(json.loads(SCHEMA.read_text("utf-8")))
    yield from (f"server.json: {error.message}" for error in validator.iter_errors(server_json()))


def placeholders() -> Iterator[str]:
    """What must be set before a release."""
    if not repository():
        yield "pyproject.toml has no [project.urls] Repository: set it, then run 'python -m scripts.release --write'"


def checksums(files: list[Path]) -> str:
    """A line for each file, as ``sha256sum --check`` reads it."""
    return "".join(f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in files)


# --- all of it -------------------------------------------------------------------------------------------------------


def build_sdist() -> Path:
    """Build the source distribution."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--target", "sdist", "--directory", DIST], cwd=ROOT, check=True
    )
    return DIST / f"{DISTRIBUTION.replace('-', '_')}-{VERSION}.tar.gz"


def release(wheel: Path, *, publish: bool) -> list[str]:
    """Build everything next to the wheel; what is wrong with it."""
    sdist = build_sdist()
    files = [wheel, sdist]
    faults = [*stale(), *wheel_faults(wheel), *sdist_faults(sdist), *server_json_faults()]
    if shutil.which("npx"):
        files.append(build(wheel))
        if subprocess.run([*CLAUDE, "plugin", "validate", "--strict", build_plugin.FOLDER], check=False).returncode:
            faults.append("the plugin for Claude Code is not valid")
    else:
        print("npx is not available: the bundle was not built, and the plugin was not validated by its official tool")
    faults += [f"{file.name} is larger than {MOST_BYTES:,} bytes" for file in files if file.stat().st_size > MOST_BYTES]
    (DIST / "SHA256SUMS").write_text(checksums(files), "utf-8")
    faults += placeholders() if publish else []
    print("".join(f"{file.stat().st_size / 1e6:6.1f} MB  {file.name}\n" for file in files), end="")
    return faults


def main() -> int:
    """Write or check; 1 if something is wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("wheel", nargs="?", type=Path, help="the wheel of this version, as 'make wheel' builds it")
    parser.add_argument("--publish", action="store_true", help="refuse placeholders too")
    parser.add_argument(
        "--write", action="store_true", help="write server.json, README's line for the registry, the plugin"
    )
    arguments = parser.parse_args()
    if arguments.write:
        write()
        return 0
    if arguments.wheel is None:
        parser.error("which wheel? 'make release-check' builds one first")
    faults = release(arguments.wheel.resolve(), publish=arguments.publish)
    for fault in faults:
        print(f"wrong: {fault}")
    if not faults:
        left = "".join(f"\nBefore publishing: {missing}" for missing in placeholders())
        print(f"Everything is built, and no fault was found.{left}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
