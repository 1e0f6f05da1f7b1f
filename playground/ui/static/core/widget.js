// What the parts that Gradio mounts have in common: their value, and how Gradio hears of another one.

/** @template {{ value: unknown }} Props */
export class Widget {
  /**
   * `props` holds the value; `server` the functions that may be called, where there are any.
   * @param {Props} props @param {Page.Tools} page
   */
  constructor(props, { trigger, server = null }) {
    this.props = props;
    this.trigger = trigger;
    this.server = server;
  }

  /** The value as a list; empty while it is something else. */
  current() {
    return /** @type {Extract<Props["value"], unknown[]>} */ (Array.isArray(this.props.value) ? this.props.value : []);
  }

  /**
   * Another value, of which Gradio hears by an event.
   * @param {Props["value"]} value @param {"input" | "apply" | "submit"} event
   */
  give(value, event = "input") {
    this.props.value = value;
    this.trigger(event);
  }
}
