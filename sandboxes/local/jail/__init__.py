"""What runs on the other side: the interpreter server, from launcher to jailed program.

These modules are run by the bare base interpreter, without the rest of the package: they import the
standard library and each other only, and stay small because every program is a fork of them.
"""
