"""treetune: dependency parsers and taggers, trained for the task that uses them."""

__version__ = "0.1.0"
