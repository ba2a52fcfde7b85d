import assert from "node:assert/strict";
import { ForeignJsonError, parseForeignJson } from "../../../base/json.ts";
import { importServers } from "../../../configuration/clients/import-servers.ts";
import { parseConfiguration } from "../../../configuration/parse.ts";
import { renderConfiguration } from "../../../configuration/write-file.ts";
import { fuzzTarget } from "../fuzz-target.ts";
import { hostileJson, hostileObject, hostileString } from "../hostile/hostile-json.ts";
import { hostileText } from "../hostile/hostile-text.ts";
import type { Random } from "../random.ts";

const DIRECTORY = "/project";

/** A `.mcp.json` or `~/.claude.json`: what is taken of it makes a ptc.yaml that can be read, or is said to be wrong there. */
export const target = fuzzTarget({
  name: "imported-servers",
  iterations: 330,
  generate(random) {
    const servers = mapping(random, () => server(random));
    const projects = hostileObject(
      random,
      [[DIRECTORY, hostileObject(random, [["mcpServers", servers]])]],
      0.1,
    );
    return hostileObject(random, [
      ["mcpServers", mapping(random, () => server(random))],
      ["projects", projects],
    ]);
  },
  check(input) {
    let file: unknown;
    try {
      file = parseForeignJson(input, { maxBytes: 1e7, maxDepth: 128 });
    } catch (error) {
      if (error instanceof ForeignJsonError) return;
      throw error;
    }
    const imported = importServers(file, DIRECTORY);
    if (imported === undefined) return;
    const names = imported.servers.map(({ name }) => name);
    assert.equal(new Set(names).size, names.length, "two servers have one name");
    const text = renderConfiguration(imported.servers);
    try {
      const read = parseConfiguration(text, { file: "ptc.yaml", directory: DIRECTORY, environment: {} });
      assert.deepEqual(
        read.servers.map(({ name }) => name),
        names,
      );
    } catch (error) {
      assert.match((error as Error).message, /^ptc\.yaml:\d+: servers\b/, "what is written cannot be read");
      assert.equal((error as Error).name, "ConfigurationError");
    }
  },
});

function server(random: Random): string {
  const text = () => hostileString(random, hostileText(random, 2));
  const members: [string, string][] = [
    ["type", random.pick(['"stdio"', '"http"', '"sse"', '"ws"'])],
    ["command", text()],
    [
      "args",
      `[${random.list(random.size(3), () => (random.chance(0.8) ? text() : hostileJson(random, { levels: 1 }))).join(",")}]`,
    ],
    ["env", mapping(random, text)],
    ["url", random.pick(['"http://localhost/mcp"', text()])],
    ["headers", mapping(random, text)],
    ["cwd", text()],
  ];
  return hostileObject(
    random,
    members.filter(() => random.chance(0.6)).concat(random.chance(0.5) ? [["command", '"node"']] : []),
    0.2,
  );
}

function mapping(random: Random, make: () => string): string {
  const key = () =>
    hostileString(
      random,
      random.chance(0.6) ? random.pick(["a", "b", "a b", "KEY"]) : hostileText(random, 1),
    );
  return `{${random.list(random.size(4), () => `${key()}:${make()}`).join(",")}}`;
}
