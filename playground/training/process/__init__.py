"""The worker's process: what it does, how it is stopped, how it ends and goes on."""
