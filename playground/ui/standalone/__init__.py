"""Pages that need no server: a page of recordings as files, and one run as a file."""
