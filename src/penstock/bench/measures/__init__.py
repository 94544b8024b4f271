"""`make bench`: what Penstock costs and gains on this machine."""
