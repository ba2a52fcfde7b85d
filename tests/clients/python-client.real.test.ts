import { execFile } from "node:child_process";
import { readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, inject, test } from "vitest";
import { usePtc } from "../cli/ptc-process.ts";
import { pythonWith } from "../cli/python-sdks.ts";
import { newFolder } from "../temporary-folder.ts";
import { serveHttp } from "./http-clients.ts";

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
    const http = { auth: { tokens: true } };
    const project = newProject({ "ptc.yaml": { tools: { local: TOOLS }, sandbox: { warm: 1 }, http } });
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
    const scopes = ["ptc:run", "ptc:approve"].flatMap((scope) => ["--scope", scope]);
    const token = await project.ptc(["token", "create", "agent", ...scopes]);
    const { url } = await serveHttp(project);
    const own = {
      ...env,
      PYTHONPATH: site,
      PTC_COMMAND: JSON.stringify([process.execPath, command]),
      PTC_TEST_CONFIG: config,
      PTC_URL: url.href,
      PTC_TOKEN: token.stdout.trim(),
      OPENAI_AGENTS_DISABLE_TRACING: "1",
    };
    const options = { env: own, maxBuffer: 16 * 1024 * 1024 };
    const tested = run(python, ["-W", "ignore", join(CLIENT, "tests/test_client.py")], options);
    const { stderr } = await tested.catch((error: { stderr: string }) => error);
    expect(stderr).toMatch(/^Ran \d\d tests/m);
    expect(stderr).toMatch(/^OK$/m);
    const { stdout } = await project.ptc(["runs", "list", "--json"]);
    expect(new Set(JSON.parse(stdout).map(({ principal }: { principal: string }) => principal))).toEqual(
      new Set(["token#agent", "local"]),
    );
  },
);
