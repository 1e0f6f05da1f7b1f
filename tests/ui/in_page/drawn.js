// All that changes in a board: curves, point and slope, counts, texts.
part => {
  const seen = (what) => [...part.querySelectorAll(what)].filter((node) => node.checkVisibility())
    .map((node) => node.outerHTML);
  const words = (what) => part.querySelector(what).innerText;
  return {
    curves: seen("polyline.now"), slope: seen("polyline.slope"), point: seen("circle.here"),
    counts: words(".board-counts"), texts: words(".board-texts"), sentence: words(".board-sentence"),
  };
}
