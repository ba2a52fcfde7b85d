import { execFile } from "node:child_process";
import { readdirSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";

import { join } from "node:path";
import { promisify } from "node:util";
import { expect, inject, onTestFinished, test } from "vitest";
import { usePtc } from "../cli/ptc-process.ts";
import { pythonWith } from "../cli/python-sdks.ts";
import { newFolder } from "../temporary-folder.ts";
import { bridgeToStdio } from "./http-bridge.ts";

const CLIENT = join(import.meta.dirname, "../../clients/python");

/** What it is built with, and the SDKs that it has adapters for. */
const PACKAGES = [
  ...["hatchling==1.33.0", "mcp==2.3.0", "langchain-core==1.7.2"],
  ...["pydantic-ai-slim==2.68.0", "openai-agents==0.24.0"],
];
const { python, missing } = pythonWith(PACKAGES);

const newProject = usePtc();
const run = promisify(execFile);

const TOOLS = [
  {
    name: "count",
    command: ["wc", "-w"],
    stdin: "{text}",
    inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
  },
  {
    name: "drop",
    command: ["echo", "{name}"],
    annotations: { destructiveHint: true },
    inputSchema: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
  },
];

test.skipIf(missing !== "")(`the client for Python is typed throughout${missing}`, async () => {
  const pyright = createRequire(import.meta.url).resolve("pyright/index.js");
  const checked = run(process.execPath, [pyright, "--pythonpath", python, "-p", CLIENT]);
  const { stdout } = await checked.catch((error: { stdout: string }) => error);
  expect(stdout).toContain("0 errors, 0 warnings");
});

test.skipIf(missing !== "")(
  `the client for Python, as a wheel, holds its promises over stdio and HTTP, with each SDK${missing}`,
  async () => {
    const folder = newFolder();
    await run(python, ["-m", "hatchling", "build", "-t", "wheel", "-d", folder], { cwd: CLIENT });
    const [wheel = ""] = readdirSync(folder);
    expect(wheel).toMatch(/^ptc_client-\d+\.\d+\.\d+-py3-none-any\.whl$/);
    const site = join(folder, "site");
    const install = ["-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", site];
    await run(python, [...install, join(folder, wheel)]);
    const project = newProject({ "ptc.yaml": { tools: { local: TOOLS }, sandbox: { warm: 1 } } });
    expect(await project.ptc(["generate"])).toMatchObject({ code: 0 });
    const config = join(project.directory, "ptc.yaml");
    const env: Record<string, string> = {
      PATH: process.env.PATH ?? "",
      HOME: folder,
      XDG_RUNTIME_DIR: join(project.directory, "run"),
      XDG_STATE_HOME: join(folder, "state"),
      PTC_HOST: "off",
      PTC_KEYRING: "off",
    };
    const command = join(inject("buildFolder"), "ptc/dist/cli/ptc.js");
    const args = [command, "serve", "--config", config];
    const bridge = createServer(
      bridgeToStdio({ command: process.execPath, args, env }, (message) => message),
    );
    await new Promise<void>((resolve) => bridge.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => {
      bridge.closeAllConnections();
      bridge.close();
    });
    const { port } = bridge.address() as AddressInfo;
    const own = {
      ...env,
      PYTHONPATH: site,
      PTC_COMMAND: JSON.stringify([process.execPath, command]),
      PTC_TEST_CONFIG: config,
      PTC_URL: `http://127.0.0.1:${port}/mcp`,
      OPENAI_AGENTS_DISABLE_TRACING: "1",
    };
    const { stderr } = await run(python, ["-W", "ignore", join(CLIENT, "tests/test_client.py")], {
      env: own,
      maxBuffer: 16 * 1024 * 1024,
    });
    expect(stderr).toMatch(/^Ran 1\d tests/m);
    expect(stderr).toMatch(/^OK$/m);
  },
);
