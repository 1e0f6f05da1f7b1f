"""Files of rows, and the prompts, dialogues and preference pairs in them."""
