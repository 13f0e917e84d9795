"""The rungs of verification: each a function that returns a RungOutcome."""
