"""The run directory: the only thing that the web process and the workers share. See docs/run-format.md."""
