// Whether the pictures of both curves are as large as their places, and both a mark and a flag stand where the axis of the
// picture has the update that they are for.
update => {
  const plots = [...Bokeh.index].filter((view) => view.el.checkVisibility()).flatMap((view) => {
    const stage = view.el.closest(".stage");
    const plot = stage?.closest('[data-chart="score"], [data-chart="kl"]');
    if (!plot || !view.frame?.x_scale) return [];
    const at = view.frame.x_scale.compute(update);
    const signs = [...plot.querySelectorAll(".edit-mark, .flag.checkpoint")];
    const misses = signs.map((sign) => Math.abs(parseFloat(sign.style.left) - at));
    return [{ misses, lacks: Math.max(Math.abs(stage.clientWidth - view.bbox.width),
      Math.abs(stage.clientHeight - view.bbox.height)) }];
  });
  return plots.length === 2 && plots.every(({ misses, lacks }) => lacks < 1.5 && misses.length === 2
    && misses.every((pixels) => pixels < 1));
}
