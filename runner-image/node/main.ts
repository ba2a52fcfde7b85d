/**
 * The runner: what a sandbox runs. It connects to the broker's socket, warms itself, says hello and waits; then it runs
 * its one program and prints one line, the claim, on stdout. It is trusted with nothing: the program shares its process.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { buildFailure } from "../../protocol/failure.ts";
import { PROTOCOL_VERSION } from "../../protocol/limits.ts";
import type { ProgramMessage } from "../../protocol/messages.ts";
import { SANDBOX_SOCKET_DIRECTORY, SOCKET_FILE_NAME, WORKSPACE } from "../../protocol/paths.ts";
import { Channel } from "./channel.ts";
import { Environment } from "./environment/environment.ts";
import { ProgramRun } from "./program-run.ts";
import { installStackTraces } from "./stack-trace.ts";
import { warmUp } from "./warm-up.ts";

const environment = new Environment();
// The guard names the socket that it relays. Programs see the same arguments with and without it.
const [inherited] = process.argv
  .splice(2)
  .flatMap((argument) => /^--channel=(\d+)$/.exec(argument)?.[1] ?? []);
const broker = inherited === undefined ? join(SANDBOX_SOCKET_DIRECTORY, SOCKET_FILE_NAME) : Number(inherited);
const bundlePath = join(WORKSPACE, ".program.mjs");
const bundleUrl = pathToFileURL(bundlePath).href;
const channel = await Channel.connect(broker, environment.order, start);
await warmUp();
environment.install();
installStackTraces(bundleUrl);
channel.send({ type: "hello", protocol: PROTOCOL_VERSION, language: "javascript", runtime: process.version });

function start(program: ProgramMessage): void {
  const run = new ProgramRun(program, channel, environment);
  try {
    writeFileSync(bundlePath, program.bundle);
  } catch (error) {
    run.fail(buildFailure("ScriptError", `the program does not fit into the sandbox: ${String(error)}`));
    return;
  }
  run.evaluate(bundleUrl);
}
