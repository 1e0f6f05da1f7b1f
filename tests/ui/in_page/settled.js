// What was asked for has been drawn, and the colours of another theme have faded in.
new Promise((done) => requestAnimationFrame(() => setTimeout(done)))
    .then(() => Promise.allSettled(document.getAnimations().map(({ finished }) => finished)))
