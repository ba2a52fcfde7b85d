import type { DefineCommand } from "../../command.ts";
import { defineAnswers } from "./answer.ts";
import { defineListApprovals } from "./list-approvals.ts";
import { defineShowApproval } from "./show-approval.ts";

/** `ptc approvals ...`: runs that wait for a person. */
export const approvalsCommand: DefineCommand = (program, surroundings, finish) => {
  const approvals = program
    .command("approvals")
    .description("show and answer what runs wait for, suspended ones and those that wait just now")
    .addHelpText("after", "\nExample:\n  ptc approvals list\n  ptc approvals approve 3f9a2c\n");
  for (const define of [defineListApprovals, defineShowApproval, defineAnswers])
    define(approvals, surroundings, finish);
};
