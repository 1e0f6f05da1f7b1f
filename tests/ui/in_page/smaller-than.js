// Of all text that can be seen, what is smaller than a number of pixels, or lies outside of the window.
least => [...document.querySelectorAll("body *")].filter((node) => {
  const text = [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim());
  const box = node.getBoundingClientRect();
  return text && box.width > 1 && box.height > 1 && getComputedStyle(node).visibility === "visible"
    && parseFloat(getComputedStyle(node).fontSize) < least;
}).map((node) => `${node.tagName}.${node.className}: ${node.textContent.slice(0, 40)}`)
