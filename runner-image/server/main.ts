/**
 * The launcher: starts a server in its sandbox and passes its connections to ptc, over the sandbox's channel (protocol/multiplexer.ts). It
 * is as untrusted as the server: what it says about a connection, ptc checks again. Where the guard has sockets for the server's stdin and
 * stdout, the server gets them unchanged; otherwise its messages go over the channel too.
 *
 * A sandbox has no network. Each host that the server may reach has a loopback address of its own, which `/etc/hosts` names; the
 * launcher listens there and passes each connection on. A name of a pattern gets its address from the launcher's resolver when it
 * is first asked for. Any other name does not exist.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { closeSync } from "node:fs";
import { createServer, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { text } from "node:stream/consumers";
import { Multiplexer } from "../../protocol/multiplexer.ts";
import {
  LAUNCH_STREAMS,
  LAUNCHER_STDIO,
  type LauncherRequest,
  matchesHost,
  type ServerEnd,
  type ServerLaunch,
} from "../../protocol/server-launch.ts";
import { listenForNames } from "./resolver.ts";

/** The most names of patterns that get an address. */
const MAX_PATTERN_NAMES = 500;
/** The most names that ptc is told of. */
const MAX_UNKNOWN_NAMES = 200;

/** Guards pass the number of the channel as the last argument. */
function openChannel(): Socket {
  const number = process.argv.at(-1)?.match(/^--channel=(\d+)$/)?.[1];
  return new Socket({ fd: Number(number), readable: true, writable: true });
}

/** The sockets that are to be the server's stdin and stdout; undefined if its messages go over the channel. */
function findStdio(): number[] | undefined {
  const numbers = LAUNCHER_STDIO.flatMap(
    (name) => process.argv.find((argument) => argument.startsWith(name))?.slice(name.length) ?? [],
  );
  return numbers.length === LAUNCHER_STDIO.length ? numbers.map(Number) : undefined;
}

const streams = new Map<string, Duplex>();
let signalServer: (signal: NodeJS.Signals) => void = () => {};
const multiplexer = new Multiplexer(openChannel(), {
  end: "launcher",
  onStream(stream, label) {
    if (label === LAUNCH_STREAMS.launch) void launch(stream);
    else if (label === "SIGTERM") signalServer(label);
    else streams.set(label, stream);
  },
  onEnd: () => process.exit(0),
});
// The first frame says that the launcher is there.
multiplexer.open("hello").destroy();

async function launch(stream: Duplex): Promise<void> {
  // ptc wrote this.
  const { command, args, env, cwd, hosts, patterns } = JSON.parse(await text(stream)) as ServerLaunch;
  const errors = streams.get(LAUNCH_STREAMS.errors);
  if (errors === undefined) throw new Error("ptc opened no streams");
  await Promise.all(
    hosts.flatMap(({ host, address, ports }) => ports.map((port) => relay(host, address, port))),
  );
  await resolveNames(patterns);
  const stdio = findStdio();
  const [input = "pipe", output = "pipe"]: (number | "pipe")[] = stdio ?? [];
  const child: ChildProcess = spawn(command, args, { cwd, env, stdio: [input, output, "pipe"] });
  // Only the server has them, because its end is visible only when no other process has them open.
  if (stdio !== undefined) for (const file of stdio) closeSync(file);
  else passMessages(child, streams.get(LAUNCH_STREAMS.messages));
  child.stderr?.pipe(errors);
  const tell = (end: ServerEnd) => stream.end(`${JSON.stringify(end)}\n`);
  child.on("spawn", () => stream.write('{"started":true}\n'));
  signalServer = (signal) => child.kill(signal);
  child.on("error", (error: NodeJS.ErrnoException) => tell({ error: error.code ?? error.message }));
  // Not when its output ends, which a process that it leaves behind may have open for ever. ptc reads the rest for a while.
  child.on("exit", (code, signal) => tell({ code, signal }));
}

function passMessages({ stdin, stdout }: ChildProcess, messages: Duplex | undefined): void {
  if (stdin === null || stdout === null || messages === undefined)
    throw new Error("there is no way for its messages");
  stdin.on("error", () => {});
  messages.pipe(stdin);
  messages.on("close", () => stdin.destroy());
  stdout.pipe(messages);
}

/** Passes connections to an address on. Never rejects. */
function relay(host: string, address: string, port: number): Promise<void> {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    const stream = multiplexer.open(
      JSON.stringify({ kind: "connect", host, port } satisfies LauncherRequest),
    );
    socket.on("error", () => stream.destroy());
    socket.pipe(stream);
    stream.pipe(socket);
    stream.on("close", () => (stream.readableEnded ? socket.end() : socket.resetAndDestroy()));
    socket.on("close", () => stream.destroy());
  });
  return new Promise((resolve) => {
    server.on("error", (error) => {
      process.stderr.write(`${address}:${port}: ${error.message}\n`);
      resolve();
    });
    server.listen(port, address, resolve);
  });
}

/** Answers for names that `/etc/hosts` does not have. */
function resolveNames(patterns: ServerLaunch["patterns"]): Promise<void> {
  const addresses = new Map<string, Promise<string>>();
  const told = new Set<string>();
  return listenForNames(async (name) => {
    const known = addresses.get(name);
    if (known !== undefined) return known;
    const found = patterns.filter(({ pattern }) => matchesHost(name, pattern));
    if (found.length > 0 && addresses.size < MAX_PATTERN_NAMES) {
      const number = addresses.size;
      const address = `127.128.${number >> 8}.${(number & 255) + 1}`;
      const ports = [...new Set(found.flatMap((each) => each.ports))];
      const listening = Promise.all(ports.map((port) => relay(name, address, port))).then(() => address);
      addresses.set(name, listening);
      return listening;
    }
    if (!told.has(name) && told.size < MAX_UNKNOWN_NAMES) {
      told.add(name);
      multiplexer.open(JSON.stringify({ kind: "unknown", host: name } satisfies LauncherRequest)).destroy();
    }
    return undefined;
  });
}
