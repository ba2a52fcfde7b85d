import { execFile } from "node:child_process";
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { INSTALL_PYRIGHT } from "../../languages/python/type-check/pyright-process.ts";
import { envelopeOf, fixtureServer, Project, usePtc } from "../cli/ptc-process.ts";
import { ELSEWHERE, openProxiedWorld } from "../system/proxied-world.ts";
import { serveStreamable } from "../upstream/mcp/upstream-http-servers.ts";
import { type PackageRegistry, serveInstalledPackages } from "./package-registry.ts";

const REPOSITORY = join(import.meta.dirname, "../..");
const MAX_UNPACKED_BYTES = 16_500_000;

interface Packed {
  file: string;
  integrity: string;
  size: number;
  unpackedSize: number;
  files: string[];
}

describe("the package, as it is published", () => {
  // Builds what is packed, away from the checkout, whose build other tests read.
  usePtc();
  const folder = mkdtempSync(join(tmpdir(), "ptc-package-"));
  const app = join(folder, "app");
  let registry: PackageRegistry;
  let packed: Packed;
  let project: Project;

  async function npm(cwd: string, ...args: string[]): Promise<string> {
    const env = {
      ...process.env,
      npm_config_cache: join(folder, "cache"),
      npm_config_userconfig: join(folder, "npmrc"),
      npm_config_registry: registry.url,
    };
    const options = { cwd, env, encoding: "utf8", maxBuffer: 64 * 1024 * 1024 } as const;
    return (await promisify(execFile)("npm", args, options)).stdout;
  }

  async function makePackage(): Promise<Packed> {
    const args = ["scripts/package.ts", "--out", folder];
    const { stdout } = await promisify(execFile)(process.execPath, args, {
      cwd: join(inject("buildFolder"), "ptc"),
    });
    return JSON.parse(stdout) as Packed;
  }

  /** A released Node.js, from where npm gets packages; `undefined` where that cannot be reached. */
  async function releasedNode(version: string): Promise<string | undefined> {
    const name = `node-${process.platform}-${process.arch}`;
    const target = join(folder, `node-${version}`);
    mkdirSync(target);
    try {
      const args = ["pack", `${name}@${version}`, "--silent", "--pack-destination", target];
      const options = { cwd: target, encoding: "utf8", timeout: 120_000 } as const;
      const packed = (await promisify(execFile)("npm", args, options)).stdout.trim();
      await promisify(execFile)("tar", ["-xzf", join(target, packed), "-C", target]);
      return join(target, "package/bin/node");
    } catch {
      return undefined;
    }
  }

  beforeAll(async () => {
    registry = await serveInstalledPackages();
    packed = await makePackage();
    mkdirSync(app);
    writeFileSync(join(app, "package.json"), "{}");
    await npm(app, "install", "--omit=dev", "--no-audit", "--no-fund", packed.file);
    project = new Project(join(folder, "project"), join(app, "node_modules/ptc/dist/cli/ptc.js"));
  }, 300_000);

  afterAll(() => {
    registry?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it("brings what runs, how to set up the engine, and the licences of what is in it", () => {
    expect(packed.files.filter((path) => !path.startsWith("dist/")).sort()).toEqual([
      ".claude-plugin/marketplace.json",
      "Dockerfile.runner",
      "LICENSE",
      "README.md",
      "package.json",
      "plugin/.claude-plugin/plugin.json",
      "plugin/AGENTS.snippet.md",
      "plugin/README.md",
      "plugin/commands/replay.md",
      "plugin/commands/runs.md",
      "plugin/commands/save.md",
      "plugin/hooks/check.sh",
      "plugin/hooks/hooks.json",
      "plugin/hooks/said.sh",
      "plugin/skills/programs/SKILL.md",
      "scripts/lima.yaml",
      "scripts/merge-daemon-config.mjs",
      "scripts/setup-engine.sh",
      "scripts/setup-gvisor.sh",
    ]);
    expect(packed.unpackedSize).toBeLessThan(MAX_UNPACKED_BYTES);
    for (const page of ["README.md", "docs/for-embedders.md"])
      expect(readFileSync(join(REPOSITORY, page), "utf8"), page).toContain(
        `The package is less than ${Math.ceil(packed.size / 1e6)} MB`,
      );
    const licences = readFileSync(join(app, "node_modules/ptc/dist/THIRD_PARTY_LICENSES"), "utf8");
    for (const name of ["ajv", "dockerode", "esbuild", "json-schema-to-typescript", "zod"])
      expect(licences).toMatch(new RegExp(`^${name} \\d.*\\n=+\\n\\n.+`, "m"));
  });

  it("is the same when it is packed again", async () => {
    expect(await makePackage()).toEqual(packed);
  });

  it("installs four packages beside itself, those that need one with a build for this platform, and runs no script", () => {
    const lock = JSON.parse(readFileSync(join(app, "node_modules/.package-lock.json"), "utf8")) as {
      packages: Record<string, { hasInstallScript?: boolean }>;
    };
    const here = `${process.platform}-${process.arch}`;
    // The keyring's builds for Linux are told apart by their C library too.
    const installed = Object.keys(lock.packages).map((path) => path.replace(/-(?:gnu|musl)$/, ""));
    expect(installed.sort()).toEqual([
      "node_modules/@cedar-policy/cedar-wasm",
      `node_modules/@esbuild/${here}`,
      "node_modules/@napi-rs/keyring",
      `node_modules/@napi-rs/keyring-${here}`,
      `node_modules/@typescript/typescript-${here}`,
      "node_modules/ptc",
      "node_modules/typescript",
    ]);
    for (const path of globSync("node_modules/{,@*/}*/package.json", { cwd: app })) {
      const { scripts = {} } = JSON.parse(readFileSync(join(app, path), "utf8")) as { scripts?: object };
      expect([path, Object.keys(scripts).filter((name) => /^(?:pre|post)?install$/.test(name))]).toEqual([
        path,
        [],
      ]);
    }
    expect(globSync("node_modules/**/binding.gyp", { cwd: app })).toEqual([]);
  });

  it("generates, checks types and runs programs", async () => {
    project.write("ptc.yaml", { servers: [fixtureServer("echoes", "echo-v1.mjs")] });
    await project.generate();
    const { code, stdout } = await project.ptc(["search", "echo"]);
    expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining("echo") });
    const program = (call: string) =>
      `import * as echoes from "./servers/echoes/index.js";\nglobalThis.result = await ${call};`;
    const right = await project.run(program('echoes.echo({ text: "from the package" })'));
    expect(JSON.stringify(right.envelope.result)).toContain("from the package");
    expect(right).toMatchObject({ code: 0, envelope: { result: { ok: true } } });
    const wrong = await project.run(program("echoes.echo({ txt: 1 })"));
    expect(wrong.envelope.result).toMatchObject({ ok: false, error: { type: "TypeCheckError" } });
    expect(envelopeOf(await project.ptc(["replay", right.envelope.run_id])).output_digest).toBe(
      right.envelope.output_digest,
    );
  });

  it("is a library to the program that has installed it, with none of the SDKs that it has adapters for", async () => {
    const program = `import { createPtc, tool } from "ptc";
      const ptc = await createPtc({ tools: { add: tool({ description: "Adds", execute: () => 41 }) } });
      const run = await ptc.run("globalThis.result = (await mcp__functions__add({})) + 1");
      await ptc.close();
      console.log(run.value ?? run.error);`;
    writeFileSync(join(app, "library.mjs"), program);
    const ran = await promisify(execFile)(process.execPath, ["library.mjs"], { cwd: app });
    expect(ran).toMatchObject({ stdout: "42\n", stderr: "" });
  });

  it("works on the oldest Node.js that it names: runs, archive, audit log, replays, server and background host", async (test) => {
    const { engines } = JSON.parse(readFileSync(join(REPOSITORY, "package.json"), "utf8"));
    const oldest: string = /\d+\.\d+\.\d+/.exec(engines.node)?.[0] ?? "";
    const node = await releasedNode(oldest);
    if (node === undefined) return test.skip(`Node.js ${oldest} cannot be had from the package registry`);
    const command = join(app, "node_modules/ptc/dist/cli/ptc.js");
    const old = new Project(join(folder, "oldest"), command, { node });
    old.write("ptc.yaml", { servers: [fixtureServer("echoes", "echo-v1.mjs")] });
    await old.generate();
    const { findings, ok } = JSON.parse((await old.ptc(["doctor", "--json"])).stdout);
    expect(findings.filter((found: { ok: boolean }) => !found.ok)).toEqual([]);
    expect(ok).toBe(true);
    expect(findings).toContainEqual(
      expect.objectContaining({ part: "node", detail: expect.stringContaining(`v${oldest}, ${node}`) }),
    );
    const echo = `import * as echoes from "./servers/echoes/index.js";\nglobalThis.result = await echoes.echo({ text: "old" });`;
    const ran = await old.run(echo);
    expect(ran).toMatchObject({ code: 0, stderr: "", envelope: { result: { ok: true } } });
    expect((await old.run(echo.replace("text:", "txt:"))).envelope.result).toMatchObject({
      error: { type: "TypeCheckError" },
    });
    expect(envelopeOf(await old.ptc(["replay", ran.envelope.run_id])).output_digest).toBe(
      ran.envelope.output_digest,
    );
    expect(await old.ptc(["replay", "--all"])).toMatchObject({ code: 0 });
    expect(await old.ptc(["call", "echoes.echo", "text=one"])).toMatchObject({ code: 0 });

    const { client, stderr } = await old.serve();
    const reply = await client.callTool({ name: "execute_program", arguments: { code: echo } });
    expect(reply.isError).toBeUndefined();
    await client.close();
    expect(stderr()).toBe("");

    const hosted = { env: { PTC_HOST: undefined, CI: undefined } };
    await old.ptc(["run", "program.ts"], hosted);
    await expect
      .poll(async () => (await old.ptc(["host", "status"], hosted)).stdout, { interval: 500 })
      .toMatch(/^process \d+/);
    const throughHost = await old.ptc(["run", "program.ts"], hosted);
    await old.ptc(["host", "stop"], hosted);
    expect(envelopeOf(throughHost).result).toMatchObject({ ok: false, error: { type: "TypeCheckError" } });

    const seen = { headers: [], started: 0, aborted: 0 };
    const world = await openProxiedWorld(serveStreamable(seen).listener);
    try {
      old.write("ptc.yaml", {
        servers: ["https", "http"].map((scheme) => ({ name: scheme, url: `${scheme}://${ELSEWHERE}/mcp` })),
      });
      const proxied = { HTTPS_PROXY: world.proxy, HTTP_PROXY: world.proxy, SSL_CERT_FILE: world.ca };
      expect(await old.ptc(["generate"], { env: proxied })).toMatchObject({ code: 0 });
      expect(world.asked.map(({ line }) => line)).toEqual(
        expect.arrayContaining([`CONNECT ${ELSEWHERE}:443`, `POST http://${ELSEWHERE}/mcp`]),
      );
    } finally {
      world.close();
    }

    expect(await old.ptc(["runs", "verify"])).toMatchObject({ code: 0 });
    expect(await old.ptc(["audit", "verify"])).toMatchObject({ code: 0 });
  });

  it.for(["20.19.0", "12.22.12"])(
    "refuses Node.js %s in one line, however it is started",
    async (version, test) => {
      const node = await releasedNode(version);
      if (node === undefined) return test.skip(`Node.js ${version} cannot be had from the package registry`);
      const command = join(app, "node_modules/ptc/dist/cli/ptc.js");
      const old = new Project(join(folder, version), command, { node });
      old.write("ptc.yaml", { servers: [] });
      old.write("program.ts", "globalThis.result = 1;");
      const line = `ptc: needs Node.js 22.13 or newer, and this is v${version} (${node}): install a current one from https://nodejs.org/ and put it first on the PATH\n`;
      for (const args of [
        ["run", "program.ts"],
        ["serve"],
        ["doctor"],
        ["audit", "verify"],
        ["background-host"],
      ])
        expect(await old.ptc(args)).toEqual({ code: 2, stdout: "", stderr: line });
      // As the plugin's hook starts it.
      const bin = join(old.directory, "bin");
      mkdirSync(bin);
      writeFileSync(join(bin, "ptc"), `#!/bin/sh\nexec '${node}' '${command}' "$@"\n`, { mode: 0o755 });
      const hook = join(app, "node_modules/ptc/plugin/hooks/check.sh");
      const env = { ...process.env, PATH: `${bin}:${process.env.PATH}`, CLAUDE_PROJECT_DIR: old.directory };
      const { stdout } = await promisify(execFile)("sh", [hook], { env });
      expect(JSON.parse(stdout).systemMessage).toBe(line.trimEnd());
      expect(existsSync(join(old.directory, ".ptc"))).toBe(false);
    },
  );

  it("names the script in it that sets up an engine", async () => {
    const env = { DOCKER_HOST: "unix:///no/such/socket", PTC_ENGINE: "docker" };
    const { stdout } = await project.ptc(["doctor"], { env });
    const script = /^ {2}sudo sh (.*)$/m.exec(stdout)?.[1] ?? "";
    expect(readFileSync(script, "utf8")).toContain("gVisor");
  });

  it("runs programs in Python unchecked where pyright is not installed, and says what to install", async () => {
    project.write("ptc.yaml", { languages: ["python"], servers: [fixtureServer("echoes", "echo-v1.mjs")] });
    const missing = `pyright is not installed: \`${INSTALL_PYRIGHT}\``;
    const env = { DOCKER_HOST: "unix:///no/such/socket", PTC_ENGINE: "docker" };
    const { stdout } = await project.ptc(["doctor"], { env });
    expect(stdout).toMatch(new RegExp(`^note +type check +${missing}`, "m"));
    await project.generate();
    project.write("program.py", 'result = call_tool("mcp__echoes__echo", text="x")');
    const ran = await project.ptc(["run", "program.py"]);
    const { stderr } = ran;
    expect(envelopeOf(ran).result).toMatchObject({ ok: true });
    expect(stderr).toContain(missing);
  });
});
