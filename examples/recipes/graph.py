"""From one server to another: who works on what is taken from a git history and filed in a knowledge graph."""
from servers.git import git_log
from servers.memory import create_entities, open_nodes

history = await git_log(path=data["repository"], maxCount=100)
changes = {}
for commit in history["commits"]:
    changes.setdefault(commit.get("author", "nobody"), []).append(commit["subject"])

await create_entities(
    entities=[
        {"name": author, "entityType": "author", "observations": subjects[:3]} for author, subjects in changes.items()
    ]
)
filed = await open_nodes(names=list(changes))
result = {each["name"]: len(each["observations"]) for each in filed["entities"]}
