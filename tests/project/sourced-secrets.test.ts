import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { parseConfiguration } from "../../configuration/parse.ts";
import { Project } from "../../project/open-project.ts";
import { composeUpstreams } from "../../project/servers/upstreams.ts";
import type { Upstream } from "../../upstream/upstream.ts";
import { jsonOf, toolCall, upstreamErrorOf } from "../upstream/upstream-fixtures.ts";

const ENV_DUMP = join(import.meta.dirname, "../fixtures/servers/env-dump.mjs");
/** Prints a token, and notes each time that it did. */
const VAULT = `require("fs").appendFileSync("runs", "x"); console.log("vault-token-" + process.env.WHERE)`;

interface More {
  /** Values of `env` of every server, besides its token. */
  named?: Record<string, string>;
  environment?: Record<string, string>;
}

function setUp(servers: Record<string, object>, { named = {}, environment = {} }: More = {}) {
  const directory = mkdtempSync(join(tmpdir(), "ptc-sourced-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const text = (env: Record<string, object>) =>
    JSON.stringify({
      servers: Object.entries(env).map(([name, TOKEN]) => ({
        name,
        command: process.execPath,
        args: [ENV_DUMP],
        env: { TOKEN, ...named },
      })),
    });
  const parse = (env: Record<string, object>) =>
    parseConfiguration(text(env), { file: "ptc.yaml", directory, environment });
  const configuration = parse(servers);
  const project = new Project(configuration, {
    env: { PATH: process.env.PATH, WHERE: "here" },
    keyring: { get: async (name) => (name === "hub" ? "ring-token-1" : undefined) },
    onWarning() {},
  });
  const { redactor } = project;
  const { pool, reconfigure } = composeUpstreams(project);
  onTestFinished(() => project.close());
  /** What the server says of its environment, and the same with every value the other way round. */
  const dumpOf = async (name: string) => {
    const upstream = pool.get("local", name) as Upstream;
    const answer = await upstream.call(toolCall("dump"));
    return jsonOf(answer) as { env: Record<string, string>; reversed: Record<string, string> };
  };
  const tokenOf = async (name: string) => {
    const { reversed } = await dumpOf(name);
    return [...(reversed.TOKEN ?? "")].reverse().join("");
  };
  return {
    directory,
    redactor,
    pool,
    dumpOf,
    tokenOf,
    reconfigure: (next: typeof servers) => reconfigure(parse(next)),
  };
}

const vault = { command: [process.execPath, "-e", VAULT] };

test("servers get what was read for them, from one run, and redaction knows it by then", async () => {
  const { directory, redactor, tokenOf } = setUp({
    a: vault,
    b: { ...vault, prefix: "x-" },
    ring: { keyring: "hub" },
    file: { file: "token" },
  });
  writeFileSync(join(directory, "token"), "file-token-1\n");
  expect(() => readFileSync(join(directory, "runs"))).toThrow();
  expect(await Promise.all(["a", "b", "ring", "file"].map(tokenOf))).toEqual([
    "vault-token-here",
    "x-vault-token-here",
    "ring-token-1",
    "file-token-1",
  ]);
  expect(readFileSync(join(directory, "runs"), "utf8")).toBe("x");
  const { value } = redactor.redactText("vault-token-here, ring-token-1 and file-token-1");
  expect(value).toBe("[REDACTED], [REDACTED] and [REDACTED]");
});

test("a secret that cannot be read takes only its server off, in one line, and runs for no other", async () => {
  const code = `console.error("Error: vault is locked"); process.exit(6)`;
  const { pool, tokenOf } = setUp({
    locked: { command: [process.execPath, "-e", code] },
    gone: { keyring: "gone" },
    file: { file: "none" },
    fine: vault,
  });
  expect(await tokenOf("fine")).toBe("vault-token-here");
  const failure = async (name: string) =>
    upstreamErrorOf((pool.get("local", name) as Upstream).call(toolCall("dump")));
  expect(await failure("locked")).toMatchObject({
    code: "start_failed",
    message:
      "server 'locked' is not started: ptc.yaml:1: servers[0].env.TOKEN: `node` exited with 6: Error: vault is locked",
  });
  expect((await failure("gone")).message).toBe(
    "server 'gone' is not started: ptc.yaml:1: servers[1].env.TOKEN: the keyring has no 'gone'; put it in with `ptc auth set gone`",
  );
  expect((await failure("file")).message).toContain("servers[2].env.TOKEN: the file ");
});

test("another source starts the server anew, and the same one in another place neither that nor the command", async () => {
  const { directory, pool, tokenOf, reconfigure } = setUp({ a: vault });
  expect(await tokenOf("a")).toBe("vault-token-here");
  const before = pool.get("local", "a");
  reconfigure({ first: { keyring: "hub" }, a: vault });
  expect(await tokenOf("a")).toBe("vault-token-here");
  expect(readFileSync(join(directory, "runs"), "utf8")).toBe("x");
  expect(pool.get("local", "a")).toBe(before);
  reconfigure({ a: { keyring: "hub" } });
  expect(pool.get("local", "a")).not.toBe(before);
  expect(await tokenOf("a")).toBe("ring-token-1");
});

test("a program is not shown what its server is used with, in whatever place that is, and all else as it is", async () => {
  const environment = { WHERE: "here", GH: "expanded-secret-1" };
  const named = { GITHUB_TOKEN: "configured-secret-1", PROJECT: "project-number-1", HUB: "${GH}" };
  const { dumpOf } = setUp({ a: vault, b: { keyring: "hub" } }, { named, environment });
  const { env, reversed } = await dumpOf("a");
  expect(env).toMatchObject({
    TOKEN: "[REDACTED]",
    GITHUB_TOKEN: "[REDACTED]",
    HUB: "[REDACTED]",
    // A server's settings, and the credentials of another, are its data.
    PROJECT: "project-number-1",
  });
  expect(reversed.GITHUB_TOKEN).toBe("1-terces-derugifnoc");
  const other = await dumpOf("b");
  expect(other.env.TOKEN).toBe("[REDACTED]");
});
