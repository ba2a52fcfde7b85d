"""Large data: how slow is each page? A log of a thousand lines goes in, five lines come out."""
import re
from collections import defaultdict
from statistics import quantiles

from servers.files import read_text_file

times = defaultdict(list)
errors = 0
for line in read_text_file(path="access.txt")["content"].splitlines():
    _, _, path, status, took = line.split()
    times[path].append(int(re.sub(r"\D", "", took)))
    errors += status.startswith("5")

result = {
    "errors": errors,
    "p95_ms": {path: round(quantiles(each, n=20)[-1]) for path, each in sorted(times.items())},
}
