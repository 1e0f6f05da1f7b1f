// What the form knows besides its values: the preset's values and the problems. Controls in a closed group are not in the
// document, so whoever appears later asks here.

const listeners = new Set();
export const formState = { marks: {}, problems: [] };

/** Call back now and whenever preset values or problems change. */
export function onForm(callback) {
  listeners.add(callback);
  callback(formState);
}

/** New preset values and problems. */
export function setForm(marks, problems) {
  Object.assign(formState, { marks, problems });
  for (const callback of listeners) callback(formState);
}
