/** `node:path` of programs in an interpreter, computed by the process, always with POSIX paths. */
import type { HostFunctions } from "../host-functions.ts";

/** Functions of texts, and of objects of texts, alone. */
const NAMES = [
  "basename",
  "dirname",
  "extname",
  "format",
  "isAbsolute",
  "join",
  "normalize",
  "parse",
  "relative",
  "resolve",
] as const;

export function makePath({ path: compute }: Pick<HostFunctions, "path">) {
  const functions = Object.fromEntries(
    NAMES.map((name) => [
      name,
      (...args: unknown[]): unknown => JSON.parse(compute(name, JSON.stringify(args))),
    ]),
  );
  const path: Record<string, unknown> = { ...functions, sep: "/", delimiter: ":" };
  path.posix = path;
  return path;
}
