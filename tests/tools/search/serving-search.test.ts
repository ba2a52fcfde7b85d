import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { eventually } from "../../eventually.ts";
import { echoServer, servedProject } from "../../project/served-project.ts";
import { ScriptedEndpoint } from "./scripted-endpoint.ts";

const OTHER = join(import.meta.dirname, "../../fixtures/servers/finance.mjs");
const LOCAL = { principal: "local" } as const;

test("a ptc that serves embeds in the background what may be seen, follows edits, and warns once of an endpoint that is gone", async () => {
  const endpoint = await ScriptedEndpoint.open();
  const other = await ScriptedEndpoint.open(() => (response) => void response.writeHead(503).end());
  const configured = (url: string) => ({
    servers: [echoServer("open"), echoServer("shut", { args: [OTHER] })],
    search: { embedding: { url, model: "m", key: { env: "SEARCH_KEY" } } },
    tools: { block: ["mcp__shut__*"] },
  });
  const { cwd, env, configure, open } = servedProject(configured(endpoint.url));
  env.SEARCH_KEY = "a-key-of-mine";
  const opened = await open({});
  const { warnings, following } = opened;
  expect(following.current.credentials).toContain("a-key-of-mine");
  const known = async () => (await opened.host.currentTools()).all.servers;
  await eventually(async () => expect(await known()).toHaveLength(2));
  await eventually(() => expect(existsSync(join(cwd, ".ptc/vectors.bin"))).toBe(true));
  const all = (await known()).flatMap(({ tools }) => tools);
  const seen = (await opened.catalog.current(LOCAL)).names();
  expect(all.length).toBeGreaterThan(seen.length);
  expect(endpoint.asked.flatMap(({ body }) => body.input)).toHaveLength(seen.length);
  expect(endpoint.asked.every(({ authorization }) => authorization === "Bearer a-key-of-mine")).toBe(true);

  const search = async () => (await opened.catalog.current(LOCAL)).search("say it to me again", { limit: 5 });
  const { problem, tools } = await search();
  expect(problem).toBeUndefined();
  expect(tools.every(({ namespacedName }) => seen.includes(namespacedName))).toBe(true);

  configure(configured(other.url));
  await eventually(async () =>
    expect((await search()).problem).toContain("search.embedding: answers with status 503"),
  );
  await search();
  expect(warnings.filter((line) => line.includes("search.embedding"))).toEqual([
    "tools are found without search.embedding, which answers with status 503; ptc still asks it now and then",
  ]);
});
