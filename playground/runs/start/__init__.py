"""Starting workers: the launcher and its queue, a worker that waits, what ends with the server."""
