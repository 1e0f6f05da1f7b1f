"""The processes that compute one run together, one on each device."""
