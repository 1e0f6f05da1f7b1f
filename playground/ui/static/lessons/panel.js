// The panel of a lesson, in the place of the form.

export function mount() {}
