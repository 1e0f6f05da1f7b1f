// an arrow key that is held down on a slider
slider => {
  for (let times = 0; times < 12; times += 1) {
    slider.stepDown();
    for (const name of ["input", "change"]) slider.dispatchEvent(new Event(name));
  }
}
