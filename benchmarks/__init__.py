"""Benchmarks: seeded data, the floor of only reading it, and the evaluation, in one run."""
