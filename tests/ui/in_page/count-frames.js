// how many frames a page asks for, from its beginning on
window.frames_asked = 0;
{
  const frame = window.requestAnimationFrame.bind(window);
  window.requestAnimationFrame = (call) => {
    window.frames_asked += 1;
    return frame(call);
  };
}
