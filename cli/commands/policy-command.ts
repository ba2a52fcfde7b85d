import type { DefineCommand } from "../command.ts";
import { defineCheck } from "./policy/check.ts";
import { defineExplain } from "./policy/explain.ts";
import { defineSchema } from "./policy/schema.ts";
import { defineTest } from "./policy/test.ts";

/** `ptc policy ...`: the rules about who may call what. */
export const policyCommand: DefineCommand = (program, surroundings, finish) => {
  const policy = program
    .command("policy")
    .description("check, try and explain the rules that decide which calls are made")
    .addHelpText("after", "\nExample:\n  ptc policy check && ptc policy test policy-tests.yaml\n");
  for (const define of [defineSchema, defineCheck, defineTest, defineExplain])
    define(policy, surroundings, finish);
};
