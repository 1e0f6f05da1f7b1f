// Of each of the two curves: by how many pixels its picture is larger or smaller than its place, and by how many a mark
// or a flag misses where the axis of the picture has the update that it stands for.
update => [...Bokeh.index].filter((view) => view.el.checkVisibility()).flatMap((view) => {
  const stage = view.el.closest(".stage");
  const plot = stage?.closest('[data-chart="score"], [data-chart="kl"]');
  if (!plot || !view.frame?.x_scale) return [];
  const at = view.frame.x_scale.compute(update);
  const signs = [...plot.querySelectorAll(".edit-mark, .flag.checkpoint")];
  const misses = signs.map((sign) => Math.abs(parseFloat(sign.style.left) - at));
  return [{ misses, lacks: Math.max(Math.abs(stage.clientWidth - view.bbox.width),
    Math.abs(stage.clientHeight - view.bbox.height)) }];
})
