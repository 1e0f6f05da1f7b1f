// where the parts of the form stand
() => Object.fromEntries([...document.querySelectorAll("#controls [id]:not([id^=html-])")]
    .filter((part) => part.offsetHeight).map((part) => [part.id, part.getBoundingClientRect().top]))
