"""The class on the page: a light page for phones, the host's desk and the screen in front, without Gradio."""
