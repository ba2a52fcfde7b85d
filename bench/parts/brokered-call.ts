import type { Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { RunApprovals } from "../../broker/approvals/approvals.ts";
import { Dispatcher } from "../../broker/dispatcher.ts";
import { PolicyAuthorizer } from "../../broker/policy/authorizer.ts";
import { SandboxConnection } from "../../broker/sandbox-connection.ts";
import { IsolatingValidator } from "../../broker/schemas/schema-validator.ts";
import { RunnerOutput } from "../../execution/output/runner-output.ts";
import { RUNNER_STARTS } from "../../languages/languages.ts";
import { bundleProgram } from "../../languages/typescript/bundling/bundle.ts";
import { SOCKET_FILE_NAME } from "../../protocol/runners.ts";
import { buildContainerRequest } from "../../sandbox/docker/container-profile.ts";
import type { DockerEngine } from "../../sandbox/docker/docker-engine.ts";
import type { SocketFolder } from "../../sandbox/guard-channel.ts";
import { OutputSockets, SocketListener } from "../../sandbox/guard-channel.ts";
import type { SandboxEngine } from "../../sandbox/sandbox-engine.ts";
import type { SandboxLimits } from "../../sandbox/sandbox-profile.ts";
import { SandboxStarter } from "../../sandbox/sandbox-starter.ts";
import { toolOf } from "../../tests/catalog/tool-of.ts";
import type { Comparison } from "../measurement.ts";

const SHORT: Rounds = { warmUp: 300, calls: 2_000 };
const LARGE: Rounds = { warmUp: 1, calls: 5 };
const LARGE_BYTES = 10_000_000;
const LIMITS: SandboxLimits = { memoryMb: 512, cpus: 1, pids: 256 };
const ROUNDS = 3;
const SETTLE_MS = 500;
const OUTPUT = { maxOutputBytes: 1_000_000, maxStderrBytes: 100_000 };

interface Rounds {
  warmUp: number;
  calls: number;
}

export interface SandboxedBench {
  engine: SandboxEngine;
  /** The Docker client that starts a bare container. */
  containers: DockerEngine;
  /** The folder for the sockets of a bare container. */
  sockets: SocketFolder;
  image: string;
}

/**
 * The round trip of a call through the runner, the broker and a server that answers immediately, against a bare echo of as many
 * bytes over the same kind of socket. Both are timed inside a sandbox.
 */
export async function measureBrokeredCall(bench: SandboxedBench): Promise<Comparison> {
  const echo = "await new Promise((done) => { socket.once('data', done); socket.write(message); });";
  const measured = await inPairs(
    () => timeEcho(bench, TIME(echo, SHORT), echoing),
    () => timeShortCalls(bench),
  );
  return { name: "a brokered call", ...measured, against: "a bare echo", maxRatio: 2 };
}

/** How long each of many calls with a short answer takes, timed from inside a sandbox, in milliseconds. */
export function timeShortCalls(bench: Pick<SandboxedBench, "engine" | "image">): Promise<number[]> {
  const call = "{ const { sum } = await mcp__bench__add({ a: 1 }); if (sum !== 2) throw sum; }";
  return timeCalls(bench, TIME(call, SHORT), '{"sum":2}');
}

/** A result of 10 MB on its way from the server's answer into the program, against as many bare bytes over such a socket. */
export async function measureLargeResult(bench: SandboxedBench): Promise<Comparison> {
  const echo = `await new Promise((done) => {
    let left = ${LARGE_BYTES};
    const take = (chunk) => { left -= chunk.length; if (left <= 0) { socket.off('data', take); done(); } };
    socket.on('data', take);
    socket.write(message);
  });`;
  const call = `{ const { text } = await mcp__bench__add({ a: 1 }); if (text.length < ${LARGE_BYTES - 100}) throw text.length; }`;
  const answer = JSON.stringify({ text: "lorem ipsum ".repeat(LARGE_BYTES / 12) });
  const bytes = Buffer.alloc(LARGE_BYTES, 97);
  const measured = await inPairs(
    () => timeEcho(bench, TIME(echo, LARGE), (socket) => socket.on("data", () => socket.write(bytes))),
    () => timeCalls(bench, TIME(call, LARGE), answer),
  );
  return { name: "a result of 10 MB", ...measured, against: "a bare echo of it", maxRatio: 1.5 };
}

async function inPairs(
  baseline: () => Promise<number[]>,
  measured: () => Promise<number[]>,
): Promise<Pick<Comparison, "baselineMs" | "measuredMs">> {
  const baselineMs: number[] = [];
  const measuredMs: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    baselineMs.push(...(await baseline()));
    measuredMs.push(...(await measured()));
  }
  return { baselineMs, measuredMs };
}

