/** More programs with one mistake each, by the line that is named (or its column too). */
export const MORE_MISTAKEN: readonly (readonly [string, string])[] = [
  [
    "1:28",
    `from servers.github import list_issue
list_issue(owner="a", repo="b")`,
  ],
  [
    "2",
    `from servers.github import list_issues
list_issues(owner="a", repository="b")`,
  ],
  ["1", `issues = mcp__github__list_issues(owner="a")`],
  [
    "2",
    `issues = mcp__github__list_issues(owner="a", repo="b")
for i in isues:
    print(i)`,
  ],
  ["1", `mcp__github__list_issues(owner="a", repo="b", state="opened")`],
  ["1", `mcp__github__list_issues(owner="a", repo="b", labels="bug")`],
  ["1", `mcp__github__get_issue(owner="a", repo="b", issue_number="12")`],
  [
    "2",
    `i = mcp__github__get_issue(owner="a", repo="b", issue_number=12)
print(i["titel"])`,
  ],
  [
    "2",
    `i = mcp__github__get_issue(owner="a", repo="b", issue_number=12)
print(i.title)`,
  ],
  [
    "3",
    `import asyncio
async def main():
    i = mcp__github__get_issue(owner="a", repo="b", issue_number=12)["title"]
    return i
result = await main()`,
  ],
  [
    "1",
    `from servers.githb import list_issues
list_issues(owner="a", repo="b")`,
  ],
  [
    "2",
    `import servers.github
servers.github.list_all(owner="a")`,
  ],
  ["1", `mcp__github__list_issuess(owner="a", repo="b")`],
  ["1", `mcp__my_notes__add_note(notes=[{"title": "t", "kind": "note"}])`],
  ["1", `mcp__my_notes__add_note(notes=[{"title": "t"}])`],
  ["1", `mcp__my_notes__add_note(notes={"title": "t", "kind": "memo"})`],
  ["1", `mcp__my_notes__add_note(note=[{"title": "t", "kind": "memo"}])`],
  ["1", `mcp__my_notes__list_notes(limit="5")`],
  [
    "2",
    `from servers.mail import send
send(from_="a", to="b@c.d")`,
  ],
  [
    "2",
    `from servers.mail import send
send(from_="a", to=["b"], subject="hi")`,
  ],
  [
    "1",
    `from servers.mail import send_mail
send_mail(from_="a", to=["b"])`,
  ],
  [
    "2",
    `import json
rows = jsn.loads("[]")`,
  ],
  [
    "2",
    `import json
rows = json.load_string("[]")`,
  ],
  [
    "3",
    `from datetime import datetime
a = 1
print(datetime.nowadays())`,
  ],
  [
    "2",
    `from collections import Counter
c = Conter("abc")`,
  ],
  ["1", `print(len(x for x in items))`],
  [
    "3",
    `def f(a, b):
    return a + b
f(1)`,
  ],
  [
    "3",
    `def f(a, *, b):
    return a + b
f(1, c=2)`,
  ],
  [
    "1",
    `from itertools import batch
print(batch)`,
  ],
  ["1", `parallel([lambda: mcp__github__whoami()], max=3)`],
  ["1", `r = call_tools("mcp__github__whoami", {})`],
  [
    "3",
    `try:
    mcp__github__whoami()
except ToolErr as e:
    print(e)`,
  ],
  [
    "4",
    `try:
    mcp__github__whoami()
except ToolError as e:
    print(e.code)`,
  ],
  ["1", `result = mcp__github__get_issue("a", "b", 12)`],
  [
    "2",
    `async def main():
    issues = mcp__github__list_issues(owner="a", repo="b", per_page="100")
    return await issues
result = await main()`,
  ],
  [
    "3",
    `import asyncio
async def main():
    got = await asyncio.gather(mcp__github__list_issues(owner="a", repos="b"))
    return got
result = await main()`,
  ],
  ["1", `print("a" + 1)`],
  [
    "2",
    `s = "a,b"
print(s.splt(","))`,
  ],
  ["1", `mcp__github__drop_repo(repo="a")`],
  [
    "2",
    `from servers.github import get_issue
i = get_issue({"owner": "a", "repo": "b", "issue": 3})
print(i)`,
  ],
  ["1", `import servers.gitlab`],
  [
    "2",
    `xs = [1]
xs.push(2)`,
  ],
  [
    "2",
    `n = len([1, 2])
print("count: " + n)`,
  ],
  [
    "3",
    `from datetime import datetime
a = datetime.now()
print(a.isofromat())`,
  ],
  ["1", `"A".toLowerCase()`],
  ["1", `from collections import OrderedDict, Countr`],
  ["1", `from math import roundup`],
];
