import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { FollowedConfiguration } from "../../../configuration/follow.ts";
import { openServing } from "../../../wiring/serving.ts";
import { MemoryStore } from "../../archive/memory-store.ts";
import { eventually } from "../../eventually.ts";
import { InProcessEngine } from "../../sandbox/in-process-engine.ts";
import { ScriptedEndpoint } from "./scripted-endpoint.ts";

const ECHO = join(import.meta.dirname, "../../fixtures/servers/echo-v1.mjs");
const OTHER = join(import.meta.dirname, "../../fixtures/servers/finance.mjs");
const LOCAL = { principal: "local" } as const;

test("a ptc that serves embeds in the background what may be seen, follows edits, and warns once of an endpoint that is gone", async () => {
  const endpoint = await ScriptedEndpoint.open();
  const other = await ScriptedEndpoint.open(() => (response) => void response.writeHead(503).end());
  const cwd = mkdtempSync(join(tmpdir(), "ptc-search-"));
  mkdirSync(join(cwd, "run"), { mode: 0o700 });
  const configure = (url: string) => {
    const server = (name: string, args: string[]) => ({ name, command: process.execPath, args });
    const servers = [server("open", [ECHO]), server("shut", [OTHER])];
    const search = { embedding: { url, model: "m", key: { env: "SEARCH_KEY" } } };
    const tools = { block: ["mcp__shut__*"] };
    writeFileSync(join(cwd, "ptc.yaml"), JSON.stringify({ servers, tools, search }));
  };
  configure(endpoint.url);
  const env = {
    XDG_RUNTIME_DIR: join(cwd, "run"),
    XDG_STATE_HOME: join(cwd, "state"),
    SEARCH_KEY: "a-key-of-mine",
  };
  const following = await FollowedConfiguration.open({ env, cwd, onEdit: () => {} });
  expect(following.current.credentials).toContain("a-key-of-mine");
  const warnings: string[] = [];
  const opened = await openServing({
    configuration: following.current,
    env,
    principal: "local",
    following,
    engine: () => new InProcessEngine(async () => {}),
    archive: () => new MemoryStore(),
    onWarning: (line) => warnings.push(line),
  });
  onTestFinished(async () => {
    await opened.host.close();
    rmSync(cwd, { recursive: true });
  });
  await opened.host.warm();
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

  configure(other.url);
  await eventually(async () =>
    expect((await search()).problem).toContain("search.embedding: answers with status 503"),
  );
  await search();
  expect(warnings.filter((line) => line.includes("search.embedding"))).toEqual([
    "tools are found without search.embedding, which answers with status 503; ptc goes on asking it now and then",
  ]);
});
