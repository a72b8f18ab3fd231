"""How weights move: which example when."""
