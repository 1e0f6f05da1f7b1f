"""What can be picked, what of it is available, what it needs, and what each mode allows."""
