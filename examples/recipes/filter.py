"""Filter: every TODO in the notes, with where it stands. Whole files are read here and none of them comes back."""
import asyncio
import re

from servers.files import read_text_file, search_files

found = await search_files(path="notes", pattern="*.md")
paths = sorted(found["content"].splitlines())
texts = await asyncio.gather(*(read_text_file(path=path) for path in paths))

result = [
    {"note": path.rsplit("/", 1)[-1], "todo": todo}
    for path, text in zip(paths, texts)
    for todo in re.findall(r"TODO: ([^.]+)\.", text["content"])
]
