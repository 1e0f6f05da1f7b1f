// What this page needs of BokehJS's plotting interface, over its models: a figure with two axes and a grid, its lines,
// bands and dots, and showing it. The library's own is a second file of 120 kB, with all else that it can do.

/** @param {Bokeh.Library} Bokeh as its one file leaves it; gets what the other would add */
export function addPlotting(Bokeh) {
  /** @template {keyof Bokeh.Models} N @param {N} name */
  const model = (name) => Bokeh.Models.get(name);
  const { Document } = Bokeh.require("document");
  Object.assign(Bokeh, { Range1d: model("Range1d"), Span: model("Span"), ColumnDataSource: model("ColumnDataSource") });

  function figure(/** @type {Record<string, unknown>} */ options) {
    const plot = new (model("Figure"))({ ...options, x_scale: new (model("LinearScale"))(),
      y_scale: new (model("LinearScale"))() });
    const [xAxis, yAxis] = ["below", "left"].map((side) => {
      const axis = new (model("LinearAxis"))();
      plot.add_layout(axis, side);
      return axis;
    });
    const [xGrid, yGrid] = [xAxis, yAxis].map(({ ticker }, dimension) => {
      const grid = new (model("Grid"))({ dimension, ticker });
      plot.add_layout(grid, "center");
      return grid;
    });
    /** @returns {Bokeh.DrawGlyph} */
    const glyph = (/** @type {"Line" | "Scatter" | "VArea"} */ name) => ({ source, ...options }) => {
      const renderer = new (model("GlyphRenderer"))({ data_source: source, glyph: new (model(name))(options) });
      plot.add_renderers(renderer);
      return renderer;
    };
    return Object.assign(plot, { xaxes: [xAxis], yaxes: [yAxis], xgrids: [xGrid], ygrids: [yGrid],
      line: glyph("Line"), scatter: glyph("Scatter"), varea: glyph("VArea") });
  }

  /** @param {Bokeh.Figure} plot @param {HTMLElement} element */
  async function show(plot, element) {
    const whole = new Document();
    whole.add_root(plot);
    const views = await Bokeh.embed.add_document_standalone(whole, element);
    if (!whole.is_idle) await new Promise((resolve) => whole.idle.connect(resolve));
    return [...views][0];
  }

  Bokeh.Plotting = { figure, show };
}
