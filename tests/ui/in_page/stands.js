// what has the focus, also inside a shadow root: its name, whether one sees that it has it, and whether something hides it
(wanted) => {
    let node = document.activeElement;
    while (node.shadowRoot?.activeElement) node = node.shadowRoot.activeElement;
    const label = node.labels?.[0] ?? document.getElementById(node.getAttribute("aria-labelledby"));
    const name = node.getAttribute("aria-label") || label?.textContent || node.textContent || node.title || "";
    const { left, top, width, height } = node.getBoundingClientRect();
    const style = getComputedStyle(node);
    const [x, y] = [left + width / 2, top + height / 2];
    const above = document.elementFromPoint(x, y);
    return {
        what: `${node.tagName} ${node.id} ${node.className} ${name.trim().slice(0, 40)}`,
        there: node === wanted,
        name: node !== document.body && name.trim(),
        ring: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2 && width > 8,
        seen: Boolean(above) && [node, node.labels?.[0]].some((part) => part?.contains(above) || above.contains(part)),
    };
}
