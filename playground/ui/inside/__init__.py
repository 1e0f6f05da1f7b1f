"""Views into a model and its training: what is recorded beside the curves, as plain data for the page."""
