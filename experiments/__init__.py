"""Tables of the papers on open treebanks: one TOML file a table, one runner, one report generator."""
