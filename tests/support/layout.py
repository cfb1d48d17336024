"""Where things are on a page, measured in a real browser: boxes, what overlaps, and text that is cut."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from playwright.sync_api import Page

LIBRARY = """
window.layout = (() => {
  const shown = (it) => it.checkVisibility({ visibilityProperty: true, contentVisibilityAuto: true });
  const called = (it) => `<${it.localName}${it.id && "#" + it.id}${[...it.classList].map((each) => "." + each).join("")}> `
    + it.textContent.trim().replace(/\\s+/g, " ").slice(0, 50);
  // what only readers of the screen read, and what lies in a picture
  const measured = (it) => {
    const { width, height } = it.getBoundingClientRect();
    return shown(it) && !it.closest("svg") && width > 1 && height > 1;
  };
  const inFlow = (it) => {
    const { position, display } = getComputedStyle(it);
    return !["absolute", "fixed"].includes(position) && !["inline", "contents"].includes(display);
  };
  const meet = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1
    && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1;

  function overlaps() {
    const found = [];
    for (const parent of document.querySelectorAll("body, body *:not(svg, svg *)")) {
      const children = [...parent.children].filter((it) => measured(it) && inFlow(it));
      children.forEach((a, n) => children.slice(n + 1).forEach((b) => {
        // a box that goes on in the next column is several
        const both = [...a.getClientRects()].some((one) => [...b.getClientRects()].some((other) => meet(one, other)));
        if (both) found.push(`${called(a)} and ${called(b)}`);
      }));
    }
    return found;
  }

  const hasText = (it) => [...it.childNodes].some((each) => each.nodeType === Node.TEXT_NODE && each.data.trim());
  const scrolls = (it) => ["auto", "scroll"].includes(getComputedStyle(it).overflowX);

  function isWider(it, text) {  // than its place in a control, of which scrollWidth says nothing
    const pen = document.createElement("canvas").getContext("2d");
    const style = getComputedStyle(it);
    pen.font = style.font;
    const room = it.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
    return pen.measureText(text).width > room;
  }

  function isCut(it) {
    if (it.localName === "select") return isWider(it, it.selectedOptions[0]?.text ?? "");
    if (it.localName === "input") return isWider(it, it.value ? "" : it.placeholder);
    const { display, overflowX, overflowY, webkitLineClamp } = getComputedStyle(it);
    if (!hasText(it) || display === "inline" || scrolls(it)) return false;
    if (it.scrollWidth > it.clientWidth + 1) return true;
    return overflowY === "hidden" && webkitLineClamp === "none" && it.scrollHeight > it.clientHeight + 1;
  }

  function cut() {
    const found = [...document.querySelectorAll("body *")].filter((it) => measured(it) && isCut(it)).map(called);
    const root = document.documentElement;
    return root.scrollWidth > innerWidth ? [...found, `the document is ${root.scrollWidth} wide in ${innerWidth}`] : found;
  }

  return { overlaps, cut };
})();
"""
"""Runs in every document before its own scripts."""


class Box(NamedTuple):
    """Where an element is, in CSS pixels from the window's corner."""

    top: float
    bottom: float
    left: float
    right: float

    @property
    def height(self) -> float:
        return self.bottom - self.top


def box(page: Page, selector: str) -> Box:
    """The box of the first element that a selector finds."""
    found = page.locator(selector).first.evaluate(
        "it => { const b = it.getBoundingClientRect(); return [b.top, b.bottom, b.left, b.right]; }"
    )
    return Box(*found)


def problems(page: Page) -> list[str]:
    """Siblings that overlap, and text that is cut."""
    found: dict[str, Any] = page.evaluate("({ overlap: layout.overlaps(), cut: layout.cut() })")
    return [f"{kind}: {each}" for kind, several in found.items() for each in several]
