"""Sentences to numbers: columns, feature templates, hashing."""
