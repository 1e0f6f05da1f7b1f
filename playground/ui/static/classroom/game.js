// Another branch writes this one.

import { el } from "../core/dom.js";

/** @param {Wire.ClassStep} step @param {import("./kinds.js").StudentTools} tools */
export function student(step, tools) {
  return { title: "The class", parts: [el("p", tools ? step.kind : "")] };
}

/** @param {Wire.ClassStep} step @param {Wire.ClassDesk} front */
export function screen(step, front) {
  return [el("p", front ? step.kind : "")];
}

/** @param {Wire.ClassDesk} front @param {import("./kinds.js").DeskTools} tools */
export function desk(front, tools) {
  return [el("p", tools ? front.step.kind : "")];
}

/** @param {import("./kinds.js").DeskTools} tools */
export function offer(tools) {
  return el("div", tools ? "" : null);
}
