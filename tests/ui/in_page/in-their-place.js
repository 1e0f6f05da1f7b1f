// Whether the pictures of both curves are as large as their places, and both a mark and a flag stand where the numbers
// along the foot of the picture have the update that they are for.
update => ["score", "kl"].map((name) => document.querySelector(`[data-chart="${name}"] .stage`)).every((stage) => {
  const box = stage.getBoundingClientRect();
  const picture = stage.querySelector(".curves").getBoundingClientRect();
  const numbers = [...stage.querySelectorAll('.curves text[text-anchor="middle"]')].map((text) => {
    const { left, width } = text.getBoundingClientRect();
    return { value: Number(text.textContent), at: left + width / 2 - box.left };
  });
  const [first, last] = [numbers[0], numbers.at(-1)];
  const at = first.at + ((update - first.value) / (last.value - first.value)) * (last.at - first.at);
  const misses = [...stage.querySelectorAll(".edit-mark, .flag.checkpoint")]
    .map((sign) => Math.abs(parseFloat(sign.style.left) - at));
  const lacks = Math.max(Math.abs(stage.clientWidth - picture.width), Math.abs(stage.clientHeight - picture.height));
  return lacks < 1.5 && misses.length === 2 && misses.every((pixels) => pixels < 1);
})
