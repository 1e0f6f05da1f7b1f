// What reaches beyond the right edge, and makes the page scroll sideways: the innermost of it.
() => {
  const page = document.documentElement;
  if (page.scrollWidth <= innerWidth) return [];
  const beyond = [...document.body.querySelectorAll("*")].filter((node) => node.checkVisibility()
    && node.getBoundingClientRect().right > innerWidth + 0.5);
  const innermost = beyond.filter((node) => !beyond.some((other) => other !== node && node.contains(other)));
  return [`scrolls sideways: ${page.scrollWidth} px`, ...innermost.slice(0, 5).map((node) =>
    `sticks out: ${node.localName}.${node.getAttribute("class")}, ${node.textContent.trim().slice(0, 40)}`)];
}
