"""Text and files to objects and back."""
