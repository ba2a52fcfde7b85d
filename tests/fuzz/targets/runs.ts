import assert from "node:assert/strict";
import { type Duplex, duplexPair } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import { UNASKED } from "../../../broker/approvals/approvals.ts";
import { Dispatcher } from "../../../broker/dispatcher.ts";
import { PolicyAuthorizer } from "../../../broker/policy/authorizer.ts";
import { executeProgram } from "../../../execution/program.ts";
import { ArchivingRecorder } from "../../../execution/record/record-runs.ts";
import { TYPESCRIPT } from "../../../languages/typescript/language.ts";
import { openTypeScript } from "../../../languages/typescript/typescript.ts";
import type { Sandbox, SandboxOutput } from "../../../sandbox/sandbox.ts";
import { SandboxError } from "../../../sandbox/sandbox-error.ts";
import { Redactor } from "../../../secrets/redaction.ts";
import { toolOf } from "../../catalog/tool-of.ts";
import { checkEnvelope } from "../check-envelope.ts";
import { fuzzTarget } from "../fuzz-target.ts";
import { hostileClaim } from "../hostile/hostile-claim.ts";
import { hostileConsole } from "../hostile/hostile-console.ts";
import { hostileFrames } from "../hostile/hostile-frames.ts";
import type { Random } from "../random.ts";

/** Where bytes of an input come out of the container. */
const PLACES = ["socket", "stdout", "stderr"] as const;
const SEPARATOR = Buffer.from("\u0000\u0001--\u0001\u0000");
const IMAGE = `sha256:${"1".repeat(64)}`;
const LIMITS = {
  timeoutMs: 60_000,
  maxOutputBytes: 4_096,
  maxStderrBytes: 4_096,
  maxParallelCalls: 3,
  maxToolCalls: 20,
};
/** Far more than a host needs that was told hello. */
const PATIENCE_TURNS = 20;
const SECRET = "s3cret-of-a-server";

/** A whole run, from program to envelope, audit line and record, in a sandbox that says and does what it likes. */
export const target = fuzzTarget({
  name: "runs",
  iterations: 50,
  generate: (random) =>
    Buffer.concat([
      hostileFrames(random, random.size(12)),
      SEPARATOR,
      Buffer.from(hostileClaim(random)),
      SEPARATOR,
      hostileConsole(random, [SECRET]),
    ]),
  async check(input, random) {
    const audited: string[] = [];
    const archived: string[] = [];
    let sandbox: ScriptedSandbox | undefined;
    const printed: string[] = [];
    const executed = await executeProgram({
      program: {
        code: "globalThis.result = 1;",
        data: { input: 1 },
        language: "javascript",
        fileName: "program.js",
      },
      sandboxes: {
        acquire: async (output) => {
          if (random.chance(0.02)) throw new SandboxError("engine_failed" as never, "no sandbox");
          sandbox = new ScriptedSandbox(input, output, random);
          return sandbox;
        },
      },
      languages: [{ ...TYPESCRIPT, ...openTypeScript() }],
      modules: { modules: () => [], load: async () => undefined },
      dispatcher: dispatcher(random),
      approver: { ask: async () => UNASKED },
      redactor: new Redactor([SECRET]),
      recorder: new ArchivingRecorder({
        archive: {
          begin: () => ({
            addCall: async (call) => void JSON.parse(call.argumentsJson),
            finish: async ({ envelope }) => {
              archived.push(envelope.run_id);
              return { ok: true, recordDigest: IMAGE };
            },
            discard: () => {},
          }),
        },
        audit: {
          calling: async () => undefined,
          written: async () => {},
          call: () => {},
          decision: () => {},
          approval: () => {},
          run: ({ runId }, { outcome }) => void audited.push(`${runId} ${outcome}`),
        },
        redactor: new Redactor([SECRET]),
        tools: TOOLS,
        servers: new Map(),
        context: { principal: "local", source: "run" },
        versions: { ptc: "0.0.0", node: "0.0.0" },
        clock: { wallMs: () => 0 },
      }),
      clock: { monotonicMs: () => performance.now() },
      toolVersion: "0.0.0",
      limits: LIMITS,
      typecheck: "off",
      onConsole: ({ text }) => void printed.push(text),
      signal: new AbortController().signal,
    });
    await executed.cleared;
    assert.equal(await executed.recorded, undefined);
    const { envelope } = executed;
    const line = checkEnvelope(envelope, LIMITS.maxOutputBytes);
    assert.ok(!line.includes(SECRET), "a secret is in the envelope");
    assert.ok(!printed.join("").includes(SECRET), "a secret was printed");
    const outcome = envelope.result.ok ? "ok" : envelope.result.error.type;
    const message = envelope.result.ok ? "" : envelope.result.error.message;
    assert.notEqual(outcome, "InternalError", `a program can blame the host: ${message}`);
    assert.deepEqual(audited, [`${envelope.run_id} ${outcome}`]);
    assert.deepEqual(archived, [envelope.run_id]);
    assert.ok(sandbox === undefined || sandbox.disposed, "the sandbox was not cleared");
  },
});

