import { type ParseArgsOptionsConfig, parseArgs } from "node:util";

/** Reads the flags of a script. With a mistake among them it says which, and how the script is used, and exits with 2. */
export function readFlags<T extends ParseArgsOptionsConfig>(script: string, usage: string, options: T) {
  try {
    return parseArgs({ options }).values;
  } catch (error) {
    return refuseFlags(script, usage, error instanceof Error ? error.message : String(error));
  }
}

/** The value of a flag that takes a whole number. */
export function readCount(script: string, usage: string, flag: string, value: string, least = 0): number {
  return /^[0-9]{1,10}$/.test(value) && Number(value) >= least
    ? Number(value)
    : refuseFlags(script, usage, `${flag} takes a whole number from ${least} on, not '${value}'`);
}

function refuseFlags(script: string, usage: string, message: string): never {
  process.stderr.write(`${script}: ${message}\n\n${usage}\n`);
  process.exit(2);
}
