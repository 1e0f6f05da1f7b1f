// Rules for the page's scripts and their tests: ESLint's recommended ones, and a few of ours. Run by `make lint`.

import js from "@eslint/js";

const MARKUP = "Text of models and users reaches the page through text nodes only: use el() and setText() of "
  + "core/dom.js.";
const browser = Object.fromEntries([
  "addEventListener", "AbortController", "AbortSignal", "Blob", "clearInterval", "clearTimeout", "crypto", "CSS",
  "CustomEvent", "document", "Event", "EventSource", "fetch", "FocusEvent", "getComputedStyle", "getSelection",
  "history", "HTMLElement", "Image", "innerHeight", "innerWidth", "KeyboardEvent", "localStorage", "location", "matchMedia",
  "MouseEvent", "MutationObserver", "navigator", "atob", "DecompressionStream", "Response", "structuredClone",
  "Node", "performance", "queueMicrotask", "requestAnimationFrame", "IntersectionObserver", "ResizeObserver",
  "scrollTo", "setInterval", "setTimeout", "TextDecoder", "TextEncoder", "URL", "URLSearchParams", "window", "XMLSerializer",
].map((name) => [name, "readonly"]));

export default [
  js.configs.recommended,
  {
    files: ["playground/ui/static/**/*.js"],
    languageOptions: { ecmaVersion: 2023, sourceType: "module", globals: browser },
  },
  {
    files: ["tests/js/**/*.js"],
    languageOptions: { ecmaVersion: 2023, sourceType: "module",
      globals: { AbortSignal: "readonly", URL: "readonly", setImmediate: "readonly", setTimeout: "readonly" } },
  },
  {
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      "eqeqeq": "error",
      "max-len": ["error", { code: 120 }],
      "max-lines-per-function": ["error", { max: 50 }],
      "max-params": ["error", { max: 7 }],
      "no-duplicate-imports": "error",
      "no-implied-eval": "error",
      "no-new-func": "error",
      "no-eval": "error",
      "no-shadow-restricted-names": "error",
      "no-unused-vars": ["error", { args: "after-used" }],
      "no-var": "error",
      "prefer-const": ["error", { destructuring: "all" }],
      "no-restricted-properties": ["error",
        ...["innerHTML", "outerHTML", "insertAdjacentHTML", "srcdoc"].map(
          (property) => ({ property, message: MARKUP })),
        { object: "document", property: "write", message: MARKUP },
        { object: "document", property: "writeln", message: MARKUP },
      ],
    },
  },
];
