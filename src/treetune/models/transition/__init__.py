"""The arc-eager parser: system, search, constraints, learner."""
