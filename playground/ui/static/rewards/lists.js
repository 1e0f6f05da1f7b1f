// The reward lists that are on the page now, by where they stand ("train", "judges", "workbench"), for parts that follow
// them without asking the server.

const lists = new Map();
const listeners = new Set();

/** Tell the list at a place. */
export function setRewards(place, rewards) {
  if (JSON.stringify(lists.get(place)) === JSON.stringify(rewards)) return;
  lists.set(place, rewards);
  for (const callback of listeners) callback(place, rewards);
}

/** The list at a place. */
export function rewardsAt(place) {
  return lists.get(place) ?? [];
}

/** Call back with (place, rewards) at every change. */
export function onRewards(callback) {
  listeners.add(callback);
}
