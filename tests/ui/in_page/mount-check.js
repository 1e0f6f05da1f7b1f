// what the report of a self-test looks like, drawn by its module
(module, report) => {
  const root = document.createElement("div");
  document.body.append(root);
  module.mount(root, { value: { state: "done", report } }, { watch: () => {} });
  return { text: root.innerText, images: root.querySelectorAll("img, b").length,
    special: [...root.querySelectorAll(".special")].map((node) => node.textContent),
    rows: [...root.querySelectorAll(".check-forms tbody tr")].map((row) => row.className) };
}
