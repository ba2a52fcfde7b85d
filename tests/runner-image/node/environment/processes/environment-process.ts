/** Runs programs one after the other in an environment, as a runner does, and prints what each returns and its trace. */
import { writeSync } from "node:fs";
import { createRequire } from "node:module";
import type { ProgramEnvironment } from "../../../../../protocol/messages.ts";
import { Environment } from "../../../../../runner-image/node/environment/environment.ts";

const programs = JSON.parse(process.argv[2] ?? "[]") as {
  code: string;
  environment?: ProgramEnvironment;
  isSession?: boolean;
}[];
const AsyncFunction = (async () => {}).constructor as new (
  ...args: string[]
) => (require: NodeJS.Require) => Promise<unknown>;

const environment = new Environment();
environment.install();
const ran: unknown[] = [];
for (const { code, environment: given, isSession = false } of programs) {
  // What the last program has left may keep this process alive.
  if (ran.length > 0) environment.end();
  environment.begin(given, { expect: () => false, release() {} });
  const program = new AsyncFunction("require", code);
  const value = await environment.scope.enter(isSession, () => program(createRequire(import.meta.url)));
  ran.push({ value, trace: environment.trace() });
}
writeSync(1, JSON.stringify(ran));
