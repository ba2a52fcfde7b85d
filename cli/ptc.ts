#!/usr/bin/env node
/** The `ptc` command: refuses a Node.js that is too old before it loads anything that would fail in it, then runs. */
import module from "node:module";

const OLDEST = [20, 19] as const;

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1])) {
  process.stderr.write(`ptc: needs Node.js ${OLDEST.join(".")} or newer, and this is ${process.version}\n`);
  process.exit(2);
}

// json-schema-to-typescript prints to stdout, which is ours, when this is set.
delete process.env.VERBOSE;

// What a library should no longer use is nothing that a user of ptc could change; stderr is their program's.
process.noDeprecation = true;

module.enableCompileCache?.();
const { main } = await import("./main.ts");
process.exit(await main(process));
