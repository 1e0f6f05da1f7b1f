// BokehJS is fetched long after it was asked for.
(() => {
    const set = Element.prototype.setAttribute;
    HTMLScriptElement.prototype.setAttribute = function (name, value) {
        const late = name === "src" && /\/bokeh\//.test(value) ? MILLISECONDS : 0;
        if (late) setTimeout(() => set.call(this, name, value), late);
        else set.call(this, name, value);
    };
})()
