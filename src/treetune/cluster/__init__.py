"""Jobs on several machines, by Ray: files to parsed shards, rows of a Ray Dataset to parsed rows.

Only `session` and `pool` know of Ray; what a worker does is plain Python and is tested without it.
"""

from treetune.cluster.batches import Parse

__all__ = ["Parse"]
