// What the parts that Gradio mounts have in common: their value, and how Gradio hears of another one.

export class Widget {
  /** `props` holds the value; `server` the functions that may be called, where there are any. */
  constructor(props, { trigger, server = null }) {
    this.props = props;
    this.trigger = trigger;
    this.server = server;
  }

  /** The value as a list; empty while it is something else. */
  current() {
    return Array.isArray(this.props.value) ? this.props.value : [];
  }

  /** Another value, of which Gradio hears by an event. */
  give(value, event = "input") {
    this.props.value = value;
    this.trigger(event);
  }
}
