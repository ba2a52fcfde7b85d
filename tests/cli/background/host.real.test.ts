import { chmodSync, lstatSync, readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import type { Envelope } from "../../../protocol/envelope.ts";
import { eventually } from "../../eventually.ts";
import { describeSandboxed } from "../../sandbox/in-sandbox.ts";
import { type Exited, envelopeOf, fixtureServer } from "../ptc-process.ts";
import { hasPython, onTerminal, WITHOUT_PYTHON } from "../terminal/run-on-terminal.ts";
import { type HostedProject, isAlive, useHosts } from "./hosted-project.ts";

const hosted = useHosts();

const PROGRAM = 'console.log("said"); console.error("warned"); globalThis.result = data;';
const ENV_SERVER = { ...fixtureServer("env", "env-dump.mjs"), env: { GREETING: "${GREETING}" } };
const CONFIG = { servers: [fixtureServer("x", "documents.mjs"), ENV_SERVER], sandbox: { warm: 1 } };

/** What two runs of a program have in common. */
function comparable(exited: Exited) {
  const { result, tool_version, input_digest, sandbox_image, approval_state } = envelopeOf(exited);
  const { metrics, ...value } = result as Envelope["result"] & { metrics: object };
  return {
    code: exited.code,
    stderr: exited.stderr,
    keys: Object.keys(metrics),
    envelope: { value, tool_version, input_digest, sandbox_image, approval_state },
  };
}

describeSandboxed("the background host", () => {
  let project: HostedProject;
  let first: number;

  beforeAll(async () => {
    project = hosted({ "ptc.yaml": CONFIG, "program.ts": PROGRAM });
    await project.ptc(["generate"]);
    first = await project.warmUp();
  });

  test("runs the commands of its project as they would run alone", async () => {
    project.project.write("data.json", { from: "a file" });
    for (const args of [
      ["run", "program.ts", "--data", "@data.json"],
      ["run", "-", "--data", '{"a":1}'],
      ["run", "program.ts", "--timeout", "never"],
      ["run", "missing.ts"],
    ]) {
      const stdin = "throw new RangeError(`no ${data.a}`);\n";
      const through = await project.ptc(args, { stdin });
      const alone = await project.ptc([...args, "--no-host"], { stdin });
      const shown = alone.stdout === "" ? [through, alone] : [through, alone].map(comparable);
      expect(shown[0]).toEqual(shown[1]);
    }
    for (const args of [
      ["list", "nobody"],
      ["search", "delete"],
      ["inspect", "x.delete_document", "--json"],
    ]) {
      expect(await project.ptc(args)).toEqual(await project.ptc([...args, "--no-host"]));
    }
    // A session of a client is its caller's, and not the host's.
    const session = { CLAUDE_CODE_SESSION_ID: "7b1e6f0a-2c4d" };
    await project.ptc(["run", "program.ts"], { env: session });
    const listed = await project.ptc(["runs", "list", "--client-session", "7b1e6f0a", "--json"]);
    expect(JSON.parse(listed.stdout)).toMatchObject([{ client_session: "7b1e6f0a-2c4d" }]);
    const { host } = await project.status();
    expect(host).toMatchObject({ pid: first, running: 0, served: 8 });
    expect(statSync(project.folder).mode & 0o777).toBe(0o700);
    expect(lstatSync(project.socket).mode & 0o777).toBe(0o600);

    // What others could open is not used.
    chmodSync(project.socket, 0o666);
    const unsafe = await project.ptc(["run", "program.ts"]);
    expect(unsafe).toMatchObject({ code: 0 });
    expect(unsafe.stderr).toMatch(
      /^ptc: the background host is not used: .*\.sock is open to other users; chmod 600 it; continuing alone\n/,
    );
    chmodSync(project.socket, 0o600);
    chmodSync(project.folder, 0o755);
    expect((await project.ptc(["list"])).stderr).toMatch(
      /is open to other users; chmod 700 it; continuing alone\n$/,
    );
    chmodSync(project.folder, 0o700);
    const token = readFileSync(join(project.folder, "token"));
    writeFileSync(join(project.folder, "token"), "guessed");
    expect((await project.ptc(["list"])).stderr).toMatch(/^ptc: the background host .*; continuing alone\n$/);
    writeFileSync(join(project.folder, "token"), token);
  });

  test("is started once by two commands at once, and ends when it is idle", async () => {
    const idle = hosted({ "ptc.yaml": { host: { idle_seconds: 3 } }, "program.ts": PROGRAM });
    const ended = await Promise.all([1, 2].map(() => idle.ptc(["run", "program.ts"])));
    expect(ended.map(({ code, stderr }) => [code, stderr])).toEqual([
      [0, "said\nwarned\n"],
      [0, "said\nwarned\n"],
    ]);
    await idle.inService();
    await eventually(() => expect(idle.processes).toHaveLength(1));
    await eventually(() => expect(idle.processes).toEqual([]));
    expect(idle.sockets).toEqual([]);

    idle.project.write("ptc.yaml", "host: off\n");
    expect(await idle.ptc(["run", "program.ts"])).toMatchObject({ code: 0, stderr: "said\nwarned\n" });
    await eventually(() => expect(idle.processes).toEqual([]));
  });

  test("cancels a run for Ctrl-C, and for a caller that is gone", async () => {
    project.project.write(
      "endless.ts",
      'console.log("begun"); for (;;) await new Promise((r) => setTimeout(r, 50));',
    );
    const interrupted = project.start(["run", "endless.ts"]);
    await interrupted.printed(/begun/);
    interrupted.kill("SIGINT");
    const exited = await interrupted.exited;
    expect(exited).toMatchObject({ code: 1, stderr: "begun\n" });
    expect(envelopeOf(exited).result).toMatchObject({ ok: false, error: { type: "Cancelled" } });

    const killed = project.start(["run", "endless.ts"]);
    await killed.printed(/begun/);
    expect((await project.status()).host?.running).toBe(1);
    killed.kill("SIGKILL");
    await eventually(async () => expect((await project.status()).host?.running).toBe(0));
  });

  test.skipIf(!hasPython)(`asks for an approval on the caller's terminal${WITHOUT_PYTHON}`, async () => {
    const { host: before } = await project.status();
    project.project.write(
      "delete.ts",
      'globalThis.result = await mcp__x__delete_document({ documentId: "a" });',
    );
    const QUESTION = "delete_document\\? \\[y\\]es, \\[a\\]ll, \\[s\\]ame arguments, \\[N\\]o: ";
    const answer = (typed: string) =>
      onTerminal(project.onTerminal, [[QUESTION, typed]], ["run", "delete.ts", "--json"], project.env());
    expect(await answer("y\r")).toContain('"approval_state":"APPROVED"');
    expect(await answer("\u0003")).toContain('"type":"Cancelled"');
    expect((await project.status()).host?.served).toBe((before?.served ?? 0) + 2);
    const { stderr } = await project.ptc(["run", "delete.ts"]);
    expect(stderr).toMatch(/nobody can be asked here; with --suspend the run waits/);
  });

  // It starts about twenty processes one after the other, which takes minutes on a machine that others use.
  test("serves no caller with another environment, configuration or version", {
    timeout: 900_000,
  }, async () => {
    project.project.write("greet.ts", "globalThis.result = (await mcp__env__go({})).env.GREETING;");
    const greet = async (greeting: string) => {
      const exited = await project.ptc(["run", "greet.ts"], { env: { GREETING: greeting } });
      return { data: (envelopeOf(exited).result as { data?: unknown }).data, stderr: exited.stderr };
    };
    expect(await greet("one")).toEqual({ data: "one", stderr: "" });
    expect(await greet("two")).toEqual({
      data: "two",
      stderr:
        "ptc: the background host was started with another environment (GREETING differs); continuing alone\n",
    });
    // A host that was just started is not replaced for another environment.
    const second = await eventually(async () => {
      expect(await greet("two")).toEqual({ data: "two", stderr: "" });
      const { host } = await project.status();
      // Until the next one is in service, a command runs alone and says nothing of it.
      expect(host?.pid).toBeDefined();
      expect(host?.pid).not.toBe(first);
      return host?.pid;
    });
    await eventually(() => expect(isAlive(first)).toBe(false));
    // One that a command started meanwhile would read the next configuration.
    await eventually(() => expect(project.processes).toEqual([second]));

    project.project.write("ptc.yaml", { ...CONFIG, execution: { timeout_seconds: 77 } });
    expect(await greet("two")).toEqual({
      data: "two",
      stderr: "ptc: the background host was started with another configuration; continuing alone\n",
    });
    const third = await project.inService(second);
    expect(await greet("two")).toEqual({ data: "two", stderr: "" });

    // An update of ptc ends it, and so does a person.
    utimesSync(project.project.command([])[1] as string, new Date(), new Date());
    await eventually(() => expect(isAlive(third)).toBe(false));
    const fourth = await project.warmUp();
    expect((await project.ptc(["host", "stop"])).stderr).toBe("ptc: the background host was stopped\n");
    await eventually(() => expect(isAlive(fourth)).toBe(false));
    expect(await project.ptc(["host", "status"])).toEqual({
      code: 0,
      stdout: "",
      stderr: "ptc: no background host runs for this project\n",
    });
  });

  test("that crashes or hangs fails no run that can be made alone, and no call is made twice", async () => {
    const crashed = await project.warmUp();
    project.project.write(
      "slow.ts",
      'console.log("begun"); await new Promise((r) => setTimeout(r, 3_000)); globalThis.result = "whole";',
    );
    const slow = project.start(["run", "slow.ts"]);
    await slow.printed(/begun/);
    process.kill(crashed, "SIGKILL");
    const again = await slow.exited;
    expect(again).toMatchObject({
      code: 0,
      stderr: "begun\nptc: the background host has ended unexpectedly; continuing alone\nbegun\n",
    });
    expect(envelopeOf(again).result).toMatchObject({ data: "whole" });

    const second = await project.inService(crashed);
    project.project.write(
      "calls.ts",
      'await mcp__x__list_documents({}); console.log("called"); await new Promise((r) => setTimeout(r, 60_000));',
    );
    const calling = project.start(["run", "calls.ts"]);
    await calling.printed(/called/);
    process.kill(second, "SIGKILL");
    const lost = await calling.exited;
    expect(lost).toMatchObject({
      code: 1,
      stderr: "called\nptc: the background host has ended unexpectedly; the program is not run again\n",
    });
    expect(envelopeOf(lost).result).toMatchObject({
      ok: false,
      error: { type: "InternalError", retryable: false },
    });

    // Its socket is there still, and nobody listens.
    const stale = await project.ptc(["run", "program.ts"]);
    expect(stale).toMatchObject({
      code: 0,
      stderr: "ptc: the background host has ended unexpectedly; continuing alone\nsaid\nwarned\n",
    });
    const hung = await project.inService(second);
    process.kill(hung, "SIGSTOP");
    const alone = await project.ptc(["run", "program.ts"]);
    expect(alone).toMatchObject({
      code: 0,
      stderr: "ptc: the background host does not answer; continuing alone\nsaid\nwarned\n",
    });
    const replacement = await eventually(async () => {
      const pid = (await project.status()).host?.pid;
      expect(pid).toBeDefined();
      return pid as number;
    });
    process.kill(hung, "SIGCONT");
    await eventually(() => expect(isAlive(hung)).toBe(false));
    process.kill(replacement, "SIGSTOP");
    expect((await project.ptc(["host", "stop"])).stderr).toBe(
      `ptc: the background host did not answer, and its process ${replacement} was killed\n`,
    );
    await eventually(() => expect(project.processes).toEqual([]));
  });
});
