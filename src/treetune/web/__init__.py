"""The pages and the programming interface of ``treetune serve``; needs the extra ``web``."""
