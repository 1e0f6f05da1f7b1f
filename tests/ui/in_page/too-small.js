// What one can touch and is less than 24 pixels high or wide. A link in a sentence may be, as may a box in its label.
() => {
  const CONTROLS = "a[href], button, input, select, textarea, summary, label:has(input), [role=slider], [tabindex='0']";
  const ofSentence = (node) => node.matches("a") && getComputedStyle(node).display === "inline"
    && [...node.parentElement.childNodes].some((part) => part.nodeType === 3 && part.data.trim());
  return [...document.querySelectorAll(CONTROLS)].filter((node) => {
    const { width, height } = (node.closest("label") ?? node).getBoundingClientRect();
    return node.checkVisibility({ visibilityProperty: true }) && !node.closest(".visually-hidden, .skip-link, [inert]")
      && width > 1 && height > 1 && (width < 23.5 || height < 23.5) && !ofSentence(node);
  }).map((node) => {
    const { width, height } = node.getBoundingClientRect();
    const name = node.getAttribute("aria-label") || node.textContent.trim() || node.id;
    return `too small: ${node.localName}.${node.getAttribute("class")}, ${name.slice(0, 40)}: ${width} x ${height}`;
  });
}
