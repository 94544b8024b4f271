"""Ferret: search by similarity in a collection of images.

Reading order: `scenes` (what images are of), `input` (queries, the collection, the truth), `regions` (segmentation and
features), `lsh` (which images have regions alike), `collection` (the index), `emd` (how far two images are apart),
`stages`, `app`.
"""
