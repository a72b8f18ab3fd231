"""Arc filters: which arcs of a sentence a graph parser need consider (Cherry & Bergsma 2012)."""
