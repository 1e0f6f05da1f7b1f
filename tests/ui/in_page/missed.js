// Of each of the two curves: by how many pixels its picture is larger or smaller than its place, and by how many a mark
// or a flag misses where the numbers along the foot of the picture have the update that it stands for.
update => ["score", "kl"].map((name) => document.querySelector(`[data-chart="${name}"] .stage`)).map((stage) => {
  const box = stage.getBoundingClientRect();
  const picture = stage.querySelector(".curves").getBoundingClientRect();
  const numbers = [...stage.querySelectorAll('.curves text[text-anchor="middle"]')].map((text) => {
    const { left, width } = text.getBoundingClientRect();
    return { value: Number(text.textContent), at: left + width / 2 - box.left };
  });
  const [first, last] = [numbers[0], numbers.at(-1)];
  const at = first.at + ((update - first.value) / (last.value - first.value)) * (last.at - first.at);
  const signs = [...stage.querySelectorAll(".edit-mark, .flag.checkpoint")];
  return { misses: signs.map((sign) => Math.abs(parseFloat(sign.style.left) - at)),
    lacks: Math.max(Math.abs(stage.clientWidth - picture.width), Math.abs(stage.clientHeight - picture.height)) };
})
