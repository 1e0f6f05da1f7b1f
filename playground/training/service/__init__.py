"""The model service: a process that answers questions about models."""
