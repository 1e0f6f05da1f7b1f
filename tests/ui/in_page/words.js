// words of a part of the page that one can see, without those of menus
part => [...part.querySelectorAll("*")].filter((node) => node.offsetParent && !node.closest("select"))
    .flatMap((node) => [...node.childNodes]).filter((node) => node.nodeType === 3)
    .flatMap((node) => node.data.split(/\s+/)).filter((word) => /\w/.test(word)).length
