// What charts draw, and what they use of BokehJS, which brings no types along.

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

declare namespace Bokeh {
  interface Signal {
    connect(heard: (value?: unknown) => void): void;
  }

  interface Model {
    setv(values: Record<string, unknown>): void;
    properties: Record<string, { change: Signal }>;
  }

  type ModelClass<M> = new (values?: Record<string, unknown>) => M;

  interface Source extends Model {
    data: Record<string, ArrayLike<number | string>>;
  }

  interface Span extends Model {
    location: number;
    visible: boolean;
    line_color: string;
  }

  interface Ticker extends Model {
    desired_num_ticks: number;
  }

  interface Axis extends Model {
    ticker: Ticker;
    minor_tick_line_color: string;
    major_tick_line_color: string;
    axis_line_color: string;
    major_label_text_color: string;
    major_label_text_font: string;
    major_label_text_font_size: string;
  }

  interface Grid extends Model {
    grid_line_color: string;
  }

  interface Glyph extends Model {
    line_color: string;
    line_width: number;
    fill_color: string;
    size: number;
  }

  interface Renderer extends Model {
    glyph: Glyph;
    visible: boolean;
  }

  interface Plot extends Model {
    x_range: Charts.Range & Model;
    y_range: Charts.Range & Model;
    height: number;
    min_border_right: number;
    add_layout(part: Model, side?: string): void;
    add_renderers(part: Model): void;
  }

  type DrawGlyph = (options: { source: Source } & Record<string, unknown>) => Renderer;

  /** What plotting.js makes. */
  interface Figure extends Plot {
    xaxes: Axis[];
    yaxes: Axis[];
    xgrids: Grid[];
    ygrids: Grid[];
    line: DrawGlyph;
    scatter: DrawGlyph;
    varea: DrawGlyph;
  }

  interface View {
    frame?: { bbox?: Charts.Box };
    export(kind: "png"): { canvas: HTMLCanvasElement };
    repaint(): void;
  }

  interface BokehDocument {
    add_root(plot: Model): void;
    is_idle: boolean;
    idle: Signal;
  }

  interface Models {
    ColumnDataSource: Source;
    Figure: Plot;
    GlyphRenderer: Renderer;
    Grid: Grid;
    Line: Glyph;
    LinearAxis: Axis;
    LinearScale: Model;
    Range1d: Charts.Range & Model;
    Scatter: Glyph;
    Span: Span;
    VArea: Glyph;
  }

  /** BokehJS as its one file leaves it, with what plotting.js adds. */
  interface Library {
    Models: { get<N extends keyof Models>(name: N): ModelClass<Models[N]> };
    require(name: "document"): { Document: new () => BokehDocument };
    embed: { add_document_standalone(whole: BokehDocument, element: HTMLElement): Promise<Iterable<View>> };
    ColumnDataSource?: ModelClass<Source>;
    Range1d?: ModelClass<Charts.Range & Model>;
    Span?: ModelClass<Span>;
    Plotting?: {
      figure(options: Record<string, unknown>): Figure;
      show(plot: Figure, element: HTMLElement): Promise<View>;
    };
  }
}

interface Window {
  Bokeh?: Bokeh.Library;
}
