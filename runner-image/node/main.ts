/**
 * The runner: what a sandbox runs. It has a connection to the broker, warms itself, says hello and waits; then it runs
 * its program and prints one line, the claim, on stdout. In a session it then waits for the next one. It is trusted with
 * nothing: the program shares its process.
 */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { PROTOCOL_VERSION } from "../../protocol/limits.ts";
import { WORKSPACE } from "../../protocol/paths.ts";
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
const channel = new Channel(
  new SocketConnection(Number(inherited?.replace("--channel=", ""))),
  environment,
  (program) => {
    const number = bundleUrls.size === 0 ? "" : `-${bundleUrls.size + 1}`;
    const bundleUrl = pathToFileURL(join(WORKSPACE, `.program${number}.mjs`)).href;
    bundleUrls.add(bundleUrl);
    run.start(program, () =>
      program.session === true
        ? modules.import(bundleUrl, program.bundle)
        : modules.importLast(bundleUrl, program.bundle),
    );
  },
  () => channel.send(HELLO),
);
await warmUp(modules);
environment.install();
installStackTraces(bundleUrls);
const run = new ProgramRun(channel, environment);
run.rehearse();
channel.send(HELLO);
