import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, onTestFinished, test } from "vitest";
import { projectFromSources } from "./in-process.ts";

test("a served project ends with its client, also where nobody has read what it reports", async () => {
  const project = projectFromSources({
    "ptc.yaml": { servers: [{ name: "gone", command: "/no/such/server" }] },
  });
  const [program = "", ...args] = project.command(["serve"]);
  const served = spawn(program, args, {
    cwd: project.directory,
    env: { ...process.env, ...project.env },
    stdio: ["pipe", "pipe", "pipe"],
  });
  onTestFinished(() => void served.kill("SIGKILL"));
  served.stderr.destroy();
  const initialize = {
    ...{ jsonrpc: "2.0", id: 1, method: "initialize" },
    params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } },
  };
  served.stdin.write(`${JSON.stringify(initialize)}\n`);
  const [answer] = await once(served.stdout, "data");
  expect(String(answer)).toContain('"serverInfo"');
  // Its server cannot be reached, which is a warning on stderr.
  served.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" })}\n`);
  served.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: 2, method: "tools/list" })}\n`);
  await once(served.stdout, "data");
  served.stdin.end();
  const [code] = await once(served, "exit");
  expect(code).toBe(0);
});
