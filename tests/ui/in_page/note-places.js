// Where parts of the page begin within something, at every frame: all places that each has had.
([within, ...parts]) => {
  window.places = {};
  (function look() {
    for (const part of parts) {
      const { top, height } = document.querySelector(`${within} ${part}`)?.getBoundingClientRect() ?? {};
      if (height) (window.places[part] ??= new Set()).add(Math.round(top + scrollY));
    }
    requestAnimationFrame(look);
  })();
}
