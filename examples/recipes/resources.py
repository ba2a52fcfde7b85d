"""Resources: the documents of a server are listed and read side by side, like tools."""
import asyncio

from servers.everything import resources

listed = (await resources.list())["resources"]
read = await asyncio.gather(*(resources.read(each["uri"]) for each in listed))

result = {
    each["name"]: len(contents["contents"][0].get("text", "")) for each, contents in zip(listed, read)
}
