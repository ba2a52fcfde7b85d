import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { eventually } from "../eventually.ts";
import { ScriptedBrowser } from "../upstream/authorization/servers/browser.ts";
import { serveOidc } from "../upstream/authorization/servers/oidc-server.ts";
import { serveHttp } from "./http-clients.ts";
import { claudeVariables, describeClient, findClaudeCode, runClient } from "./installed-client.ts";
import { serveModel, toolResultOf } from "./model-api.ts";
import { PROGRAM, REPLY, useServedProject } from "./served-project.ts";

const served = useServedProject();
const EXECUTE = "mcp__ptc__execute_program";

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

describeClient("Claude Code, at a ptc for a team", findClaudeCode, (claude) => {
  test("logs in at the company's provider, and runs a program over HTTP as its person", async () => {
    const { folder, home } = served();
    const oidc = await serveOidc({
      accessTokenFormat: "jwt",
      scopes: ["ptc:run", "ptc:approve", "ptc:admin"],
      claims: { name: "Ada Lovelace" },
    });
    const port = await freePort();
    const url = `http://127.0.0.1:${port}/mcp`;
    const configuration = JSON.parse(folder.read("ptc.yaml"));
    folder.write("ptc.yaml", {
      ...configuration,
      http: { public_url: url, auth: { issuers: [{ issuer: oidc.issuer }] } },
    });
    await serveHttp(folder, { address: `127.0.0.1:${port}` });
    const model = await serveModel([{ tool: EXECUTE, input: { code: PROGRAM } }, { text: "Done." }]);
    const env = claudeVariables(home, model.origin);
    const added = await runClient(claude, ["mcp", "add", "--transport", "http", "ptc", url], {
      cwd: home,
      env,
    });
    expect(added).toMatchObject({ code: 0 });

    // The browser that Claude Code opens.
    const programs = join(home, "browser");
    const asked = join(programs, "asked");
    mkdirSync(programs);
    for (const name of ["xdg-open", "open", "browser"])
      writeFileSync(join(programs, name), `#!/bin/sh\nprintf %s "$1" > ${asked}\n`, { mode: 0o755 });
    const path = `${programs}:${process.env.PATH}`;
    // Claude Code logs in at a terminal alone.
    const terminal = ["/usr/bin/script", "-qec", `${claude.join(" ")} mcp login ptc`, "/dev/null"] as const;
    const login = runClient(terminal, [], {
      cwd: home,
      env: { ...env, PATH: path, BROWSER: join(programs, "browser") },
    });
    await eventually(() => expect(existsSync(asked)).toBe(true));
    const ended = await new ScriptedBrowser().open(readFileSync(asked, "utf8"));
    expect(ended.status).toBe(200);
    expect(await login).toMatchObject({ code: 0 });

    const args = ["-p", "Go on.", "--output-format", "json", "--allowedTools", EXECUTE];
    const ran = await runClient(claude, args, { cwd: home, env });
    expect(ran).toMatchObject({ code: 0 });
    const [, last = expect.fail("the model was not given the reply")] = model.requests;
    expect(toolResultOf(last)).toEqual({ text: REPLY, isError: false });
  });
});
