import { RunApprovals } from "../broker/approvals.ts";
import { Dispatcher } from "../broker/dispatcher.ts";
import { PolicyAuthorizer } from "../broker/policy/authorizer.ts";
import { SandboxConnection } from "../broker/sandbox-connection.ts";
import { IsolatingValidator } from "../broker/schemas/schema-validator.ts";
import { RunnerOutput } from "../execution/output/runner-output.ts";
import { bundleProgram } from "../execution/typescript/bundling/bundle.ts";
import { SANDBOX_SOCKET_DIRECTORY, SOCKET_FILE_NAME } from "../protocol/paths.ts";
import type { SocketFolder } from "../sandbox/docker/channel/socket-folder.ts";
import { SocketListener } from "../sandbox/docker/channel/socket-listener.ts";
import { buildContainerRequest } from "../sandbox/docker/container-profile.ts";
import type { DockerEngine } from "../sandbox/docker/docker-engine.ts";
import { OnDemandSource } from "../sandbox/on-demand-source.ts";
import type { SandboxEngine, SandboxLimits } from "../sandbox/sandbox-engine.ts";
import { toolOf } from "../tests/catalog/tool-of.ts";
import type { Comparison } from "./report.ts";

const WARM_UP = 300;
const CALLS = 2_000;
const LIMITS: SandboxLimits = { memoryMb: 512, cpus: 1, pids: 256 };
const OUTPUT = { maxOutputBytes: 1_000_000, maxStderrBytes: 100_000 };

export interface SandboxedBench {
  engine: SandboxEngine;
  /** What the engine starts sandboxes with. */
  containers: DockerEngine;
  /** Where sockets for a bare container go. */
  sockets: SocketFolder;
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

async function timeEcho({ containers, sockets, image }: SandboxedBench): Promise<number[]> {
  const socketDirectory = sockets.makeSocketDirectory();
  const listener = await SocketListener.listen(socketDirectory);
  void listener.connection.then((socket) => socket.pipe(socket));
  const digest = (await containers.findImage(image))?.digest ?? image;
  const request = buildContainerRequest({
    image: digest,
    runtime: "runsc",
    limits: LIMITS,
    socketDirectory,
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
  const container = await containers.start({ ...request, Cmd: ["node", "-e", script] }, output);
  await container.exited;
  return JSON.parse(Buffer.concat(chunks).toString()) as number[];
}

async function timeCalls({ engine, image }: SandboxedBench): Promise<number[]> {
  const tool = toolOf("bench", "add", {
    definitionDigest: "same",
    inputSchema: {
      type: "object",
      properties: { a: { type: "number" } },
      required: ["a"],
      additionalProperties: false,
    },
  });
  const answer = { content: [{ type: "text", text: '{"sum":2}' }] };
  const server = { definitionDigest: () => "same", call: async () => answer };
  const dispatcher = new Dispatcher({
    context: { principal: "local", source: "run" },
    tools: new Map([[tool.namespacedName, tool]]),
    authorizer: new PolicyAuthorizer({
      allow: undefined,
      block: [],
      ask: [],
      neverAsk: [],
      byDefault: "annotated",
    }),
    servers: { connect: async () => server },
    validator: new IsolatingValidator(),
  });
  const output = new RunnerOutput(OUTPUT, OUTPUT.maxOutputBytes, () => {});
  const code = `${TIME("await mcp__bench__add({ a: 1 });")}\nglobalThis.result = times;`;
  const source = new OnDemandSource({
    engine,
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
  const connection = new SandboxConnection(
    sandbox.channel,
    { maxParallelCalls: 10, maxToolCalls: 100_000 },
    (call, signal) => dispatcher.dispatch(call, { approvals, signal }),
  );
  await connection.ready;
  connection.sendProgram({
    type: "program",
    bundle: bundled.bundle,
    data: {},
    max_output_bytes: OUTPUT.maxOutputBytes,
    max_stderr_bytes: OUTPUT.maxStderrBytes,
  });
  const end = await connection.ended;
  if (end.kind !== "done") throw new Error(`the benchmark's program ended as ${JSON.stringify(end)}`);
  await output.reached(end);
  await sandbox.dispose();
  return (JSON.parse(output.stdout.toString()) as { data: number[] }).data;
}
