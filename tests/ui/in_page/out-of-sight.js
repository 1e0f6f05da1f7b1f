// What is not wholly in the window, or has no size, of some parts; and whether the page could be scrolled.
parts => {
  const page = document.documentElement;
  const parted = [...document.querySelectorAll(parts)].filter((node) => {
    const box = node.getBoundingClientRect();
    return box.width < 2 || box.height < 2 || box.left < 0 || box.top < 0 || box.right > innerWidth
      || box.bottom > innerHeight;
  }).map((node) => `${node.tagName}.${node.className}`);
  if (page.scrollHeight > innerHeight || page.scrollWidth > innerWidth) parted.push("the page scrolls");
  return parted;
}
