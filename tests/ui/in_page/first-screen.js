// What one sees without scrolling: the name of each control, and each word but of the parts left out. A control is
// whatever takes the focus.
(leftOut) => {
  const CONTROLS = "a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0'], "
    + "[role=slider]";
  const shown = (node) => node.checkVisibility({ visibilityProperty: true, opacityProperty: true });
  const inView = ({ left, right, top, bottom, width, height }) => width > 0 && height > 0
    && top < innerHeight - 2 && bottom > 2 && left < innerWidth && right > 0;
  const clipped = ({ top, bottom }, node) => {
    for (let box = node; box !== document.body; box = box.parentElement) {
      const edges = box.getBoundingClientRect();
      const outside = top > edges.bottom - 4 || bottom < edges.top + 4;
      if (outside && getComputedStyle(box).overflowY !== "visible") return true;
    }
    return false;
  };
  const controls = [...document.querySelectorAll(CONTROLS)].filter((node) => shown(node)
    && inView(node.getBoundingClientRect()));
  const words = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const { currentNode: text } = texts;
    const parent = text.parentElement;
    if (parent.closest(`script, style, option, .visually-hidden, ${leftOut}`) || !shown(parent)) continue;
    for (const { 0: word, index } of text.data.matchAll(/\p{L}[\p{L}\p{M}'’-]*/gu)) {
      const range = document.createRange();
      range.setStart(text, index);
      range.setEnd(text, index + word.length);
      const place = range.getBoundingClientRect();
      if (inView(place) && !clipped(place, parent)) words.push(word);
    }
  }
  return { state: document.querySelector(".state strong")?.textContent, words, controls: controls.map((node) =>
    node.getAttribute("aria-label") || node.textContent.trim().slice(0, 24) || node.id) };
}
