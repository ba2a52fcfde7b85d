import { createHash } from "node:crypto";
import { type Duplex, duplexPair } from "node:stream";
import { encodeFrame, FrameDecoder } from "../../protocol/frames.ts";
import { PROTOCOL_VERSION } from "../../protocol/limits.ts";
import type { HostMessage, ProgramMessage } from "../../protocol/messages.ts";
import type { SandboxExit, SandboxOutput } from "../../sandbox/sandbox.ts";
import type { SandboxEngine, SandboxRequest, StartedSandbox } from "../../sandbox/sandbox-engine.ts";
import { type EngineAdvice, WALLS } from "../../sandbox/sandbox-profile.ts";

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
const NOTHING_SEEN = { started_ms: 0, clock: "", events: "", complete: true };
/** What an engine of the tests advises. */
export const ADVICE: EngineAdvice = {
  missingRuntime: "give it one",
  walls: Object.fromEntries(
    Object.keys(WALLS).map((wall) => [wall, `mend ${wall}`]),
  ) as EngineAdvice["walls"],
};
const MAX_BYTES = 1_000_000;

/** What a program of an in-process sandbox may do. */
interface InProcessProgram {
  /** Resolves with what the host answers. */
  call(tool: string, args: unknown): Promise<Extract<HostMessage, { type: "reply" }>>;
  print(text: string): void;
  /** Ends the sandbox with a line of output, whatever it says. Does not resolve. */
  exit(line: string): Promise<never>;
}

/** Resolves with the value that the program comes to. */
export type ProgramFunction = (program: InProcessProgram, message: ProgramMessage) => Promise<unknown>;

/** Starts sandboxes that are functions in this process. There is no container and no socket: messages go through a pair of streams. */
export class InProcessEngine implements SandboxEngine {
  readonly name: string = "In-process";
  readonly advice = ADVICE;
  readonly requests: SandboxRequest[] = [];
  /** The programs that were sent in. */
  readonly programs: ProgramMessage[] = [];
  /** Owners of what has not ended, by id. */
  readonly live = new Map<string, string>();
  /** What was given back to the host, by id. */
  readonly released = new Set<string>();
  readonly #program: ProgramFunction;

  /** @param program stands in for every program that is sent in. */
  constructor(program: ProgramFunction = async () => null) {
    this.#program = program;
  }

  describe = async () => ({
    version: "1",
    identity: "in-process",
    profile: "none",
    endpoint: "here",
    runtimes: new Map(),
  });
  findImage = async (reference: string) => ({ digest: `sha256:${sha256(reference)}` });
  list = async () => [...this.live].map(([id, owner]) => ({ id, owner }));
  keepsOutput = async () => false;
  remove = async (id: string) => void this.live.delete(id);

  async start(request: SandboxRequest, output: SandboxOutput): Promise<StartedSandbox> {
    const id = `sandbox-${this.requests.push(request)}`;
    this.live.set(id, request.owner);
    const [outside, inside] = duplexPair();
    let settle = (_: SandboxExit) => {};
    const exited = new Promise<SandboxExit>((resolve) => {
      settle = resolve;
    });
    const end = (code: number) => {
      if (this.live.delete(id)) settle({ code });
      inside.destroy();
    };
    inside.on("close", () => end(1));
    this.runIn(request.runner, inside, output);
    return {
      id,
      connected: Promise.resolve(outside),
      exited,
      pause() {},
      clear: async () => {},
      resume() {},
      leave: () => end(0),
      kill: async () => end(137),
      removed: async () => void (await exited),
      release: () => void this.released.add(id),
    };
  }

  protected runIn(runner: SandboxRequest["runner"], inside: Duplex, output: SandboxOutput): void {
    const decoder = new FrameDecoder(MAX_BYTES);
    const send = (message: object) => inside.write(encodeFrame(message, MAX_BYTES));
    const open = new Map<number, (message: Extract<HostMessage, { type: "reply" }>) => void>();
    let calls = 0;
    let printed = 0;
    const program: InProcessProgram = {
      call(tool, args) {
        const id = calls++;
        send({ type: "call", id, tool, arguments: args });
        return new Promise((resolve) => open.set(id, resolve));
      },
      print(text) {
        const record = Buffer.from(`\u001e${JSON.stringify(["out", text])}\n`);
        printed += record.length;
        output.onStderr(record);
      },
      exit(line) {
        output.onStdout(Buffer.from(line));
        inside.destroy();
        return new Promise(() => {});
      },
    };
    const run = async (message: ProgramMessage) => {
      const data = await this.#program(program, message);
      const claim = Buffer.from(`${JSON.stringify({ ok: true, data, from: "result" })}\n`);
      output.onStdout(claim);
      send({ type: "done", bytes: claim.length, console_bytes: printed });
    };
    inside.on("data", (chunk: Buffer) => {
      for (const payload of decoder.push(chunk)) {
        const message = JSON.parse(payload.toString()) as HostMessage;
        if (message.type === "program") {
          this.programs.push(message);
          void run(message);
        } else if (message.type === "trace") send({ type: "trace", trace: NOTHING_SEEN });
        else if (message.type === "reply") open.get(message.id)?.(message);
      }
    });
    send({ type: "hello", protocol: PROTOCOL_VERSION, language: runner, runtime: "v24" });
  }
}
