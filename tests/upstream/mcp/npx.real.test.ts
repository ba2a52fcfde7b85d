import { globSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { eventually } from "../../eventually.ts";
import { type PackageRegistry, serveInstalledPackages } from "../../scripts/package-registry.ts";
import { connect, upstreamErrorOf } from "../upstream-fixtures.ts";

const folder = mkdtempSync(join(tmpdir(), "ptc-npx-"));
let registry: PackageRegistry;

beforeAll(async () => {
  registry = await serveInstalledPackages({ paceMs: 80 });
});
afterAll(() => {
  registry.close();
  rmSync(folder, { recursive: true, force: true });
});

/** A real server that npx installs from a slow registry, into a cache of its own. */
function target(cache: string) {
  return {
    name: "memory",
    transport: "stdio" as const,
    command: "npx",
    args: ["-y", "@modelcontextprotocol/server-memory"],
    env: {
      npm_config_registry: registry.url,
      npm_config_cache: join(folder, cache),
      npm_config_userconfig: join(folder, "npmrc"),
      MEMORY_FILE_PATH: join(folder, `${cache}.jsonl`),
    },
    cwd: folder,
  };
}

it("a server that npx installs slowly is waited for longer than its time for doing nothing", async () => {
  const slow: string[] = [];
  const options = { connectTimeoutMs: 4_000, onWarning: (line: string) => slow.push(line) };
  const connection = await connect(target("patient"), options);
  expect((await connection.list()).tools).not.toEqual([]);
  expect(slow).toEqual([
    expect.stringMatching(/^server 'memory' is still starting after \d+ s: npx may be downloading it$/),
  ]);
});

it("an installation of npx that nobody waits for is finished, and the next start has a whole one", async () => {
  const controller = new AbortController();
  const connecting = upstreamErrorOf(connect(target("left"), { signal: controller.signal }));
  const parts = () => globSync("left/_npx/*/{node_modules/.package-lock.json,package.json}", { cwd: folder });
  const files = () => globSync("left/_cacache/content-v2/**/*", { cwd: folder });
  // Some packages have come, and not all.
  await eventually(() => expect(files().length).toBeGreaterThan(20));
  expect(parts().filter((path) => path.includes(".package-lock"))).toEqual([]);
  controller.abort();
  await connecting;
  await eventually(() => expect(parts().filter((path) => path.includes(".package-lock"))).toHaveLength(1));
  const connection = await connect(target("left"), { connectTimeoutMs: 20_000 });
  expect((await connection.list()).tools).not.toEqual([]);
});
