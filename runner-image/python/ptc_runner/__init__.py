"""The Python runner, which every sandbox for Python programs runs. It is not trusted: the program shares its process."""
