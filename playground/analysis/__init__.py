"""Records of a run -> findings that a person can read. Pure functions of records; no files, no page, no torch."""
