"""The rungs of the ladder: each a function from a Climb to an Outcome."""
