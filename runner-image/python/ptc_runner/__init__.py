"""The Python runner: what a sandbox for Python programs runs. It is trusted with nothing: the program shares its process."""
