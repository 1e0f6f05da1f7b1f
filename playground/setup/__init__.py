"""What can be picked, what of it is there, what it needs, and what each mode allows."""
