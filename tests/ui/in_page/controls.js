// controls of a part of the page that one can see
part => [...part.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex='0']")]
    .filter((control) => control.offsetParent).map((control) => control.id || control.className)
