"""Tables of a round that people fill in: their columns, workbooks, and how they are read."""
