"""A store beyond this machine: signed records, trees in packs, on an OCI registry or as files on a web server.

    record    manifest `r-KEY` and `c-CONTENT-KEY`; its config is a list of DSSE envelopes, one for each builder
    tree      manifest `t-TREE`; its config is the store's manifest text, so its digest is the tree's; layers are packs
    pack      zstd of the contents of files one after the other; which files is computed from the manifest text

Nothing of a remote is trusted. A record counts if a key that the user trusts has signed it, and if it is about the key
that was asked for. It names the tree's digest, and the tree's manifest has the digest of every file. So whoever serves,
stores or carries the bytes can withhold outputs and cannot change one.

Whatever does not agree is a miss: the build makes the output itself and prints a warning. Nothing of a miss is kept.
After three wrong or missing answers a remote is not asked again in that run.
"""
