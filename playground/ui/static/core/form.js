// What the form knows besides its values: the preset's values (`marks`) and the problems. Controls in a closed group
// are not in the document, so whoever appears later reads here.

import { signal } from "./signals.js";

export const form = signal({ marks: {}, problems: [] });
