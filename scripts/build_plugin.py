"""Builds the plugin for Claude Code in ``packaging/claude-code``, from the prompts, the skill and the version of the package.

    python -m scripts.build_plugin

The folder is a marketplace with one plugin: the MCP server, the skill, and each prompt as a command. The formats are those of
<https://code.claude.com/docs/en/plugins-reference>. What is written is committed, and a test compares it with the package.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

from lorekeeper.clients.table import NAME
from lorekeeper.server.prompts import PROMPTS, Prompt
from lorekeeper.server.resources import SKILL_FILE
from lorekeeper.version import VERSION
from scripts.build_bundle import DESCRIPTION, ROOT, project, repository

FOLDER = ROOT / "packaging" / "claude-code"

SKILL = "look-up-before-you-answer"

MARKETPLACE = ".claude-plugin/marketplace.json"

MANIFEST = f"{NAME}/.claude-plugin/plugin.json"

AUTHOR = {"name": "The LoreKeeper contributors"}

FILLED_IN = (
    "Request: $ARGUMENTS\n\nTake the values in <angle brackets> from the request, and leave out each line whose value the "
    "request does not give. Use the tools of the MCP server lorekeeper."
)
"""What comes before the text of a prompt: a command has one argument, the whole request."""


def contents() -> dict[str, str]:
    """The text of every file of the marketplace, by its path within the folder."""
    table = project()
    plugin = {
        "name": NAME,
        "description": DESCRIPTION,
        "version": VERSION,
        "author": AUTHOR,
        "license": table["license"],
    }
    address = {"repository": repository()} if repository() else {}
    marketplace = {
        "name": NAME,
        "owner": AUTHOR,
        "metadata": {"description": "LoreKeeper for Claude Code", "version": VERSION},
        "plugins": [{"name": NAME, "source": f"./{NAME}", "description": DESCRIPTION, "category": "games"}],
    }
    return {
        MARKETPLACE: _written(marketplace),
        MANIFEST: _written({**plugin, "keywords": table["keywords"], **address}),
        f"{NAME}/.mcp.json": _written({"mcpServers": {NAME: {"command": NAME, "args": ["serve"]}}}),
        f"{NAME}/skills/{SKILL}/SKILL.md": SKILL_FILE.read_text("utf-8"),
        **{f"{NAME}/commands/{name.replace('_', '-')}.md": command(prompt) for name, prompt in PROMPTS.items()},
    }


def command(prompt: Prompt) -> str:
    """A prompt as a command: its arguments are read from the request."""
    hint = " ".join(f"<{a.name}>" if a.required else f"[{a.name}]" for a in prompt.arguments)
    text = re.sub(r"\{(\w+)\}", r"<\1>", prompt.text.strip())
    return f"---\ndescription: {json.dumps(prompt.description)}\nargument-hint: {json.dumps(hint)}\n---\n\n{FILLED_IN}\n\n{text}\n"


def _written(content: Mapping[str, object]) -> str:
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def write(folder: Path = FOLDER) -> None:
    """Write the marketplace into a folder, without the commands of prompts that no longer exist."""
    written = contents()
    for old in folder.glob(f"{NAME}/commands/*.md"):
        if str(old.relative_to(folder)) not in written:
            old.unlink()
    for name, text in written.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")


if __name__ == "__main__":
    write()
