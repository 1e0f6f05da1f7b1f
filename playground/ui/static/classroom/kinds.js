// The kinds of steps. Each has a module of its own, with what a phone shows of such a step (`student`), what the screen
// in front shows (`screen`), what the host does while it is on (`desk`), and how the host begins one (`offer`).

import * as game from "./game.js";
import * as question from "./question.js";
import * as vote from "./vote.js";

/**
 * @typedef {{ step: Wire.ClassStep, answer: (item: number, value: unknown) => void,
 *   sent: (item: number) => import("./sending.js").Sent | null }} StudentTools
 * `answer` keeps one, sends it, and says on the page what has become of it; `sent`: what that is, heard by effects
 * @typedef {{ lead: (asked: { do: string, [field: string]: unknown }) => Promise<Wire.ClassLed>,
 *   lessons: { value: Wire.Course[] }, front: { value: Wire.ClassDesk | null } }} DeskTools
 * @typedef {{ student: (step: Wire.ClassStep, tools: StudentTools) => { title: string, parts: Node[] },
 *   screen: (step: Wire.ClassStep, front: Wire.ClassDesk) => Node[],
 *   desk: (front: Wire.ClassDesk, tools: DeskTools) => Node[], offer: (tools: DeskTools) => HTMLElement }} Kind
 */

/** @type {Record<Wire.ClassStep["kind"], Kind>} */
export const KINDS = { question, vote, game };
