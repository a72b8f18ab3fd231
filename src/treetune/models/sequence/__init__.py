"""Linear-chain sequence models: sentences to one tag a word."""
