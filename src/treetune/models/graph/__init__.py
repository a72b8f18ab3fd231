"""Graph-based parsing: exact search over arc scores, projective and not."""
