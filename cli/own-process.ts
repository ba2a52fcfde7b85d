/** Runs the command of this process, here or in a background host, and ends the process. */
import type { Delegation } from "../project/background/ask-host.ts";
import { HOST_PROCESS, mayAskHost } from "../project/background/host-process.ts";
import { runAtFront } from "./front.ts";

const { argv, env } = process;
let asked: Delegation = { kind: "here", mayStart: false };
const here = {
  argv,
  env,
  cwd: () => process.cwd(),
  on: (event: NodeJS.Signals, listener: () => void) => process.on(event, listener),
  exit: (code: number) => process.exit(code),
  // Node.js opens each stream when it is first read.
  get stdin() {
    return (asked.kind === "here" ? asked.stdin : undefined) ?? process.stdin;
  },
  get stdout() {
    return process.stdout;
  },
  get stderr() {
    return openStderr();
  },
};

const isHost = argv[2] === HOST_PROCESS;
// From its sources, ptc loads all commands for what is done at the front, because nothing is written of them yet.
const front = isHost || !import.meta.url.endsWith(".js") ? undefined : await runAtFront(here);
if (typeof front === "number") process.exit(front);
// The code that runs programs is not loaded if a background host runs them.
if (mayAskHost(here)) asked = await (await import("../project/background/ask-host.ts")).askHost(process);
if (asked.kind === "done") process.exit(asked.exitCode);

const { main, reportStray } = await import("./main.ts");
const { installLastResort } = await import("../base/faults.ts");
installLastResort(process, (fault) => reportStray(fault, here));
if (isHost) {
  openStderr();
  const { runBackgroundHost } = await import("../project/background/background-host.ts");
  await runBackgroundHost(process, argv[3], main);
  process.exit(0);
}
if (asked.why !== undefined) {
  const then = asked.lostRun === undefined ? "continuing alone" : "the program is not run again";
  here.stderr.write(`ptc: ${asked.why}; ${then}\n`);
}
process.exit(await main(Object.assign(here, { withoutHost: asked }), front));

/** A client may close stderr and continue. That must not be a fault, because the fault would be reported on stderr again. */
function openStderr(): typeof process.stderr {
  if (process.stderr.listenerCount("error") === 0) process.stderr.on("error", () => {});
  return process.stderr;
}
