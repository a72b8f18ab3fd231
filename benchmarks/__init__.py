"""Accuracy, speed, memory and size of treetune's models, beside UDPipe 1 and spaCy in the same run."""
