"""Published evaluations, run again, and the pages of results. A user at run time needs none of it."""
