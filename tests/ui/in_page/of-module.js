// What a function of a module of the page and an argument return. A promise that is only waited for from outside the page
// may be collected before it is settled ("Resulting promise was garbage collected"): the page holds this one.
argument => {
  const asked = globalThis.asked = {};
  asked.promise = import("ADDRESS").then((m) => (ACT)(m, argument))
    .then((value) => { asked.answer = { value }; })
    .catch((error) => { asked.answer = { error: `${error}` }; });
}
