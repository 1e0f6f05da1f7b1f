"""The check of an exercise: five functions that a student has written, beside those of examples/minimal_rlhf.py."""
