#!/usr/bin/env node
/** The `ptc` command. Refuses a Node.js that is too old before it loads anything that such a version cannot run. */
import module from "node:module";

const OLDEST = [20, 19] as const;

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1])) {
  process.stderr.write(`ptc: needs Node.js ${OLDEST.join(".")} or newer, and this is ${process.version}\n`);
  process.exit(2);
}

// json-schema-to-typescript prints to stdout, which must hold only the command's output, when this is set.
delete process.env.VERBOSE;

// Users of ptc can do nothing about deprecations in its libraries, and stderr belongs to their program.
process.noDeprecation = true;

module.enableCompileCache?.();
const { main, reportStray } = await import("./main.ts");
const { installLastResort } = await import("../base/fault-boundary.ts");
installLastResort(process, (fault) => reportStray(fault, process));
process.exit(await main(process));
