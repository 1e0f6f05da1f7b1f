"""What protects from files, texts and values that a stranger may have made."""
