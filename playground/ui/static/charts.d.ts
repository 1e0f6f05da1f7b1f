// What charts draw.

declare namespace Charts {
  /** Columns by name. What is not known is null; it is NaN once it is drawn. */
  type Columns = Record<string, number[]>;

  /** What a chart must know of a run. */
  type Run = Pick<Wire.Run, "unit"> & Partial<Pick<Wire.Run, "id" | "title" | "adaptive" | "target" | "terms">
    & Pick<Wire.Status, "ended">>;

  /** A chart of specs.js, line_specs.js or frontier_chart.js; `lines` and what follows it is for those with several. */
  interface Spec {
    key: string;
    title: string;
    gloss: string;
    span: number;
    column?: string;
    band?: string[];
    colour?: string;
    large?: boolean;
    first?: boolean;
    tested?: "score" | "kl";
    compared?: boolean;
    zero?: boolean;
    exact?: boolean;
    floor?: boolean;
    sparse?: boolean;
    /** The column without which this chart says nothing. */
    needs?: string;
    whole?: number[];
    unit(run: Run): string;
    note(run: Run): string;
    remark?(value: number, low?: number, high?: number): string;
    guide?(run: Run, live?: { text: Wire.TextPerplexity[] }): Guide | null;
    /** What to draw of what the server has said; each kind of chart knows which part of it it takes. */
    lines?(data: unknown, xColumn: string, weight: number): Series[];
    words?(data: unknown): Partial<Wire.Verdict>[];
    turns?(data: unknown): Wire.Turn[];
    total?(values: number[], lines: Series[]): number;
    totalName?: string;
    gap?(lines: Series[]): { x: Float64Array; low: Float64Array; high: Float64Array } | null;
    plain?: boolean;
    most?: number;
    room?: number;
  }

  /** An entry of specs.js as it is written: words where they do not depend on the run. */
  type WrittenSpec = Omit<Spec, "unit" | "note"> & { unit?: string | Spec["unit"]; note: string | Spec["note"] };

  /** A level across a chart. */
  interface Guide {
    value: number;
    label: string;
  }

  /** How a line looks. */
  interface Look {
    colour?: string;
    dash?: number[];
    width?: number;
  }

  /** One line of a chart, and of which update each of its points is. */
  interface Series extends Look {
    x: Float64Array;
    raw: Float64Array;
    line: Float64Array;
    low?: Float64Array;
    high?: Float64Array;
    band?: Float64Array[];
    updates?: number[];
    label?: string;
    title?: string;
    told?: string;
    comparable?: boolean;
    path?: boolean;
    run?: Run;
  }

  /** A point of a line. */
  interface Point {
    line: Series;
    at: number;
  }

  /** What happened at an update. */
  type Flag = Pick<Wire.Event, "update" | "kind" | "message">;

  /** What was changed at an update. */
  interface Mark {
    number: number;
    update: number;
    messages: string[];
  }

  interface Range {
    start: number;
    end: number;
  }

  interface Box {
    left: number;
    top: number;
    width: number;
    height: number;
  }
}
