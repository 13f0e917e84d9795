"""Benchmarks: suites as data, models built here, every sample from a fresh process, results as one value."""
