"""Settings that all tests share."""

from hypothesis import settings

# The same examples in each run; a timing is never a test, and the first call compiles.
settings.register_profile("usual", deadline=None, derandomize=True, max_examples=100)
settings.register_profile("more", deadline=None, max_examples=1000)
settings.load_profile("usual")
