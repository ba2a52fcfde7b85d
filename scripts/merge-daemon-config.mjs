// Reads Docker's daemon.json on stdin (empty: none yet), writes it to stdout with gVisor's runtime registered.
// Everything else in the configuration stays unchanged. Plain JavaScript, so that any Node can run it
// before the project's dependencies are installed.
//
//   node merge-daemon-config.mjs --runsc PATH [--need FLAG_OF_RUNSC]... [--no-bridge] -- [FLAG_OF_RUNSC]...  <old  >new
//
// A new runtime gets all the flags; an existing one gets only those that it needs and lacks.
import { existsSync, readFileSync } from "node:fs";
import { parseArgs } from "node:util";

const { values, positionals } = parseArgs({
  options: {
    runsc: { type: "string" },
    need: { type: "string", multiple: true, default: [] },
    "no-bridge": { type: "boolean", default: false },
  },
  allowPositionals: true,
});

function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function fail(message) {
  process.stderr.write(`daemon.json ${message}; correct it and try again.\n`);
  process.exit(1);
}

function parseConfig(text) {
  if (text.trim() === "") return {};
  let config;
  try {
    config = JSON.parse(text);
  } catch (error) {
    fail(`is not JSON (${error.message})`);
  }
  if (!isObject(config)) fail("is not a JSON object");
  if (config.runtimes !== undefined && !isObject(config.runtimes))
    fail('has a "runtimes" that is not an object');
  return config;
}

/** The name of a flag: "--platform=ptrace", "-platform" and "--platform" are the same one. */
function flagName(argument) {
  return argument.replace(/^-+/, "").split("=")[0];
}

function buildRuntime(present) {
  if (!isObject(present)) return { path: values.runsc, runtimeArgs: [...values.need, ...positionals] };
  if (present.runtimeType !== undefined) return present; // A containerd shim has its flags in a separate file.
  const gone = present.path?.startsWith("/") && !existsSync(present.path);
  const args = present.runtimeArgs ?? [];
  const names = new Set(args.map(flagName));
  return {
    ...present,
    path: gone ? values.runsc : (present.path ?? values.runsc),
    runtimeArgs: [...args, ...values.need.filter((argument) => !names.has(flagName(argument)))],
  };
}

const config = parseConfig(readFileSync(0, "utf8"));
const merged = {
  ...config,
  runtimes: { ...config.runtimes, runsc: buildRuntime(config.runtimes?.runsc) },
  // If dockerd cannot write firewall rules, it does not start unless told to leave them alone.
  ...(values["no-bridge"] ? { iptables: false, bridge: "none" } : {}),
};
process.stdout.write(`${JSON.stringify(merged, null, 2)}\n`);
