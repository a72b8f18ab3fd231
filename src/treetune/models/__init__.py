"""Scoring and search behind one contract; see `base`."""
