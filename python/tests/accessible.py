"""Checks of a page for those who see poorly or not at all, measured in Chromium: names, structure, contrast (AA)."""

from typing import Any

from playwright.sync_api import Page

# Roles whose elements a screen reader announces by their name.
NAMED = {"button", "link", "image", "img", "combobox", "textbox", "checkbox", "region", "figure", "table", "navigation",
         "heading", "DisclosureTriangle", "columnheader", "rowheader"}  # fmt: skip
# Elements, headings and references that are wrong, a line each.
STRUCTURE = """() => {
    const wrong = [];
    const all = (selector) => [...document.querySelectorAll(selector)];
    const shown = (element) => element.outerHTML.slice(0, 120);
    if (!document.documentElement.lang) wrong.push("html has no lang");
    if (!document.title.trim()) wrong.push("no title");
    if (all("main").length !== 1) wrong.push("expected one main");
    if (all("h1").length !== 1) wrong.push("expected one h1");
    let level = 0;
    for (const heading of all("h1, h2, h3, h4")) {
        const own = Number(heading.tagName[1]);
        if (own > level + 1) wrong.push(`a level is left out: ${shown(heading)}`);
        level = own;
    }
    const ids = all("[id]").map((element) => element.id);
    const plain = ids.filter((id, at) => ids.indexOf(id) !== at && !document.getElementById(id).closest("svg"));
    wrong.push(...plain.map((id) => `id ${id} is there twice`));
    for (const name of ["aria-labelledby", "aria-describedby", "aria-controls"]) {
        for (const element of all(`[${name}]`)) {
            for (const id of element.getAttribute(name).split(/\\s+/)) {
                if (!document.getElementById(id)) wrong.push(`${name} names nothing: ${shown(element)}`);
            }
        }
    }
    wrong.push(...all("img:not([alt]), img[alt='']").map((image) => `picture without text: ${shown(image)}`));
    wrong.push(...all("th:not([scope])").map((head) => `heading of a table without scope: ${shown(head)}`));
    wrong.push(...all("[tabindex]").filter((one) => one.tabIndex > 0).map((one) => `order of tabs: ${shown(one)}`));
    const name = "[aria-label], [aria-labelledby], [aria-hidden=true]";
    wrong.push(...all("svg.main-svg").filter((svg) => !svg.closest(name))
        .map((svg) => `drawing without a name: ${shown(svg)}`));
    return wrong;
}"""
# Texts whose contrast with the colours behind them is below 4.5, or 3 where they are large.
CONTRAST = """() => {
    const parts = (colour) => {
        const found = colour.match(/[\\d.]+/g).map(Number);
        return found.length < 4 ? [...found.slice(0, 3), 1] : found;
    };
    const over = (front, back) => [0, 1, 2].map((at) => front[at] * front[3] + back[at] * (1 - front[3])).concat(1);
    const light = (colour) => colour.slice(0, 3).map((value) => value / 255)
        .map((value) => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4)
        .reduce((sum, value, at) => sum + value * [0.2126, 0.7152, 0.0722][at], 0.05);
    const behind = (element) => {
        const layers = [];
        for (let at = element; at; at = at.parentElement) {
            layers.push(parts(getComputedStyle(at).backgroundColor));
            if (layers.at(-1)[3] === 1) break;
        }
        const base = matchMedia("(prefers-color-scheme: dark)").matches ? [18, 18, 18, 1] : [255, 255, 255, 1];
        return layers.reverse().reduce((back, layer) => over(layer, back), base);
    };
    const wrong = [];
    const judge = (element, colour) => {
        const style = getComputedStyle(element), back = behind(element), front = over(parts(colour), back);
        const contrast = Math.max(light(front), light(back)) / Math.min(light(front), light(back));
        const size = parseFloat(style.fontSize);
        const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
        if (contrast < (large ? 3 : 4.5)) wrong.push(`${contrast.toFixed(2)}: ${element.outerHTML.slice(0, 120)}`);
    };
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        const element = node.parentElement;
        const skipped = !node.textContent.trim() || element.closest("script, style, svg, noscript");
        if (skipped || !element.checkVisibility({visibilityProperty: true})) continue;
        judge(element, getComputedStyle(element).color);
    }
    for (const text of document.querySelectorAll(".xtick text, .ytick text, .legendtext, .xtitle, .ytitle")) {
        judge(text, getComputedStyle(text).fill);
    }
    return wrong;
}"""


def without_names(page: Page) -> list[str]:
    """Elements that Chromium's accessibility tree, which screen readers get, has without a name."""
    session = page.context.new_cdp_session(page)
    nodes: list[dict[str, Any]] = session.send("Accessibility.getFullAXTree")["nodes"]
    session.detach()
    return [
        f"{role}: {node.get('properties', [])}"
        for node in nodes
        if not node["ignored"]
        and (role := node["role"]["value"]) in NAMED
        and not str(node.get("name", {}).get("value", "")).strip()
    ]


def offences(page: Page) -> dict[str, list[str]]:
    """All that is wrong with a page, by kind; nothing where there is nothing."""
    found = {
        "structure": page.evaluate(STRUCTURE),
        "names": without_names(page),
        "contrast": page.evaluate(CONTRAST),
    }
    return {kind: wrong for kind, wrong in found.items() if wrong}
