/** Starts ptc, after `ptc.js` has checked that this Node.js has what ptc needs. */
import module from "node:module";

// json-schema-to-typescript prints to stdout, which must hold only the command's output, when this is set.
delete process.env.VERBOSE;

// Users of ptc can do nothing about deprecations in its libraries, and stderr belongs to their program.
process.noDeprecation = true;

module.enableCompileCache?.();
if (import.meta.url.endsWith(".js")) findPartsFaster(new URL("..", import.meta.url).href);
// The code that runs programs is not loaded if a background host runs them.
const { askHost } = await import("./background/ask-host.ts");
const asked = await askHost(process);
if (asked.kind === "done") process.exit(asked.exitCode);

// A client may close stderr and continue. That must not be a fault, because the fault would be reported on stderr again.
process.stderr.on("error", () => {});
const { main, reportStray } = await import("./main.ts");
const { installLastResort } = await import("../base/faults.ts");
installLastResort(process, (fault) => reportStray(fault, process));
const { HOST_PROCESS } = await import("./background/start-host.ts");
if (process.argv[2] === HOST_PROCESS) {
  const { runBackgroundHost } = await import("./background/background-host.ts");
  process.exit(await runBackgroundHost(process, process.argv[3], main));
}
if (asked.why !== undefined) {
  const then = asked.lostRun === undefined ? "continuing alone" : "the program is not run again";
  process.stderr.write(`ptc: ${asked.why}; ${then}\n`);
}
const { argv, env, stdin, stdout, stderr } = process;
const on = (event: NodeJS.Signals, listener: () => void) => process.on(event, listener);
const here = { argv, env, stdin: asked.stdin ?? stdin, stdout, stderr, on, withoutHost: asked };
process.exit(await main({ ...here, cwd: () => process.cwd(), exit: (code) => process.exit(code) }));

/** Spares most of what Node.js does to find a module for the built parts of this package, of which a run loads 180. */
function findPartsFaster(built: string): void {
  module.registerHooks?.({
    resolve: (specifier, context, next) =>
      /^\.\.?\/.*\.js$/.test(specifier) && context.parentURL?.startsWith(built) === true
        ? { url: new URL(specifier, context.parentURL).href, format: "module", shortCircuit: true }
        : next(specifier, context),
  });
}
