"""Starting workers: the queue, who asked, processes that wait, what hangs on the server."""
