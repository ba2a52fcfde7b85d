import type { DefineCommand } from "../command.ts";
import { defineLogin } from "./auth/login.ts";
import { defineLogout } from "./auth/logout.ts";
import { defineSet } from "./auth/set.ts";
import { defineStatus } from "./auth/status.ts";

/** `ptc auth ...`: what servers are used with. */
export const authCommand: DefineCommand = (program, surroundings, finish) => {
  const auth = program
    .command("auth")
    .description("log in to servers, and keep secrets for them")
    .addHelpText("after", "\nExamples:\n  ptc auth login internal-apis\n  ptc auth set github-token\n");
  for (const define of [defineLogin, defineLogout, defineStatus, defineSet])
    define(auth, surroundings, finish);
};