const echoing = (socket: Socket) => socket.pipe(socket);

/** The text of a program that times a call inside its sandbox. */
const TIME = (call: string, { warmUp, calls }: Rounds) => `
  const times = [];
  for (let i = 0; i < ${warmUp + calls}; i++) {
    const startedAt = performance.now();
    ${call}
    if (i >= ${warmUp}) times.push(Math.round((performance.now() - startedAt) * 1e6) / 1e6);
  }`;

async function timeEcho(
  { containers, sockets, image }: SandboxedBench,
  timing: string,
  answer: (socket: Socket) => unknown,
): Promise<number[]> {
  const socketDirectory = sockets.makeSocketDirectory();
  const listener = await SocketListener.listen(socketDirectory, SOCKET_FILE_NAME);
  void listener.connection.then(answer);
  const digest = (await containers.findImage(image))?.digest ?? image;
  const request = buildContainerRequest({
    image: digest,
    runtime: "runsc",
    start: RUNNER_STARTS.javascript,
    limits: LIMITS,
    socketDirectory,
    labels: {},
  });
  const script = `
    const socket = new (require("net").Socket)({ fd: Number(process.argv.at(-1).replace("--channel=", "")) });
    const message = Buffer.alloc(90, 97);
    (async () => {${timing}
      console.log(JSON.stringify(times));
      process.exit(0);
    })();`;
  const chunks: Buffer[] = [];
  const output = { onStdout: (chunk: Buffer) => void chunks.push(Buffer.from(chunk)), onStderr() {} };
  const written = await OutputSockets.listen(socketDirectory, output);
  const container = await containers.start({ ...request, Cmd: ["node", "-e", script, "--"] }, output);
  await container.exited;
  await written.ended();
  return JSON.parse(Buffer.concat(chunks).toString()) as number[];
}

async function timeCalls(
  bench: Pick<SandboxedBench, "engine" | "image">,
  timing: string,
  answerText: string,
): Promise<number[]> {
  const { data } = await runInside(bench, `${timing}\nglobalThis.result = times;`, answerText);
  return data as number[];
}

/**
 * Runs one program in a sandbox that has started and said hello.
 *
 * @returns the program's value, and the time from sending the program until its claim arrived.
 */
export async function runInside(
  { engine, image }: Pick<SandboxedBench, "engine" | "image">,
  code: string,
  answerText = "{}",
): Promise<{ data: unknown; tookMs: number }> {
  const tool = toolOf("bench", "add", {
    definitionDigest: "same",
    inputSchema: {
      type: "object",
      properties: { a: { type: "number" } },
      required: ["a"],
      additionalProperties: false,
    },
  });
  const answer = { content: [{ type: "text", text: answerText }] };
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
  const source = new SandboxStarter({ engine, owner: "bench", image, runtime: "runsc", limits: LIMITS });
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
  // A sandbox in a pool would also have finished its start-up work.
  await delay(SETTLE_MS);
  const sentAt = performance.now();
  connection.sendProgram({
    type: "program",
    bundle: bundled.bundle,
    data: {},
    max_output_bytes: OUTPUT.maxOutputBytes,
    max_stderr_bytes: OUTPUT.maxStderrBytes,
    environment: { seed: "00".repeat(32), time_zone: "UTC" },
  });
  await output.firstLine;
  const tookMs = performance.now() - sentAt;
  const end = await connection.ended;
  if (end.kind !== "done") throw new Error(`the benchmark's program ended as ${JSON.stringify(end)}`);
  await output.reached(end);
  await sandbox.dispose();
  return { data: (JSON.parse(output.stdout.toString()) as { data: unknown }).data, tookMs };
}
