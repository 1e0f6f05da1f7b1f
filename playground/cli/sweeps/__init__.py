"""The command `sweep`: many runs that differ in a few settings, as one."""
