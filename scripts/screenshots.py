"""Screenshots of the page: of a small library, made for them, with the first books and the notes of the demo.

    python -m scripts.screenshots FOLDER [--readme]

The pages go into FOLDER. With ``--readme`` those that README and docs/page.md show go to docs/images as well.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tests.support.browser import browser, watched
from tests.support.commands import ROOT
from tests.support.libraries import make_table
from tests.support.serving import http_server

if TYPE_CHECKING:
    from playwright.sync_api import Browser

IMAGES = ROOT / "docs" / "images"

MOST_BYTES = 150_000
"""Size of an image of README."""

COLOURS = 128
"""In an image of README: text on one ground needs no more."""

WIDE, PHONE = (1300, 800), (390, 780)

SRD = "lore://{}/srd-2014/{}"


@dataclass(frozen=True)
class Shot:
    """One screenshot.

    Attributes:
        name: of its file, without the ending.
        path: of the page.
        theme: which the browser prefers.
        size: of the screen, in CSS pixels.
        acts: what is done before it is taken: a selector, and the text that is entered there, "" for a click.
        readme: name of its copy for README, "" for none.
    """

    name: str
    path: str
    theme: Literal["light", "dark"] = "light"
    size: tuple[int, int] = WIDE
    acts: tuple[tuple[str, str], ...] = ()
    readme: str = ""


GLOWMAW = "&open=lore://notes/drowned-bells/Bestiary%2FGlowmaw.md"

FIGHT = (
    ("#monsters", "4 glowmaws"),
    ("#hero", "Sister Odo"),
    ("[aria-label='Initiative of Sister Odo']", "25"),
    ("#roll-order", ""),
    ("#next-turn", ""),
    ("[aria-label='Damage or healing of Glowmaw 2']", "31"),
)

SHOTS = (
    Shot("search", f"/?q=type:creature+cr:4{GLOWMAW}", readme="list"),
    Shot("note", "/?q=maudlin&open=lore://notes/drowned-bells/NPCs%2FMaudlin%20Fetch.md", "dark", readme="note"),
    Shot("creature", f"/?q=type:creature+dragon&open={SRD.format('creatures', 'adult-red-dragon')}", "dark"),
    Shot("filters", "/?q=level<=3 class:wizard ritual"),
    Shot("class", "/entries/character_options/srd-2014/wizard"),
    Shot("shelf", "/books"),
    Shot("book", "/books/srd-2014", "dark"),
    Shot("desk", "/", readme="desk"),
    Shot("fight", "/fight", "dark", acts=FIGHT, readme="fight"),
    Shot("help", "/", acts=(("#keys-button", ""),)),
    Shot("phone-search", "/?q=undead", size=PHONE),
    Shot(
        "phone-filters", "/?q=type:creature", size=PHONE, acts=(("#facets button.chip >> nth=1", ""),), readme="filters"
    ),
    Shot("phone-entry", f"/?q=glowmaw{GLOWMAW}", "dark", PHONE, readme="phone"),
)
"""README and docs show the notes of the demo, lists and a fight: no picture there has the text of a book."""


def take(shot: Shot, chromium: Browser, origin: str, folder: Path) -> Path:
    """Take a screenshot; the file that it is in. AssertionError if anything goes wrong on the page."""
    width, height = shot.size
    phone = shot.size == PHONE
    with watched(
        chromium,
        origin,
        viewport={"width": width, "height": height},
        color_scheme=shot.theme,
        is_mobile=phone,
        has_touch=phone,
        device_scale_factor=1.5 if phone else 1,
    ) as window:
        window.page.goto(shot.path, wait_until="networkidle")
        for selector, text in shot.acts:
            place = window.page.locator(selector)
            if text:
                place.fill(text)
                place.press("Enter")
            else:
                place.click()
            window.page.wait_for_load_state("networkidle")
        file = folder / f"{shot.name}.png"
        window.page.screenshot(path=file, animations="disabled", caret="hide")
    return file


def compressed(file: Path, copy: Path) -> Path:
    """A copy of an image with few colours; where it is."""
    from PIL import Image

    with Image.open(file) as image:
        image.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(copy, optimize=True)
    return copy


def main() -> int:
    """Take all of them; exit status 1 if one for README is too large."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--readme", action="store_true", help="renew docs/images too")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    too_large = []
    with tempfile.TemporaryDirectory() as made, browser() as chromium:
        make_table(Path(made))
        with http_server(Path(made)) as address:
            for shot in SHOTS:
                file = take(shot, chromium, address.removesuffix("/mcp"), arguments.folder)
                print(f"{file}  {file.stat().st_size / 1000:.0f} kB")
                if arguments.readme and shot.readme:
                    IMAGES.mkdir(exist_ok=True)
                    small = compressed(file, IMAGES / f"{shot.readme}.png")
                    too_large += [small] if small.stat().st_size > MOST_BYTES else []
    for file in too_large:
        print(f"{file} has more than {MOST_BYTES:,} bytes, too many for README", file=sys.stderr)
    return 1 if too_large else 0


if __name__ == "__main__":
    sys.exit(main())