/** Answers its one program with what an input says, in pieces, and then ends. */
class ScriptedSandbox implements Sandbox {
  readonly id = "scripted";
  readonly image = IMAGE;
  readonly channel: Duplex;
  readonly exited: Promise<{ code: number }>;
  disposed = false;
  #sent = false;
  #turns = 0;
  readonly #inside: Duplex;
  #exit: (end: { code: number }) => void = () => {};

  constructor(input: Buffer, output: SandboxOutput, random: Random) {
    [this.channel, this.#inside] = duplexPair();
    this.#inside.on("error", () => {});
    this.#inside.on("data", () => {
      this.#sent = true;
    });
    this.exited = new Promise((resolve) => {
      this.#exit = resolve;
    });
    void this.#play(input, output, random);
  }

  async #play(input: Buffer, output: SandboxOutput, random: Random): Promise<void> {
    const parts = splitAt(input);
    const script = PLACES.flatMap((place, at) =>
      random.chunks(parts[at] ?? Buffer.alloc(0)).map((chunk) => ({ place, chunk })),
    );
    if (random.chance(0.3)) script.sort((a, b) => a.chunk.length - b.chunk.length);
    // The program is made ready meanwhile.
    while (this.channel.listenerCount("data") === 0 && !this.disposed) await nextTurn();
    for (const { place, chunk } of script) {
      if (place !== "socket") await this.#untilSent();
      if (place === "socket") this.#inside.write(chunk);
      else if (place === "stdout") output.onStdout(chunk);
      else output.onStderr(chunk);
      if (random.chance(0.05)) await nextTurn();
    }
    for (let turns = random.below(4); turns > 0; turns--) await nextTurn();
    this.#end(random.pick([0, 0, 0, 1, 134, 137, 139, 255]));
  }

  /** Resolves when the program has come, or will not. */
  async #untilSent(): Promise<void> {
    while (!this.#sent && this.#turns++ < PATIENCE_TURNS) await nextTurn();
  }

  #end(code: number): void {
    this.#inside.destroy();
    this.channel.destroy();
    this.#exit({ code });
  }

  async kill(): Promise<void> {
    this.#end(137);
  }

  async dispose(): Promise<void> {
    this.#end(137);
    this.disposed = true;
  }
}

function splitAt(input: Buffer): Buffer[] {
  const parts: Buffer[] = [];
  let from = 0;
  for (let at = input.indexOf(SEPARATOR); at >= 0; at = input.indexOf(SEPARATOR, from)) {
    parts.push(input.subarray(from, at));
    from = at + SEPARATOR.length;
  }
  return [...parts, input.subarray(from)];
}

const NAME = "mcp__desk__echo";
const ECHO = toolOf("desk", "echo");
const TOOLS = new Map([[NAME, ECHO]]);

function dispatcher(random: Random): Dispatcher {
  return new Dispatcher({
    context: { principal: "local", source: "run" },
    tools: TOOLS,
    authorizer: new PolicyAuthorizer({
      allow: undefined,
      block: [],
      ask: [],
      neverAsk: [],
      byDefault: "annotated",
    }),
    validator: { check: async () => undefined, close: async () => {} },
    servers: {
      connect: async () => ({
        definitionDigest: (tool) => tool,
        call: async (call) => ({
          content: [],
          structuredContent: call.arguments,
          isError: random.chance(0.1),
        }),
      }),
    },
  });
}
