import { chmodSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { serveProtected } from "../../upstream/authorization/servers/protected-server.ts";
import { serveRouter } from "../../upstream/authorization/servers/router-server.ts";
import { projectFromSources } from "../in-process.ts";
import { hasPython, onTerminal, WITHOUT_PYTHON } from "../terminal/run-on-terminal.ts";

const BEFORE = "# mine\nservers:\n  - name: first # kept\n    command: never-started\n";

describe("ptc add", () => {
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
