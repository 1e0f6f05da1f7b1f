// The leash that was turned to on the first page; `asked`: the nearest one whose model can be asked.

import { signal } from "../core/signals.js";

export const turned = signal(/** @type {{ beta: number, asked: number } | null} */ (null));

/** Whether the model that was trained at it is being asked. */
export const asking = signal(false);
