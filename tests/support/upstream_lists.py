"""A `deps.txt` with every form of a row that the real ones have."""

DEPS_TXT = """\
#Name;Url;SHA1
#A heading of the file itself.
lib_a;https://github.com/one/lib_a/archive/refs/tags/20250512.0.zip;36EE53EB1466FB6E593FC5C286680DE31F8A494A
# commented_out;https://github.com/two/old/archive/1.zip;36ee53eb1466fb6e593fc5c286680de31f8a494b
eigen;https://gitlab.com/libeigen/eigen/-/archive/1d8b82b0740839c0de7f1242a3585e3390ff5f33/eigen-1d8b82b0740839c0de7f1242a3585e3390ff5f33.zip;5ea4d05e62d7f954a46b3213f9b2535bdd866803
lib-b-arm;https://gitlab.arm.com/three/lib-b/-/archive/v0.2.0/lib-b-v0.2.0.tar.gz;36ee53eb1466fb6e593fc5c286680de31f8a494c
lib_c;https://github.com/four/lib_c/releases/download/v1.3.1/lib_c-1.3.1.tar.xz;36ee53eb1466fb6e593fc5c286680de31f8a494d
protoc_linux_x64;https://github.com/five/protoc/releases/download/v21/protoc.zip;36ee53eb1466fb6e593fc5c286680de31f8a494e
google_nsync;https://github.com/six/nsync/archive/refs/tags/1.26.0.zip;36ee53eb1466fb6e593fc5c286680de31f8a494f
"""
