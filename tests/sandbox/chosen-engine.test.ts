import { expect, test } from "vitest";
import { ChosenEngine, type EngineLoader } from "../../sandbox/chosen-engine.ts";
import type { EngineDescription, SandboxEngine } from "../../sandbox/sandbox-engine.ts";
import { SandboxError } from "../../sandbox/sandbox-error.ts";
import { InProcessEngine } from "./in-process-engine.ts";

/** Runtimes that an engine has, each with what is wrong with it; or why it does not answer. */
type Having = Record<string, string | undefined> | SandboxError;

class FakeEngine extends InProcessEngine {
  override readonly name: string;
  asked = 0;

  constructor(name: string, having: Having) {
    super();
    this.name = name;
    this.describe = async (): Promise<EngineDescription & { runtimes: Map<string, never> }> => {
      this.asked++;
      if (having instanceof SandboxError) throw having;
      const runtimes = new Map(Object.entries(having).map(([key, problem]) => [key, { problem }]));
      return { version: "1", identity: name, profile: "", endpoint: "", runtimes } as never;
    };
  }
}

const NO_ANSWER = new SandboxError("engine_unreachable", "no Docker engine answers");
const NO_RUNSC = new SandboxError("runtime_missing", "there is no runsc on this machine");

function choose(
  { docker, runsc }: { docker: Having; runsc: Having },
  {
    choice = "auto",
    runtime = "runsc",
    absent,
  }: { choice?: "auto" | "docker" | "runsc"; runtime?: string; absent?: string } = {},
) {
  const opened: string[] = [];
  const made = { docker: new FakeEngine("Docker", docker), runsc: new FakeEngine("runsc", runsc) };
  const loader = (name: keyof typeof made, whyAbsent?: () => string | undefined): EngineLoader => ({
    ...(whyAbsent && { whyAbsent }),
    async open() {
      opened.push(name);
      return made[name];
    },
  });
  const engine = new ChosenEngine(choice, runtime, {
    docker: loader("docker", () => absent),
    runsc: loader("runsc"),
    kubernetes: { open: () => Promise.reject(new Error("no cluster is asked for")) },
    wasm: { open: () => Promise.reject(new Error("auto never takes it")) },
  });
  return { engine, opened, made };
}

const FINE = { runsc: undefined };

test.each([
  [
    "Docker where it has the runtime",
    { docker: FINE, runsc: FINE },
    "Docker",
    /^it is there and has runsc; with `sandbox\.engine: runsc`/,
  ],
  [
    "runsc where Docker lacks the runtime",
    { docker: { runc: undefined }, runsc: FINE },
    "runsc",
    "there is no Docker to use: it does not know the runtime runsc",
  ],
  [
    "runsc where no Docker answers",
    { docker: NO_ANSWER, runsc: FINE },
    "runsc",
    "there is no Docker to use: no Docker engine answers",
  ],
  [
    "runsc where Docker's runtime is set up wrong",
    { docker: { runsc: "lacks a flag" }, runsc: FINE },
    "runsc",
    "there is no Docker to use: lacks a flag",
  ],
  [
    "Docker, whose message says what is missing, where neither can be used",
    { docker: NO_ANSWER, runsc: NO_RUNSC },
    "Docker",
    "neither Docker nor runsc alone can be used; runsc alone: there is no runsc on this machine",
  ],
  [
    "Docker where runsc alone could limit nothing",
    { docker: NO_ANSWER, runsc: { runsc: "can be given no cgroup" } },
    "Docker",
    /can be given no cgroup$/,
  ],
] as const)("left to itself it is %s", async (_, there, name, why) => {
  const { engine } = choose(there);
  const settled = await engine.settled();
  expect(settled.engine.name).toBe(name);
  expect(settled.why).toMatch(why);
});

test("what the chosen engine has said of itself is passed on, so that nobody asks it again", async () => {
  for (const docker of [FINE, NO_ANSWER]) {
    const { engine } = choose({ docker, runsc: FINE });
    const { engine: chosen, described } = await engine.settled();
    expect(described?.identity).toBe(chosen.name);
  }
  const { engine } = choose({ docker: NO_ANSWER, runsc: NO_RUNSC });
  expect((await engine.settled()).described).toBeUndefined();
});

test("another runtime than gVisor's is Docker's, as runsc alone has no other", async () => {
  const { engine } = choose({ docker: { runc: undefined }, runsc: FINE }, { runtime: "runc" });
  expect((await engine.settled()).engine.name).toBe("Docker");
});

test.each(["docker", "runsc"] as const)(
  "where %s is named, nothing else is asked or loaded",
  async (choice) => {
    const { engine, opened, made } = choose({ docker: NO_ANSWER, runsc: NO_RUNSC }, { choice });
    expect(await engine.settled()).toEqual({ engine: made[choice], why: "sandbox.engine says so" });
    expect(opened).toEqual([choice]);
    expect(made.docker.asked + made.runsc.asked).toBe(0);
  },
);

test("a Docker whose socket is not there is not loaded", async () => {
  const { engine, opened } = choose(
    { docker: FINE, runsc: FINE },
    { absent: "there is no /run/docker.sock" },
  );
  const { why } = await engine.settled();
  expect(why).toBe("there is no Docker to use: there is no /run/docker.sock");
  expect(opened).not.toContain("docker");
});

test("it keeps to the engine that it has settled on, and passes on all that is asked of it", async () => {
  const { engine, made } = choose({ docker: FINE, runsc: FINE });
  const output = { onStdout() {}, onStderr() {} };
  const image = (await engine.findImage("some"))?.digest ?? "";
  const request = {
    ...{ image, runtime: "runsc", owner: "me" },
    runner: "javascript" as const,
    limits: { memoryMb: 1, cpus: 1, pids: 1 },
  };
  const started = await engine.start(request, output);
  expect(await engine.list()).toEqual([{ id: started.id, owner: "me" }]);
  expect(made.docker.requests).toEqual([request]);
  expect(await engine.keepsOutput("x")).toBe(false);
  expect(await engine.keepsKernelUnprivileged("x")).toBeUndefined();
  await engine.prepare("runsc");
  engine.keepSwept("me");
  await engine.snapshot(request);
  await engine.remove(started.id);
  expect(await engine.list()).toEqual([]);
  expect((await engine.describe()).identity).toBe("Docker");
  expect(made.runsc.asked).toBe(0);
  await expect(engine.openImages()).rejects.toThrow("no image can be built for Docker");
  const settled: SandboxEngine = (await engine.settled()).engine;
  expect(settled).toBe(made.docker);
});

test("it uses the processors of the machine that the chosen engine uses, once it is chosen", async () => {
  const { engine, made } = choose({ docker: FINE, runsc: FINE });
  Object.assign(made.docker, { isElsewhere: () => true });
  expect(engine.isElsewhere()).toBe(false);
  await engine.settled();
  expect(engine.isElsewhere()).toBe(true);
});
