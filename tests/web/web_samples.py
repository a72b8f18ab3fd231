"""Queries of which the English model gets those wrong that begin with a verb that looks like a noun."""

from __future__ import annotations

# Each with the number of its main verb.
QUERIES = {
    "list fares Boston to Denver": 1,
    "list hotels in Cairo": 1,
    "list trains Paris to Rome": 1,
    "list cheap rooms in Lima": 1,
    "list museums in Oslo": 1,
    "mail invoice to Dallas office": 1,
    "mail report to Rome office": 1,
    "mail photos to Anna": 1,
    "mail tickets to Peter": 1,
    "water roses daily": 1,
    "water plants tonight": 1,
    "google bars in Rome": 1,
    "google hotels in Quito": 1,
    "google trains to Vienna": 1,
    "does flight 117 to Lima serve lunch": 6,
    "which airlines fly Oslo to Paris daily": 3,
    "do you want to leave today": 3,
    "when does the train to Rome arrive": 7,
    "who sells tickets to Cairo": 2,
    "can you find a room in Quito": 3,
}
NEW_QUERY, NEW_ROOT = "list restaurants in Rome", "list"
