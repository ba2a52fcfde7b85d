import { chmodSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { serveProtected } from "../../upstream/authorization/servers/protected-server.ts";
import { serveRouter } from "../../upstream/authorization/servers/router-server.ts";
import { projectFromSources } from "../in-process.ts";
import { hasPython, onTerminal, WITHOUT_PYTHON } from "../terminal/run-on-terminal.ts";

const DUMP = join(import.meta.dirname, "../../fixtures/servers/env-dump.mjs");
const BEFORE = "# mine\nservers:\n  - name: first # kept\n    command: never-started\n";

describe("ptc add", () => {
  it("writes a server that answers, keeps its secret out of the file, and generates it", async () => {
    const project = projectFromSources({ "ptc.yaml": BEFORE });
    const { env } = project;
    const args = [
      "add",
      "dump",
      "--env",
      "API_TOKEN=abcd1234efgh5678",
      "--env",
      "MODE=fast",
      "--",
      process.execPath,
      DUMP,
      "-y",
    ];
    const { code, stdout, stderr } = await project.ptc(args, { env });
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: "added 'dump' to ptc.yaml: 1 tool, generated/servers/dump/index.ts\n",
    });
    expect(stderr).toContain("ptc: API_TOKEN is kept as 'dump/API_TOKEN' in ");
    const text = project.read("ptc.yaml");
    expect(text.startsWith(BEFORE)).toBe(true);
    expect(text).not.toContain("abcd1234efgh5678");
    expect(project.read("generated/servers/dump/index.ts")).toContain("mcp__dump__go");
    const { stdout: dumped } = await project.ptc(["call", "dump.go"], { env });
    expect(JSON.parse(dumped)).toMatchObject({
      env: { MODE: "fast", API_TOKEN: "[REDACTED]" },
      argv: ["-y"],
    });
  });

  it("leaves file and keyring as they were when the server does not answer, unless it is told to write it", async () => {
    const project = projectFromSources({ "ptc.yaml": BEFORE });
    const { env } = project;
    const args = ["add", "gone", "--env", "API_TOKEN=abcd1234efgh5678"];
    const refused = await project.ptc([...args, "--", "/nowhere/x"], { env });
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toMatch(
      /^ptc: 'gone' was not added: server 'gone' did not start: .*; --force writes it all the same\n$/,
    );
    expect(project.read("ptc.yaml")).toBe(BEFORE);
    expect(project.read(".local/state/ptc/secrets.json")).not.toContain("abcd1234");
    const forced = await project.ptc([...args, "--force", "--", "/nowhere/x"], { env });
    expect(forced).toMatchObject({ code: 1, stdout: "added 'gone' to ptc.yaml; it does not work yet\n" });
    expect(project.read("ptc.yaml")).toContain("keyring: gone/API_TOKEN");
  });

  it.skipIf(!hasPython)(`logs in on a terminal where a server asks for that${WITHOUT_PYTHON}`, async () => {
    const router = await serveRouter();
    const server = await serveProtected({ authorizationServers: [router.issuer], verifier: router });
    const project = projectFromSources({
      "ptc.yaml": BEFORE,
      "browser.mjs": `#!${process.execPath}\nawait fetch(process.argv[2]);\n`,
    });
    const browser = join(project.directory, "browser.mjs");
    chmodSync(browser, 0o755);
    const env = { ...project.env, BROWSER: browser };
    const screen = await onTerminal(project, [], ["add", "guarded", server.url], env);
    expect(screen).toContain("ptc: added 'guarded' to ptc.yaml; it asks for a login\n");
    expect(screen).toContain("\nlogged in to 'guarded': 3 tools\n");
    expect(project.read("ptc.yaml")).toContain(`url: ${server.url}`);
    expect(project.read("generated/servers/guarded/index.ts")).toContain("mcp__guarded__echo");
    // Without a terminal, the entry is written too, and what is to be done is said.
    const alone = await project.ptc(["add", "other", server.url], { env });
    expect(alone).toMatchObject({ code: 1, stdout: "added 'other' to ptc.yaml; it does not work yet\n" });
    expect(alone.stderr).toContain("ptc: server 'other' needs a login: run `ptc auth login other`");
  });
});
