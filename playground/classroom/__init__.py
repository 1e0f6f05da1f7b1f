"""A class: who is there, what it is asked, what it answers and votes. Knows no page and no gradio."""
