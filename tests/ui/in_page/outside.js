// Which of the parts that a selector names are not wholly in the window, or have something above them.
(wanted) => Object.entries(wanted).flatMap(([selector, count]) => {
  const parts = [...document.querySelectorAll(selector)].filter((node) => node.checkVisibility());
  if (parts.length !== count) return [`${parts.length} of ${selector}`];
  return parts.filter((node) => {
    const { left, right, top, bottom, height } = node.getBoundingClientRect();
    const above = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
    return height < 8 || top < 0 || left < 0 || bottom > innerHeight || right > innerWidth
      || !(node.contains(above) || above?.contains(node));
  }).map((node) => `${selector}, ${node.textContent.slice(0, 30)}`);
})
