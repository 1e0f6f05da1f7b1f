// Pairs of texts that lie on each other. A line of a text is higher than its letters, so a quarter of it does not count;
// what stays in the window while the page scrolls (a header, a button) is compared with its own texts only.
() => {
  const lines = [];
  const layers = new Map([[null, null]]);
  const layerOf = (node) => {
    if (!layers.has(node)) layers.set(node, /fixed|sticky/.test(getComputedStyle(node).position) ? node
      : layerOf(node.parentElement));
    return layers.get(node);
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    const own = node.parentElement;
    if (!node.data.trim() || !own.checkVisibility({ visibilityProperty: true }) || own.closest(".visually-hidden"))
      continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const { left, right, top, bottom } of range.getClientRects()) {
      const spare = (bottom - top) / 8;
      const box = { left: left + 1, right: right - 1, top: top + spare, bottom: bottom - spare };
      for (let outer = own; outer; outer = outer.parentElement) {
        if (getComputedStyle(outer).overflow === "visible") continue;
        const edge = outer.getBoundingClientRect();
        box.left = Math.max(box.left, edge.left);
        box.right = Math.min(box.right, edge.right);
        box.top = Math.max(box.top, edge.top);
        box.bottom = Math.min(box.bottom, edge.bottom);
      }
      if (box.right > box.left && box.bottom > box.top) lines.push({ ...box, node, layer: layerOf(own) });
    }
  }
  const stages = [...document.querySelectorAll(".stage")].filter((stage) => stage.checkVisibility())
    .map((stage) => ({ node: stage, layer: layerOf(stage), ...stage.getBoundingClientRect().toJSON() }));
  const found = [];
  lines.forEach((one, index) => [...lines.slice(index + 1), ...stages].forEach((other) => {
    if (one.layer !== other.layer || other.node.contains(one.node) || one.node.parentElement.closest(".plot")) return;
    if (one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom)
      found.push(`${one.node.textContent.slice(0, 40)} | ${other.node.textContent.slice(0, 40)}`);
  }));
  return [...new Set(found)];
}
