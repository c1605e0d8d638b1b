"""`make demo-cluster`: replicas over one PostgreSQL, any of which may be killed; not packaged.

`front` is the reverse proxy before them, which the proofs of replicas use too.
"""
