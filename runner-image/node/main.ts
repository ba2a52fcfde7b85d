/**
 * The runner: what a sandbox runs. It connects to the broker's socket, warms itself, says hello and waits; then it runs
 * its one program and prints one line, the claim, on stdout. It is trusted with nothing: the program shares its process.
 */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { PROTOCOL_VERSION } from "../../protocol/limits.ts";
import { SANDBOX_SOCKET_DIRECTORY, SOCKET_FILE_NAME, WORKSPACE } from "../../protocol/paths.ts";
import { Channel } from "./channel.ts";
import { Environment } from "./environment/environment.ts";
import { ModulesInMemory } from "./modules-in-memory.ts";
import { ProgramRun } from "./program-run.ts";
import { installStackTraces } from "./stack-trace.ts";
import { warmUp } from "./warm-up.ts";

const environment = new Environment();
// The guard names the socket that it relays. Programs see the same arguments with and without it.
const [inherited] = process.argv
  .splice(2)
  .flatMap((argument) => /^--channel=(\d+)$/.exec(argument)?.[1] ?? []);
const broker = inherited === undefined ? join(SANDBOX_SOCKET_DIRECTORY, SOCKET_FILE_NAME) : Number(inherited);
const modules = new ModulesInMemory();
const bundleUrl = pathToFileURL(join(WORKSPACE, ".program.mjs")).href;
const channel = await Channel.connect(broker, environment.order, (program) => {
  run.start(program, () => modules.importLast(bundleUrl, program.bundle));
});
await warmUp(modules);
environment.install();
installStackTraces(bundleUrl);
const run = new ProgramRun(channel, environment);
run.rehearse();
channel.send({ type: "hello", protocol: PROTOCOL_VERSION, language: "javascript", runtime: process.version });
