() => {
    const window = document.querySelector("dialog.rollout");
    return window.scrollWidth <= window.clientWidth && window.getBoundingClientRect().right <= innerWidth;
}
