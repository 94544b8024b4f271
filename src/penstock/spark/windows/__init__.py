"""Windows with any function over a streaming or static DataFrame.

Reading order: `api` (what users write), `checks` (what is refused), `operator` (the definition that workers get),
`pack` (rows into blocks, before the shuffle), `groups` (which block goes to which task), `processor` (what a group does
in a batch of a stream), `static` (the same for a static DataFrame), `change` (B and n of a query that runs).
"""
