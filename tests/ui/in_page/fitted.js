// Whether the curves are as high as their places, in a window of another height too.
() => [...document.querySelectorAll(".charts-first .stage")].every((stage) =>
  stage.querySelector(".curves")?.getBoundingClientRect().height === stage.clientHeight)
