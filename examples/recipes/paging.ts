/** Paging: who has made how many changes? Pages of a history are fetched until one is empty. */
import * as git from "./servers/git/index.js";

const PAGE = 10;

const changes = new Map<string, number>();
for (let skip = 0; ; skip += PAGE) {
  const { commits } = await git.gitLog({ path: data.repository, maxCount: PAGE, skip });
  for (const { author = "nobody" } of commits) changes.set(author, (changes.get(author) ?? 0) + 1);
  if (commits.length < PAGE) break;
}
globalThis.result = Object.fromEntries([...changes].sort(([, a], [, b]) => b - a));
