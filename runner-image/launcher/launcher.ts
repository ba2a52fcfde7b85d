/**
 * The launcher: the first process of a pod that waits for a program. It starts the guard, which starts the runner, and relays
 * between the guard and the first ptc that connects, over one stream (protocol/launcher.ts). There is never a second connection:
 * when the first one or the guard ends, the launcher ends, and the pod with it.
 *
 *     node launcher.mjs [NAME=VALUE...] -- COMMAND [ARGUMENT...]
 *
 * It has access to the pod's network and to a key. The guard keeps the program from both (`--alone`).
 */

import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { createServer as createTlsServer } from "node:tls";
import { GUARD_EXITS, GUARD_HEADER_BYTES } from "../../protocol/guard.ts";
import {
  LAUNCHER_CERTIFICATES,
  LAUNCHER_COMMAND_MARK,
  LAUNCHER_EXIT,
  LAUNCHER_PATIENCE_MS,
  LAUNCHER_POD_VARIABLE,
  LAUNCHER_PORT,
  LAUNCHER_SOCKET,
} from "../../protocol/launcher.ts";

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

// Only the image's PATH of the pod's environment reaches the program.
const guard = spawn(program, rest, {
  stdio: ["pipe", "pipe", "inherit"],
  env: { PATH: process.env.PATH, ...Object.fromEntries(variables) },
});
guard.on("error", (error) => end(SIGKILLED, `${program}: ${error.message}`));
guard.stdin.on("error", () => {});
const ended = new Promise<number>((resolve) => {
  guard.on("close", (code) => resolve(code ?? SIGKILLED));
});
// Before ptc connects, there is nothing to relay.
void ended.then((code) => {
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
  stream.pipe(guard.stdin);
  guard.stdout.pipe(stream, { end: false });
  void ended.then((code) => {
    const frame = Buffer.alloc(GUARD_HEADER_BYTES);
    frame.write(LAUNCHER_EXIT, "latin1");
    frame.writeUInt32BE(code, 1);
    setTimeout(() => end(code), READ_PATIENCE_MS);
    stream.removeAllListeners("close");
    stream.on("close", () => end(code));
    stream.end(frame);
  });
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
  const server = createTlsServer({
    ...identity,
    requestCert: true,
    rejectUnauthorized: true,
    minVersion: "TLSv1.3",
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

/** Ends the pod, because no process outlives the first one. */
function end(code: number, message?: string): void {
  if (message !== undefined) process.stderr.write(`${message}\n`);
  process.exit(code);
}
