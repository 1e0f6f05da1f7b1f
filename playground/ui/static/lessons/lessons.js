// The list of lessons.

export function mount() {}
