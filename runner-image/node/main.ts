/**
 * The runner: what a sandbox runs. It has a connection to the broker, says hello, and warms itself while it waits; then it runs
 * its program and prints one line, the claim, on stdout. In a session it then waits for the next one. It is trusted with
 * nothing: the program shares its process.
 */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { PROTOCOL_VERSION } from "../../protocol/limits.ts";
import { WORKSPACE } from "../../protocol/paths.ts";
import type { ProgramMessage } from "../../protocol/wire/messages.ts";
import { Channel } from "./channel.ts";
import { Environment } from "./environment/environment.ts";
import { SocketConnection } from "./host-connection.ts";
import { ModulesInMemory } from "./modules-in-memory.ts";
import { ProgramRun } from "./program-run.ts";
import { installStackTraces } from "./stack-trace.ts";
import { warmUp } from "./warm-up.ts";

const HELLO = {
  type: "hello",
  protocol: PROTOCOL_VERSION,
  language: "javascript",
  runtime: `Node.js ${process.versions.node}`,
} as const;

const environment = new Environment();
// Programs do not see the argument of the guard's.
const [inherited] = process.argv.splice(2);
const modules = new ModulesInMemory();
const bundleUrls = new Set<string>();
const firstBundleUrl = bundleUrlOf("");
let isReady = false;
/** A program that has come before the runner is ready for it. */
let early: ProgramMessage | undefined;
const greetings: (() => void)[] = [];
let noteArrival = () => {};
const arrival = new Promise<void>((resolve) => {
  noteArrival = resolve;
});
const channel = new Channel(
  new SocketConnection(Number(inherited?.replace("--channel=", ""))),
  environment,
  (program) => {
    if (isReady) return start(program);
    early = program;
    noteArrival();
  },
  (next) => {
    const greet = () => {
      channel.answer(next);
      channel.send(HELLO);
    };
    // Until then it may start threads of its own, and the guard would take them for a program's.
    if (isReady) greet();
    else greetings.push(greet);
  },
);
channel.send(HELLO);
await warmUp(modules, arrival);
environment.install();
installStackTraces(bundleUrls);
const run = new ProgramRun(channel, environment);
if (early === undefined) run.rehearse();
isReady = true;
for (const greet of greetings) greet();
if (early !== undefined) start(early);

function start(program: ProgramMessage): void {
  const bundleUrl = bundleUrls.size === 0 ? firstBundleUrl : bundleUrlOf(`-${bundleUrls.size + 1}`);
  bundleUrls.add(bundleUrl);
  run.start(program, () =>
    program.session === true
      ? modules.import(bundleUrl, program.bundle)
      : modules.importLast(bundleUrl, program.bundle),
  );
}

function bundleUrlOf(number: string): string {
  return pathToFileURL(join(WORKSPACE, `.program${number}.mjs`)).href;
}
