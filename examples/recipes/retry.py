"""Retry: an address that is not always there is asked again, a little later each time, and three times at most."""
import asyncio

from servers.web import fetch_json

ATTEMPTS = 3


async def fetch(url):
    for attempt in range(1, ATTEMPTS + 1):
        try:
            return {"answer": await fetch_json(url=url), "attempts": attempt}
        except ToolError as error:
            print(f"attempt {attempt}: {error.message}")
            if attempt == ATTEMPTS:
                raise
            await asyncio.sleep(0.05 * 2**attempt)


result = await fetch(data["url"])
