import type { DefineCommand } from "../command.ts";
import { defineSet } from "./auth/set.ts";

/** `ptc auth ...`: what servers are used with. */
export const authCommand: DefineCommand = (program, surroundings, finish) => {
  const auth = program
    .command("auth")
    .description("keep what servers are used with")
    .addHelpText("after", "\nExample:\n  ptc auth set github-token\n");
  for (const define of [defineSet]) define(auth, surroundings, finish);
};
