import { RunApprovals } from "../broker/approvals.ts";
import { Dispatcher } from "../broker/dispatcher.ts";
import { IsolatingValidator } from "../broker/schema-validator.ts";
import { BrokerSession } from "../broker/session.ts";
import type { KnownTool } from "../broker/tool-table.ts";
import { bundleProgram } from "../execution/bundle.ts";
import { RunnerOutput } from "../execution/runner-output.ts";
import { SANDBOX_SOCKET_DIRECTORY, SOCKET_FILE_NAME } from "../protocol/paths.ts";
import { buildContainerRequest, type SandboxLimits } from "../sandbox/container-profile.ts";
import type { DockerEngine } from "../sandbox/docker-engine.ts";
import { OnDemandSource } from "../sandbox/on-demand-source.ts";
import { SocketListener } from "../sandbox/socket-listener.ts";
import type { StateDirectory } from "../sandbox/state-directory.ts";
import type { Comparison } from "./report.ts";

const WARM_UP = 300;
const CALLS = 2_000;
const LIMITS: SandboxLimits = { memoryMb: 512, cpus: 1, pids: 256 };
const OUTPUT = { maxOutputBytes: 1_000_000, maxStderrBytes: 100_000 };

export interface SandboxedBench {
  engine: DockerEngine;
  state: StateDirectory;
  image: string;
}

/**
 * The round trip of a call through runner, broker and a server that answers at once, against a bare echo of as many bytes
 * over the same kind of socket. Both are timed from inside a sandbox.
 */
export async function measureBrokeredCall(bench: SandboxedBench): Promise<Comparison> {
  const baselineMs: number[] = [];
  const measuredMs: number[] = [];
  for (let round = 0; round < 3; round++) {
    baselineMs.push(...(await timeEcho(bench)));
    measuredMs.push(...(await timeCalls(bench)));
  }
  return { name: "brokered call", measuredMs, against: "a bare echo", baselineMs, maxRatio: 2 };
}

const TIME = (call: string) => `
  const times = [];
  for (let i = 0; i < ${WARM_UP + CALLS}; i++) {
    const startedAt = performance.now();
    ${call}
    if (i >= ${WARM_UP}) times.push(Math.round((performance.now() - startedAt) * 1e6) / 1e6);
  }`;

async function timeEcho({ engine, state, image }: SandboxedBench): Promise<number[]> {
  const socketDirectory = state.makeSocketDirectory();
  const listener = await SocketListener.listen(socketDirectory);
  void listener.connection.then((socket) => socket.pipe(socket));
  const digest = (await engine.findImage(image))?.digest ?? image;
  const request = buildContainerRequest({
    image: digest,
    runtime: "runsc",
    limits: LIMITS,
    socketDirectory,
    emptyFile: state.emptyFile,
    labels: {},
  });
  const script = `
    const socket = require("net").connect("${SANDBOX_SOCKET_DIRECTORY}/${SOCKET_FILE_NAME}");
    const message = Buffer.alloc(90, 97);
    (async () => {${TIME("await new Promise((done) => { socket.once('data', done); socket.write(message); });")}
      console.log(JSON.stringify(times));
      process.exit(0);
    })();`;
  const chunks: Buffer[] = [];
  const output = { onStdout: (chunk: Buffer) => void chunks.push(Buffer.from(chunk)), onStderr() {} };
  const container = await engine.start({ ...request, Cmd: ["-e", script] }, output);
  await container.exited;
  return JSON.parse(Buffer.concat(chunks).toString()) as number[];
}

async function timeCalls({ engine, state, image }: SandboxedBench): Promise<number[]> {
  const tool: KnownTool = {
    namespacedName: "mcp__bench__add",
    server: "bench",
    name: "add",
    definitionDigest: "same",
    inputSchema: {
      type: "object",
      properties: { a: { type: "number" } },
      required: ["a"],
      additionalProperties: false,
    },
    outputSchema: undefined,
    destructive: false,
  };
  const answer = { content: [{ type: "text", text: '{"sum":2}' }] };
  const server = { definitionDigest: () => "same", call: async () => answer };
  const dispatcher = new Dispatcher({
    tools: new Map([[tool.namespacedName, tool]]),
    policy: { allow: undefined, block: [], ask: [], neverAsk: [] },
    servers: { connect: async () => server },
    validator: new IsolatingValidator(),
  });
  const output = new RunnerOutput(OUTPUT, OUTPUT.maxOutputBytes, () => {});
  const code = `${TIME("await mcp__bench__add({ a: 1 });")}\nglobalThis.result = times;`;
  const source = new OnDemandSource({
    engine,
    state,
    owner: "bench",
    image,
    runtime: "runsc",
    limits: LIMITS,
  });
  const [sandbox, bundled] = await Promise.all([
    source.acquire(output),
    bundleProgram(
      { code, data: {}, language: "javascript", fileName: "bench.js" },
      { modules: () => [], load: async () => undefined },
    ),
  ]);
  if (!bundled.ok) throw new Error(bundled.message);
  const approvals = new RunApprovals("bench", { ask: async () => ({ decision: "denied", by: "nobody" }) });
  const session = new BrokerSession(
    sandbox.channel,
    { maxParallelCalls: 10, maxToolCalls: 100_000 },
    (call, signal) => dispatcher.dispatch(call, { approvals, signal }),
  );
  await session.ready;
  session.sendProgram({
    type: "program",
    bundle: bundled.bundle,
    data: {},
    max_output_bytes: OUTPUT.maxOutputBytes,
    max_stderr_bytes: OUTPUT.maxStderrBytes,
  });
  const end = await session.ended;
  if (end.kind !== "done") throw new Error(`the benchmark's program ended as ${JSON.stringify(end)}`);
  await output.reached(end);
  await sandbox.dispose();
  return (JSON.parse(output.stdout.toString()) as { data: number[] }).data;
}
