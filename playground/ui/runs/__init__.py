"""The pages Runs and Compare."""
