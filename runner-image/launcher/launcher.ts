/**
 * The launcher: the first process of a pod that waits for a program. It starts the guard, which starts the runner, and relays
 * between them and the first ptc that connects, over one stream (protocol/launcher.ts). There is never a second connection:
 * when the first one or the guard ends, the launcher ends, and the pod with it.
 *
 *     node launcher.mjs [NAME=VALUE...] -- COMMAND [ARGUMENT...]
 *
 * It has access to the pod's network and to a key. The guard keeps the program from both (`--alone`). The runner has the other end
 * of a socket to the launcher as its channel (`--direct`), so that each message passes one process, which is this one.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { connect as connectTls, createServer as createTlsServer, type SecureContextOptions } from "node:tls";
import { GUARD_EXITS, guardFrame } from "../../protocol/guard.ts";
import {
  LAUNCHER_CERTIFICATES,
  LAUNCHER_COMMAND_MARK,
  LAUNCHER_EXIT,
  LAUNCHER_PATIENCE_MS,
  LAUNCHER_POD_VARIABLE,
  LAUNCHER_PORT,
  LAUNCHER_SOCKET,
} from "../../protocol/launcher.ts";
import { relay } from "./relay.ts";

/** The most connections during the TLS handshake. */
const MAX_HANDSHAKES = 16;
const HANDSHAKE_PATIENCE_MS = 5_000;
/** How long ptc may take to read the last bytes. */
const READ_PATIENCE_MS = 10_000;
/** The exit code of a process that SIGKILL ended. */
const SIGKILLED = 137;

const args = process.argv.slice(2);
const mark = args.indexOf(LAUNCHER_COMMAND_MARK);
const [program = "", ...rest] = args.slice(mark + 1);
const variables = args.slice(0, mark).map((pair): [string, string] => {
  const [name = "", ...value] = pair.split("=");
  return [name, value.join("=")];
});

const [channel, runnersEnd] = await socketPair();
// Only the image's PATH of the pod's environment reaches the program.
const guard = spawn(program, rest, {
  stdio: [runnersEnd, "pipe", "inherit"],
  env: { PATH: process.env.PATH, ...Object.fromEntries(variables) },
});
runnersEnd.destroy();
guard.on("error", (error) => end(SIGKILLED, `${program}: ${error.message}`));
// The pipe is a socket, over which the guard also listens.
const control = guard.stdout as Socket;
for (const stream of [channel, control]) stream.on("error", () => {});
/** Resolves with the exit code when the guard has said it, or has ended without saying it. */
const ended = Promise.withResolvers<number>();
guard.on("close", (code) => ended.resolve(code ?? SIGKILLED));
// Before ptc connects, there is nothing to relay.
void ended.promise.then((code) => {
  if (!isTaken) end(code, `the guard has ended with exit code ${code} before anybody connected`);
});

let isTaken = false;
const local = createServer((socket) => take(socket));
local.listen(`\0${LAUNCHER_SOCKET}`);
const remote = openRemote();

/** Accepts the first connection, and refuses all others. */
function take(stream: Duplex): void {
  if (isTaken) {
    stream.destroy();
    return;
  }
  isTaken = true;
  local.close();
  remote?.close();
  stream.on("error", () => {});
  stream.on("close", () => end(GUARD_EXITS.unattended));
  let silence = setTimeout(() => end(GUARD_EXITS.unattended), LAUNCHER_PATIENCE_MS);
  stream.on("data", () => {
    silence = silence.refresh();
  });
  stream.on("end", () => end(GUARD_EXITS.unattended));
  stream.write(`${process.env[LAUNCHER_POD_VARIABLE] ?? ""}\n`);
  const { exitCode, drained } = relay({ stream, channel, control });
  void exitCode.then(ended.resolve);
  void ended.promise.then(async (code) => {
    setTimeout(() => end(code), READ_PATIENCE_MS);
    await drained;
    stream.removeAllListeners("close");
    stream.on("close", () => end(code));
    stream.end(guardFrame(LAUNCHER_EXIT, code));
  });
}

/** Two ends of a connection in this process, one of which is to be another process's. */
async function socketPair(): Promise<[Socket, Socket]> {
  const server = createServer().listen(`\0${LAUNCHER_SOCKET}-runner`);
  const other = once(server, "connection");
  const one = connect(`\0${LAUNCHER_SOCKET}-runner`);
  const [accepted] = (await other) as [Socket];
  server.close();
  return [accepted, one];
}

/** Listens for clients with a certificate of the same authority, unless the pod has no certificate. */
function openRemote() {
  const read = (name: string) => readFileSync(join(LAUNCHER_CERTIFICATES, name));
  let identity: { ca: Buffer; cert: Buffer; key: Buffer };
  try {
    identity = { ca: read("ca.crt"), cert: read("tls.crt"), key: read("tls.key") };
  } catch {
    return undefined;
  }
  const options = { ...identity, requestCert: true, minVersion: "TLSv1.3" as const };
  rehearse(options);
  const server = createTlsServer({
    ...options,
    rejectUnauthorized: true,
    handshakeTimeout: HANDSHAKE_PATIENCE_MS,
  });
  server.maxConnections = MAX_HANDSHAKES;
  server.on("secureConnection", (socket) => {
    socket.setNoDelay(true);
    if (socket.authorized) take(socket);
    else socket.destroy();
  });
  server.on("tlsClientError", (_error, socket) => socket.destroy());
  server.listen(LAUNCHER_PORT);
  return server;
}

/**
 * Makes one connection to itself, so that the first one of ptc finds all code of a handshake loaded and compiled. One
 * line feed is said over it, and neither end looks at who the other is.
 */
function rehearse(identity: SecureContextOptions): void {
  const path = `\0${LAUNCHER_SOCKET}-rehearsal`;
  const server = createTlsServer({ ...identity, requestCert: true, rejectUnauthorized: false }, (socket) => {
    socket.on("error", () => {});
    socket.end("\n");
    server.close();
  });
  server.on("error", () => {});
  server.listen(path, () => {
    const socket = connectTls({ ...identity, path, rejectUnauthorized: false });
    socket.on("error", () => {});
    socket.resume();
  });
}

/** Ends the pod, because no process outlives the first one. */
function end(code: number, message?: string): void {
  if (message !== undefined) process.stderr.write(`${message}\n`);
  process.exit(code);
}
