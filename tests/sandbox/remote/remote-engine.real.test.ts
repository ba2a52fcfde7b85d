import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { type Exited, envelopeOf, fixtureServer, type Project, usePtc } from "../../cli/ptc-process.ts";
import { describeDocker } from "../in-sandbox.ts";
import { SecondEngine } from "./second-engine.ts";

const PROGRAM = `
  import { getDocument } from "./servers/documents/index.js";
  console.log("to stdout");
  console.error("to stderr");
  const documents = await Promise.all(["a", "b", "c"].map((documentId) => getDocument({ documentId })));
  globalThis.result = documents.map(({ title }) => title);
`;

/** Runtimes of the second engine, and what is reported of gVisor's kernel under them. */
const KERNELS: [runtime: string, verdict: string, line: RegExp][] = [
  ["runsc", "holds", /gVisor's kernel is nobody on this machine$/m],
  ["runsc-directfs", "does not hold", /gVisor's kernel is root on this machine: add `--directfs=false`/],
];

const newProject = usePtc();

describeDocker("an engine on another machine", () => {
  let engine: SecondEngine;
  let project: Project;

  beforeAll(async () => {
    project = newProject({
      "ptc.yaml": { servers: [fixtureServer("documents", "documents.mjs")] },
      "p.ts": PROGRAM,
    });
    await project.generate();
    engine = await SecondEngine.start();
    // A runner image would be known by its labels, whatever it is called.
    const named = ["images", "--format", "{{.Repository}}:{{.Tag}}", "ptc-base"];
    const [base = ""] = execFileSync("docker", named, { encoding: "utf8" }).split("\n");
    engine.copyImage(base, "base-over-there");
  });
  afterEach(() => {
    expect(engine.containers()).toEqual([]);
  });
  afterAll(() => engine?.end());

  async function ptc(args: readonly string[], more: Record<string, string> = {}): Promise<Exited> {
    const [command = "", ...rest] = engine.reaching(project.command(args));
    const child = spawn(command, rest, {
      cwd: project.directory,
      env: {
        PATH: process.env.PATH ?? "",
        PTC_HOST: "off",
        HOME: project.directory,
        XDG_RUNTIME_DIR: join(project.directory, "run"),
        ...engine.environment,
        ...more,
      },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const exited: Exited = { code: null, stdout: "", stderr: "" };
    for (const stream of ["stdout", "stderr"] as const) {
      child[stream].setEncoding("utf8").on("data", (text: string) => {
        exited[stream] += text;
      });
    }
    const [code] = await once(child, "close");
    return { ...exited, code };
  }

  test("gets its image from ptc, as it has none", async () => {
    expect((await ptc(["doctor"])).stdout).toMatch(/^FAIL {2}image .*ptc image build/m);
    expect(await ptc(["image", "build", "--base", "base-over-there"])).toMatchObject({ code: 0 });
  });

  test("is reported by ptc doctor, with the channel and why it is that one", async () => {
    const { code, stdout } = await ptc(["doctor"]);
    expect(stdout).toMatch(/^ok {4}docker .*tcp:\/\/127\.0\.0\.1:2376 \(DOCKER_HOST\)$/m);
    expect(stdout).toMatch(/^ok {4}channel +attached: the engine is reached over a network$/m);
    expect(stdout).toMatch(/^ok {4}sandbox +starts and answers/m);
    expect(stdout).not.toContain("host-uds");
    expect(code).toBe(0);
  });

  test("runs a program with calls", async () => {
    const exited = await ptc(["run", "p.ts"]);
    expect(envelopeOf(exited).result).toMatchObject({
      ok: true,
      data: ["Document a", "Document b", "Document c"],
      metrics: { tool_calls: 3 },
    });
    expect(exited.stderr).toBe("to stdout\nto stderr\n");
  });

  test("keeps all walls that are required", async () => {
    const { code, stdout } = await ptc(["doctor", "--walls", "--json"], {
      XDG_STATE_HOME: join(project.directory, "state"),
    });
    const { ok, walls } = JSON.parse(stdout) as {
      ok: boolean;
      walls: { required: boolean; verdict: string }[];
    };
    expect(walls.filter(({ required, verdict }) => required && verdict !== "holds")).toEqual([]);
    expect({ code, ok }).toEqual({ code: 0, ok: true });
  });

  test("is reached over SSH too, by the ssh of the user", async () => {
    const bin = join(project.directory, "bin");
    mkdirSync(bin);
    // What ssh does: it runs the command after the host's name over there.
    const script = `while [ "$1" != -- ]; do shift; done\nshift 2\nDOCKER_HOST=${engine.ownSocket} exec "$@"\n`;
    writeFileSync(join(bin, "ssh"), `#!/bin/sh\n${script}`);
    chmodSync(join(bin, "ssh"), 0o755);
    const env = { DOCKER_HOST: "ssh://me@far.example", PATH: `${bin}:${process.env.PATH}` };
    const exited = await ptc(["run", "p.ts"], { ...env, DOCKER_TLS_VERIFY: "", DOCKER_CERT_PATH: "" });
    expect(envelopeOf(exited).result).toMatchObject({ ok: true, metrics: { tool_calls: 3 } });
  });

  // It is on this machine after all, where its processes are seen.
  test.each(KERNELS)(
    "is reported by what its kernel may do on its host, as the process has it: %s",
    async (runtime, verdict, line) => {
      project.write("ptc.yaml", { servers: [], sandbox: { runtime, allow_weaker_isolation: true } });
      const env = { XDG_STATE_HOME: join(project.directory, "state") };
      const { stdout } = await ptc(["doctor", "--walls", "--json"], env);
      const { walls } = JSON.parse(stdout) as { walls: { wall: string; verdict: string; detail: string }[] };
      expect(walls.find(({ wall }) => wall === "sentry")).toMatchObject({ verdict });
      const told = await ptc(["doctor"]);
      expect(told).toMatchObject({ code: 0 });
      expect(told.stdout).toMatch(line);
    },
  );
});
