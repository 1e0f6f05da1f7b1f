// Types that several scripts share and that are no payloads: those are in wire.d.ts.

declare namespace Page {
  /** What may stand in an element; null, undefined and "" stand for nothing. */
  type Child = Node | string | number | null | undefined | readonly Child[];

  type Named<Name> = Name extends keyof HTMLElementTagNameMap ? HTMLElementTagNameMap[Name] : HTMLElement;

  /** The element that is made of such as "td.figure". */
  type Made<What extends string> = What extends `${infer Name}.${string}` ? Named<Name> : Named<What>;

  /** Attributes of an element, and what it does when something happens to it or within. */
  type Attributes<Element = HTMLElement> = { [name: string]: unknown } & {
    [Name in keyof HTMLElementEventMap as `on${Name}`]?:
      ((event: HTMLElementEventMap[Name] & { readonly target: Element; readonly currentTarget: Element }) => void) | null;
  };

  /** What `showButtons` shows; `off`: it does nothing and says so. */
  interface Button {
    key?: string;
    text: Child;
    title?: string;
    kind?: string;
    off?: boolean;
    expanded?: boolean;
    act: () => unknown;
  }

  /** The status of the run in view; a recording that is played says so. */
  type Status = Omit<Wire.Status, "state"> & { state: Wire.Status["state"] | "recorded" };

  /** What Gradio gives a part of the page (core/mount.js). */
  interface Tools {
    trigger: (event: "input" | "apply" | "submit" | "focus") => void;
    watch: (name: "value" | "choices", heard: () => void) => void;
    server: Server;
  }

  /** The functions of the server that a part may call. */
  type Server = { [Name in keyof Wire.ServerAnswers]: (asked?: unknown) => Promise<Wire.ServerAnswers[Name]> };
}

/** What parts of the page ask of each other. */
interface DocumentEventMap {
  "playground-use-settings": CustomEvent<{
    run?: string; preset?: string; changes?: Record<string, unknown>; start?: boolean }>;
  "playground-use-preset": CustomEvent<string>;
}

/** The sentences of a language, made of lessons/languages/ (playground/ui/own_files.py). */
declare module "*/languages/es.js" {
  const sentences: [english: string, other: string][];
  export default sentences;
}
declare module "*/languages/zh.js" {
  const sentences: [english: string, other: string][];
  export default sentences;
}
