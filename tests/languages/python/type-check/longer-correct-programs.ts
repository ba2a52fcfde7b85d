/** Longer programs in Python as models write them for data, which run: not one may be stopped. */
export const LONGER_CORRECT: readonly string[] = [
  `import asyncio
from collections import Counter, defaultdict
from servers.github import list_issues
repos = ["a", "b", "c"]
pages = await asyncio.gather(*(list_issues(owner="acme", repo=r, state="open") for r in repos))
by_label: defaultdict[str, list] = defaultdict(list)
for repo, issues in zip(repos, pages, strict=True):
    for issue in issues:
        for label in issue.get("labels", []):
            by_label[label["name"]].append((repo, issue["number"]))
counts = Counter({k: len(v) for k, v in by_label.items()})
result = {"top": counts.most_common(3)}`,
  `from servers import github
i = github.get_issue(owner="a", repo="b", issue_number=3)
print(f"{i['number']:>5} {i['title']!r}")
user = i.get("user")
print(user["login"] if user else "nobody")`,
  `import json, re, statistics as st
from datetime import datetime, timedelta, timezone
rows = [json.loads(line) for line in data["lines"].splitlines() if line.strip()]
now = datetime.now(timezone.utc)
recent = [r for r in rows if datetime.fromisoformat(r["at"]) > now - timedelta(days=7)]
values = [float(re.sub(r"[^\\d.]", "", r["price"])) for r in recent]
result = {"mean": st.fmean(values) if values else None, "n": len(values)}`,
  `async def all_pages(query: str):
    page = 1
    while True:
        got = await mcp__github__search_code(q=query, page=page)
        items = got.get("items") or []
        if not items:
            return
        for item in items:
            yield item
        page += 1

result = [item["path"] async for item in all_pages("todo") if item["path"].endswith(".py")][:50]`,
  `from servers.my_notes import list_notes, add_note
notes = list_notes(limit=10)["notes"]
titles = {n.get("title", "") for n in notes}
missing = [t for t in ("plan", "todo") if t not in titles]
if missing:
    add_note(notes=[{"title": t, "kind": "task"} for t in missing])
result = missing`,
  `try:
    await mcp__github__create_issue(title="x")
except ToolError as e:
    print(e.server, e.tool, e.message, e.retryable)
    if not e.retryable:
        raise
else:
    print("made")
finally:
    print("done")`,
  `import asyncio
from servers.github import get_issue

sem = asyncio.Semaphore(4)
async def one(n: int) -> dict | None:
    async with sem:
        for attempt in range(3):
            try:
                issue = await get_issue(owner="a", repo="b", issue_number=n)
                return {"n": n, "title": issue["title"]}
            except ToolError as error:
                if not error.retryable or attempt == 2:
                    return None
                await asyncio.sleep(0.1 * 2 ** attempt)

found = [x for x in await asyncio.gather(*map(one, range(20))) if x]
result = found`,
  `from dataclasses import dataclass, field, asdict
@dataclass(order=True)
class Row:
    score: float
    name: str = field(compare=False)
    tags: list[str] = field(default_factory=list, compare=False)
rows = sorted((Row(float(d["s"]), d["n"]) for d in data), reverse=True)
result = [asdict(r) for r in rows[:5]]`,
  `import csv, io
buf = io.StringIO()
w = csv.DictWriter(buf, fieldnames=["number", "title"], extrasaction="ignore")
w.writeheader()
for issue in mcp__github__list_issues(owner="a", repo="b", per_page=100):
    w.writerow(issue)
print(buf.getvalue())`,
  `issues = mcp__github__list_issues({"owner": "a", "repo": "b", "state": "all"})
match issues:
    case []:
        result = "none"
    case [{"title": title}]:
        result = title
    case [first, *rest]:
        result = [first["title"], len(rest)]
    case _:
        result = None`,
  `params = {"owner": "a", "repo": "b"}
if data.get("state"):
    params["state"] = data["state"]
result = len(mcp__github__list_issues(**params))`,
  `params = dict(owner="a", repo="b")
params.update(since="2024-01-01")
issues = mcp__github__list_issues(params)
[i["number"] for i in issues]`,
  `calls = [lambda n=n: mcp__github__get_issue(owner="a", repo="b", issue_number=n) for n in (1, 2, 3)]
out = parallel(calls, limit=2)
result = [o["title"] for o in out]`,
  `from functools import reduce, partial
from operator import itemgetter
import itertools as it
from servers.github import list_issues
f = partial(list_issues, owner="a", state="closed")
xs = f(repo="b") + f(repo="c")
xs.sort(key=itemgetter("created_at"))
groups = {k: len(list(g)) for k, g in it.groupby(xs, key=lambda x: x["created_at"][:7])}
result = reduce(lambda a, b: a | {b[0]: a.get(b[0], 0) + b[1]}, groups.items(), {})`,
  `import asyncio
from servers import github, my_notes
async def main():
    issues, notes = await asyncio.gather(github.list_issues(owner="a", repo="b"), my_notes.list_notes())
    return {"issues": len(issues), "notes": len(notes["notes"])}
result = asyncio.run(main())`,
  `async def main():
    async with asyncio.TaskGroup() as tg:
        a = tg.create_task(mcp__github__whoami())
        b = tg.create_task(mcp__my_notes__list_notes(limit=3))
    return a.result(), b.result()
import asyncio
x, y = await main()
result = {"me": x, "notes": len(y["notes"])}`,
  `call = call_tool("mcp__github__" + data["tool"], {"owner": "a", "repo": "b"})
print(call)`,
  `from typing import Any, TypedDict
class Issue(TypedDict):
    number: int
    title: str
def slim(raw: dict[str, Any]) -> Issue:
    return {"number": raw["number"], "title": raw["title"]}
result = [slim(i) for i in mcp__github__list_issues(owner="a", repo="b")]`,
  `total = 0
for page in range(1, 6):
    r = mcp__github__search_code(q="x", page=page)
    n = len(r["items"]) if isinstance(r, dict) and "items" in r else 0
    if n == 0:
        break
    total += n
print(total)`,
  `from servers.mail import send
send(from_="a@b.c", to=["x@y.z"], reply_to="n@o.p", priority=1)
send({"from": "a@b.c", "to": [], "reply-to": "z"})`,
  `from urllib.parse import urlparse, parse_qs
import hashlib, base64, textwrap
u = urlparse(data["url"])
q = {k: v[0] for k, v in parse_qs(u.query).items()}
print(textwrap.shorten(str(q), 40))
result = base64.b64encode(hashlib.sha256(u.geturl().encode()).digest()).decode()`,
  `import heapq
heap: list[tuple[int, str]] = []
for i in mcp__github__list_issues(owner="a", repo="b"):
    heapq.heappush(heap, (-i["comments"], i["title"]))
    if len(heap) > 10:
        heapq.heappop(heap)
result = heapq.nsmallest(3, heap)`,
  `global_state = {"n": 0}
def bump():
    global_state["n"] += 1
    return global_state["n"]
while (n := bump()) < 5:
    print(n, end=" ")
else:
    print("end")`,
  `import re
pat = re.compile(r"(?P<key>\\w+)=(?P<value>[^;]*)")
result = {m["key"]: m["value"] for m in pat.finditer(data if isinstance(data, str) else "a=1;b=2")}
m = pat.search("x=1")
print(m.group("key"))`,
  `from collections.abc import Iterable, Iterator
def chunks(xs: list[int], n: int) -> Iterator[list[int]]:
    for i in range(0, len(xs), n):
        yield xs[i:i + n]
for c in chunks(list(range(10)), 3):
    print(sum(c))`,
  `try:
    import numpy as np
    m = np.mean([1, 2])
except ImportError:
    np = None
    m = 1.5
result = float(m)`,
  `from contextlib import suppress, contextmanager
import time
@contextmanager
def timed(name):
    t = time.perf_counter()
    try:
        yield
    finally:
        print(name, time.perf_counter() - t >= 0)
with timed("x"), suppress(KeyError, ToolError):
    mcp__github__whoami()["nope"]`,
  `from enum import Enum
class Kind(str, Enum):
    MEMO = "memo"
    TASK = "task"
mcp__my_notes__add_note(notes=[{"title": "t", "kind": Kind.MEMO.value, "tags": ["a"]}])`,
  `kind = "memo" if data.get("m") else "task"
mcp__my_notes__add_note(notes=[{"title": "t", "kind": kind}])`,
  `note = {"title": "t", "kind": "memo"}
note["tags"] = ["x", "y"]
r = mcp__my_notes__add_note(notes=[note, *[{"title": str(i), "kind": "task"} for i in range(2)]])
r`,
  `state = "open"
for s in ["open", "closed"]:
    print(s, len(mcp__github__list_issues(owner="a", repo="b", state=s)))`,
  `issue = mcp__github__get_issue(owner="a", repo="b", issue_number=int("7"))
ident = issue["id"] if "id" in issue else 0
print(str(ident).zfill(4), issue["labels"][0]["name"].upper() if issue["labels"] else "-")`,
  `import asyncio
q: asyncio.Queue[int] = asyncio.Queue()
async def worker():
    while not q.empty():
        n = q.get_nowait()
        r = await mcp__github__get_issue(owner="a", repo="b", issue_number=n)
        emit({"n": n, "t": r["title"]})
        q.task_done()
for n in range(5):
    q.put_nowait(n)
await asyncio.gather(worker(), worker())
await q.join()`,
  `import asyncio
tasks = {asyncio.create_task(mcp__github__get_issue(owner="a", repo="b", issue_number=n)): n for n in range(3)}
for done in asyncio.as_completed(tasks):
    print((await done)["title"])
done, pending = await asyncio.wait(tasks)
print(len(done), len(pending))`,
  `import asyncio
try:
    r = await asyncio.wait_for(mcp__github__whoami(), timeout=5)
except (asyncio.TimeoutError, TimeoutError):
    r = None
result = r`,
  `results = await asyncio.gather(*[mcp__github__list_issues(owner="o", repo=r) for r in "abc"], return_exceptions=True)
ok = [r for r in results if not isinstance(r, BaseException)]
bad = [str(r) for r in results if isinstance(r, Exception)]
import asyncio
result = {"ok": len(ok), "bad": bad}`,
  `def outer(x):
    def inner(y):
        nonlocal x
        x += y
        return x
    return inner
f = outer(1)
f(2); result = f(3)
del f`,
  `from decimal import Decimal, ROUND_HALF_UP
total = sum((Decimal(str(r["amount"])) for r in data.get("rows", [])), Decimal(0))
result = str(total.quantize(Decimal("0.01"), rounding=ROUND_HALF_UP))`,
  `import pathlib, os, tempfile
p = pathlib.Path("/workspace") / "x.txt"
p.write_text("hi", encoding="utf-8")
with open(p) as f:
    lines = f.readlines()
os.remove(p)
result = [l.rstrip() for l in lines]`,
  `x, *rest = sorted({3, 1, 2})
a = b = 0
a, b = b, a + x
print(*rest, sep=",")
s = "%s-%d" % ("a", 1)
t = "{:>{w}}".format("x", w=5)
assert isinstance(t, str), t
result = [s, t, x if x else None]`,
  `best = ""
for i in mcp__github__list_issues(owner="a", repo="b"):
    if not best or i["n"] > best["n"]:
        best = i
print(best)`,
  `import collections, importlib, json, os, sys, concurrent.futures, xml.etree.ElementTree as ET
print(collections.abc.Mapping, json.decoder.JSONDecodeError, os.path.join("a", "b"), sys.version_info)`,
  `try:
    from itertools import batched
except ImportError:
    batched = None
print(batched)`,
  `class Box:
    def __init__(self):
        self.length = 3
    def push(self, x): self.length += x
b = [] if data else Box()
b.push(1)
print(b.length)`,
  `total = ""
for w in ["a", "b"]:
    total += w + str(len(w)) + f"{len(w)}"
n = 0
n += 1.5
xs = [1] + [2]
print("x" * 3 + "y", n + 1, xs + list((3,)), total)`,
  `import datetime
from datetime import date, timedelta
d = datetime.datetime.now().date() - timedelta(days=1)
print(d.isoformat(), date.today().strftime("%Y"), (datetime.datetime.now() - datetime.datetime(2024, 1, 1)).days, datetime.UTC)`,
];
